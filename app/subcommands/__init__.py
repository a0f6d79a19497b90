"""The commands after `specchat`, a module each, and what only they use; the chat itself is not here."""

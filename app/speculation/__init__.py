"""Speculation in words: the rounds of a session, and why it pays or not; nothing is drawn here."""

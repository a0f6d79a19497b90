"""What a person does with a chat, whatever shows it: commands, the open chat, the answer under way."""

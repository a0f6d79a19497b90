"""What the screen asks of its terminal: colours, the bell, the clipboard; nothing of a chat."""

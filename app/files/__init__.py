"""Text files in a chat: read, put into a prompt, found again in an answer."""

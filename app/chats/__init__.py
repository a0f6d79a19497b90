"""Chats: what was said, in branches, and where it is kept."""

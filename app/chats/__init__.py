"""Chats: what was said, in branches, kept on disk, exported, imported; nothing of engine or screen."""

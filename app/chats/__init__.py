"""Chats: what was said, in branches, and where it is kept. The package is the command `chats` too."""

from __future__ import annotations

import argparse

from app.config import Given


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    from app.chats import command

    command.arguments(parser)


def run(args: argparse.Namespace, given: Given) -> int:
    """Run the command; returns the exit code."""
    from app.chats import command

    return command.run(args)

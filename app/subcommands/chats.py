"""The command `chats`: what a person does with kept chats outside of the terminal UI."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from app.answer import dump
from app.chats.export import ROLES, as_object, branch
from app.chats.exports import text_of, write
from app.chats.imports import LARGEST, read
from app.chats.listed import in_line, title
from app.chats.records import ChatInfo
from app.chats.store import KEPT_DAYS, Store
from app.display import neutralise
from app.errors import UsageError, did_you_mean, tell
from app.settings.config import Given
from models.locations import chats_file, expanded


@dataclass(frozen=True)
class _Verb:
    """One thing to do.

    Attributes:
        run: does it, on the open store.
        words: what is written after it; one that ends in "..." may be written several times.
        options: those that change something here.
    """

    run: Callable[[Store, list[str], argparse.Namespace], None]
    words: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    lines = [
        " ".join((name, *verb.words, *(f"[--{o}]" for o in verb.options))) for name, verb in VERBS.items()
    ]
    parser.description = f"{parser.description}\n\n  " + "\n  ".join(lines)
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help="what to do, as above (default: list)")
    add("--json", action="store_true", help="one JSON object instead of text")
    add("--deleted", action="store_true", help="list the deleted chats, which can be restored")
    add("--limit", type=int, metavar="N", help="so many hits of a search at most (default: 50)")
    add("--forever", action="store_true", help="delete at once what could be restored otherwise")
    add("--format", choices=("md", "json"), help="of an export: md has the branch you see, json everything")
    add("--out", metavar="FILE", help="write an export there instead of stdout")


def run(args: argparse.Namespace, given: Given) -> int:
    """Run the command; returns the exit code."""
    name, *words = args.words or ["list"]
    if (verb := VERBS.get(name)) is None:
        raise UsageError(
            f"chats does not know {name!r}.", did_you_mean(name, [*VERBS]) or f"Write {', '.join(VERBS)}."
        )
    many = bool(verb.words) and verb.words[-1].endswith("...")
    if len(words) < len(verb.words) or (len(words) > len(verb.words) and not many):
        raise UsageError(
            f"chats {name} takes {' '.join(verb.words) or 'nothing more'}.",
            f"Write specchat chats {' '.join((name, *verb.words))}.",
        )
    for option in ("json", "deleted", "limit", "forever", "format", "out"):
        if getattr(args, option) and option not in verb.options:
            raise UsageError(f"chats {name} makes no use of --{option}.", "Leave it out.")
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {args.limit}.", "Choose more.")
    with closing(Store.open(chats_file())) as store:
        verb.run(store, words, args)
    return 0


def _list(store: Store, words: list[str], args: argparse.Namespace) -> None:
    chats = store.chats(deleted=args.deleted)
    if not chats and not args.json:
        tell("note", "No chat is deleted." if args.deleted else "There are no chats yet.")
    sys.stdout.write(_listed(chats, args.json))


def _listed(chats: Sequence[ChatInfo], as_json: bool) -> str:
    """Chats as one object, or on a line each."""
    if as_json:
        return dump({"chats": [asdict(chat) for chat in chats]})
    return "".join(f"{in_line(chat)}\n" for chat in chats)


def _search(store: Store, words: list[str], args: argparse.Namespace) -> None:
    hits = store.search(words[0], args.limit or 50)
    if args.json:
        sys.stdout.write(dump({"hits": [asdict(hit) for hit in hits]}))
    elif not hits:
        tell("note", f"{words[0]!r} stands in no chat.")
    for hit in () if args.json else hits:
        where = "" if hit.message_id is None else f"  {title(hit.chat)}:"
        sys.stdout.write(f"{hit.chat.id}{where}  {neutralise(hit.snippet.strip())}\n")


def _show(store: Store, words: list[str], args: argparse.Namespace) -> None:
    chat = store.info(words[0])
    messages, head = store.messages(chat.id), store.head(chat.id)
    if args.json:
        sys.stdout.write(dump(as_object(chat, messages, head)))
        return
    sys.stdout.write(f"{title(chat)}\n")
    for message in branch(messages, head):
        state = "" if message.state == "done" else f" ({message.state})"
        files = "".join(f"[{file.path}]\n" for file in message.attachments)
        sys.stdout.write(neutralise(f"\n{ROLES[message.role]}{state}:\n{files}{message.text}\n"))


def _rename(store: Store, words: list[str], args: argparse.Namespace) -> None:
    store.rename(store.info(words[0]).id, words[1])


def _pin(store: Store, words: list[str], args: argparse.Namespace) -> None:
    for chat in _named(store, words):
        store.pin(chat.id)


def _unpin(store: Store, words: list[str], args: argparse.Namespace) -> None:
    for chat in _named(store, words):
        store.pin(chat.id, False)


def _delete(store: Store, words: list[str], args: argparse.Namespace) -> None:
    for chat in _named(store, words):
        if args.forever:
            store.purge(chat.id)
            tell("note", f"{title(chat)} is deleted for good.")
        else:
            store.delete(chat.id)
            back = f"specchat chats restore {chat.id}"
            tell("note", f"{title(chat)} is deleted. For {KEPT_DAYS} days this brings it back: {back}")


def _restore(store: Store, words: list[str], args: argparse.Namespace) -> None:
    for chat in _named(store, words):
        store.restore(chat.id)


def _named(store: Store, words: Sequence[str]) -> list[ChatInfo]:
    """All of the chats that are named, each once, before anything is done to one."""
    return list({(chat := store.info(word)).id: chat for word in words}.values())


def _export(store: Store, words: list[str], args: argparse.Namespace) -> None:
    chat = store.info(words[0])
    if args.out is None:
        sys.stdout.write(text_of(store, chat, as_json=args.format == "json"))
    else:
        write(store, chat, expanded(args.out), args.format)


def _import(store: Store, words: list[str], args: argparse.Namespace) -> None:
    read_all = [(name, read(raw, name, time.time())) for name, raw in _files(words)]
    chats = []
    for name, found in read_all:
        for sentence in found.warnings:
            tell("warning", f"{name}: {sentence}")
        chats.append(store.take(found.chat, found.messages, found.head))
    sys.stdout.write(_listed(chats, args.json))


def _files(names: list[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        if name == "-":
            yield "Standard input", sys.stdin.buffer.read(LARGEST + 1)
        else:
            with expanded(name).open("rb") as stream:
                yield name, stream.read(LARGEST + 1)


def _backup(store: Store, words: list[str], args: argparse.Namespace) -> None:
    target = Path(expanded(words[0]))
    store.backup(target)
    tell("note", f"All chats are in {target}. docs/chats.md says how to restore them.")


VERBS = {
    "list": _Verb(_list, (), ("deleted", "json")),
    "search": _Verb(_search, ("TEXT",), ("limit", "json")),
    "show": _Verb(_show, ("ID",), ("json",)),
    "rename": _Verb(_rename, ("ID", "TITLE")),
    "pin": _Verb(_pin, ("ID...",)),
    "unpin": _Verb(_unpin, ("ID...",)),
    "delete": _Verb(_delete, ("ID...",), ("forever",)),
    "restore": _Verb(_restore, ("ID...",)),
    "export": _Verb(_export, ("ID",), ("format", "out")),
    "import": _Verb(_import, ("FILE...",), ("json",)),
    "backup": _Verb(_backup, ("FILE",)),
}

"""Reading a file that is to be text: whatever its encoding, once, with the checksum of what was read."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from itertools import islice
from pathlib import Path

from app.errors import did_you_mean
from app.files.encoding import NotText, encoding_of
from app.files.lines import line_starts
from app.files.names import path_of
from app.files.records import Attachment
from mlx_spec.errors import SpecError
from models.locations import chats_file

LIMIT = 2_000_000  # bytes; more than the context of any model that runs at home
_NEIGHBOURS = 1000  # names in a folder among which a mistyped one is looked for


class FileError(SpecError):
    """A file that cannot be attached."""


def read(path: str | Path) -> Attachment:
    """The text file at `path`, which may start with ~ and may be relative.

    Its bytes are read once, and text and checksum are both made of these. A symbolic link is followed.
    `raw.decode(encoding)` is the text: nothing is replaced, line ends stay as they are.

    Raises:
        FileError: it is missing, a folder, a pipe or device, unreadable, over LIMIT, empty or not text.
    """
    file = path_of(str(path), Path.cwd())
    content = raw(file, LIMIT)
    try:
        encoding = encoding_of(content)
    except NotText as error:
        raise FileError(f"{file} {error.finding}.", error.next_step) from error
    text = content.decode(encoding)
    if not text.strip():
        raise FileError(f"{file} is empty.", "Attach a file with text in it.")
    # A name may have bytes that are no text; they are written as \x9b.
    name = os.fsencode(file).decode("utf-8", "backslashreplace")
    return Attachment(name, sha256(content).hexdigest(), len(content), encoding, text)


def size(attachment: Attachment) -> str:
    """How large it is, such as `12 KB, 310 lines, UTF-8`."""
    count = len(line_starts(attachment.text))
    lines = "1 line" if count == 1 else f"{count:,} lines"
    return f"{_told(attachment.size)}, {lines}, {attachment.encoding.removesuffix('-SIG')}"


def raw(file: Path, most: int) -> bytes:
    """The bytes of a file that a person named, `most` of them.

    Raises:
        FileError: it is missing, a folder, a pipe or device, unreadable, larger, or the store of chats.
    """
    try:
        if os.path.realpath(file).startswith(os.path.realpath(chats_file())):
            # Whoever closes it, or a journal beside it, drops the locks that SQLite has there.
            raise FileError(f"{file} is where your chats are kept.", "Take an export or a backup.")
        # Opened first and looked at then, so that both are of one file; a pipe must not be waited for.
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(
                    f"{file} is a pipe or a device.", "Save what comes out of it, and take that file."
                )
            found = opened.read(most + 1)
            if len(found) > most:
                large = max(len(found), status.st_size)
                raise FileError(
                    f"{file} has {_told(large)}, and {_told(most)} is the most.", "Take a part of it."
                )
            return found
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileError(f"There is no file {file}.", _nearest(file)) from error
    except IsADirectoryError as error:
        raise FileError(f"{file} is a folder.", "Take the files in it that matter.") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise FileError(f"{file} cannot be read: {why}.", "Take a file that you can open.") from error


def _nearest(file: Path) -> str:
    """The next step where no file has this name."""
    try:
        with os.scandir(file.parent) as entries:
            known = [entry.name for entry in islice(entries, _NEIGHBOURS)]
    except OSError:
        known = []
    return did_you_mean(file.name, known) or "Check its path."


def _told(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} KB" if count < 999_500 else f"{count / 1e6:.1f} MB".replace(".0 ", " ")

"""The texts of attached files in the store: each once, under however many names it is attached."""

from __future__ import annotations

import hashlib
import sqlite3

from app.chats.columns import storable
from app.chats.records import Attachment


def attach(connection: sqlite3.Connection, message: int, position: int, attachment: Attachment) -> None:
    """Put a file to the message with this `seq`.

    Its text is found again by the text's own checksum: the checksum of the file's bytes may come from an
    import, which could claim any.
    """
    text = storable(attachment.text)
    content = hashlib.sha256(text.encode()).hexdigest()
    connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content, text))
    connection.execute(
        "INSERT INTO attachments VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            message,
            position,
            storable(attachment.path),
            attachment.sha256,
            attachment.size,
            attachment.encoding,
            content,
        ),
    )


def attached(connection: sqlite3.Connection, chat_id: str) -> dict[int, list[Attachment]]:
    """The files of a chat by the `seq` of their messages."""
    found: dict[int, list[Attachment]] = {}
    for message, *fields in connection.execute(
        "SELECT a.message, a.path, a.sha256, a.size, a.encoding, t.text FROM messages AS m "
        "JOIN attachments AS a ON a.message = m.seq JOIN contents AS t ON t.sha256 = a.content "
        "WHERE m.chat = ? ORDER BY a.message, a.position",
        (chat_id,),
    ):
        found.setdefault(message, []).append(Attachment(*fields))
    return found


def sweep(connection: sqlite3.Connection) -> None:
    """Remove the texts that no message has."""
    connection.execute("DELETE FROM contents WHERE sha256 NOT IN (SELECT content FROM attachments)")

"""Messages in the store, with the files that are attached to them.

The text of a file is kept once, under however many names it is attached, and found again by the text's own
checksum: the checksum of the file's bytes may come from an import, which could claim any.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace

from app.chats import columns
from app.chats.errors import gone
from app.chats.folding import fold
from app.chats.records import ChatMessage
from app.files.records import Attachment


def insert(connection: sqlite3.Connection, chat_id: str, message: ChatMessage, writer: str | None) -> None:
    """Put a message into a chat, behind all others.

    Args:
        connection: in a transaction.
        chat_id: of the chat.
        message: its parent is in the chat already.
        writer: whose lease it lives by while its state is "streaming"; else None.
    """
    seq = connection.execute(
        "INSERT INTO messages (id, chat, parent, role, state, writer, created, text, pieces, spans, stats) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            message.id,
            chat_id,
            message.parent,
            message.role,
            message.state,
            writer,
            message.created,
            message.text,
            columns.of_pieces(message.pieces),
            columns.of_spans(message.spans),
            columns.of_stats(message.stats),
        ),
    ).lastrowid
    connection.execute("INSERT INTO folded VALUES (?, ?)", (seq, fold(message.text)))
    for position, file in enumerate(message.attachments):
        path, encoding, text = map(columns.storable, (file.path, file.encoding, file.text))
        content = hashlib.sha256(text.encode()).hexdigest()
        connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content, text))
        connection.execute(
            "INSERT INTO attachments VALUES (?, ?, ?, ?, ?, ?, ?)",
            (seq, position, path, file.sha256, file.size, encoding, content),
        )


def update(connection: sqlite3.Connection, answer: ChatMessage, writer: str | None) -> str:
    """Change the text of an answer and what belongs to it; returns the id of its chat.

    Raises:
        NoSuchChat: it is not there.
    """
    row = connection.execute("SELECT seq, chat FROM messages WHERE id = ?", (answer.id,)).fetchone()
    if row is None:
        raise gone()
    seq, chat_id = row
    connection.execute(
        "UPDATE messages SET text = ?, pieces = ?, state = ?, writer = ?, spans = ?, stats = ? WHERE seq = ?",
        (
            answer.text,
            columns.of_pieces(answer.pieces),
            answer.state,
            writer,
            columns.of_spans(answer.spans),
            columns.of_stats(answer.stats),
            seq,
        ),
    )
    connection.execute("UPDATE folded SET text = ? WHERE message = ?", (fold(answer.text), seq))
    return str(chat_id)


def where(
    connection: sqlite3.Connection, condition: str, value: object, is_dead: Callable[[str], bool]
) -> list[ChatMessage]:
    """Messages in the order in which they came.

    Args:
        connection: in a transaction.
        condition: in SQL, of a message `m`.
        value: of the condition's parameter.
        is_dead: whether a writer is; what it was writing is interrupted.
    """
    files: dict[int, list[Attachment]] = {}
    for seq, *fields in connection.execute(
        "SELECT a.message, a.path, a.sha256, a.size, a.encoding, t.text FROM messages AS m "
        "JOIN attachments AS a ON a.message = m.seq JOIN contents AS t ON t.sha256 = a.content "
        f"WHERE {condition} ORDER BY a.message, a.position",
        (value,),
    ):
        files.setdefault(seq, []).append(Attachment(*fields))
    rows = connection.execute(
        f"SELECT m.seq, m.writer, {columns.MESSAGE} FROM messages AS m WHERE {condition} ORDER BY m.seq",
        (value,),
    )
    found = []
    for seq, writer, *row in rows:
        message = columns.message(row, files.get(seq, ()))
        if writer is not None and is_dead(writer):
            message = replace(message, state="interrupted")
        found.append(message)
    return found


def forget_contents(connection: sqlite3.Connection) -> None:
    """Remove the texts of files that no message has."""
    connection.execute("DELETE FROM contents WHERE sha256 NOT IN (SELECT content FROM attachments)")

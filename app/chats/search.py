"""Finding text in titles and messages."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from app.chats import columns, folding
from app.chats.records import ChatInfo

# CROSS JOIN keeps this order of the tables: the texts are read once, one after another.
_FIND = """
    SELECT chat, seq FROM (
    SELECT c.id AS chat, NULL AS seq, c.touched AS touched
    FROM chats AS c WHERE instr(c.folded, ?1) AND c.deleted IS NULL
    UNION ALL
    SELECT c.id, m.seq, c.touched
    FROM folded AS f CROSS JOIN messages AS m ON m.seq = f.message CROSS JOIN chats AS c ON c.id = m.chat
    WHERE instr(f.text, ?1) AND c.deleted IS NULL
    ) ORDER BY touched DESC, seq IS NULL DESC, seq DESC LIMIT ?2
"""


@dataclass(frozen=True)
class Hit:
    """Something that a search found.

    Attributes:
        chat: where.
        message_id: in which message; None in the title.
        snippet: one line of the text around it.
        start, end: the part of the snippet that was searched for is snippet[start:end].
    """

    chat: ChatInfo
    message_id: int | None
    snippet: str
    start: int
    end: int


def search(connection: sqlite3.Connection, text: str, limit: int) -> list[Hit]:
    """Where `text` stands in chats that are not deleted; see `Store.search`."""
    wanted = folding.fold(columns.storable(text))
    if not wanted:
        return []
    hits = []
    chats: dict[str, ChatInfo] = {}
    for chat_id, seq in connection.execute(_FIND, (wanted, limit)).fetchall():
        if chat_id not in chats:
            query = f"SELECT {columns.CHAT} FROM chats AS c WHERE c.id = ?"
            chats[chat_id] = columns.chat(connection.execute(query, (chat_id,)).fetchone())
        message_id, whole = None, chats[chat_id].title
        if seq is not None:
            query = "SELECT id, text FROM messages WHERE seq = ?"
            message_id, whole = connection.execute(query, (seq,)).fetchone()
        part = folding.find(whole, wanted) or (0, 0)
        hits.append(Hit(chats[chat_id], message_id, *folding.snippet(whole, *part)))
    return hits

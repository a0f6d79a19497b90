"""The schema of the chat store, as the steps that lead to it.

A step that was released is never changed: another one is appended. The number of steps is the schema's
version (`PRAGMA user_version`), so that a store of any older version is brought up by what is missing.
docs/chats.md describes what the steps come to.
"""

from __future__ import annotations

from collections.abc import Sequence

APPLICATION = 0x53504354  # "SPCT": marks the file as ours
Step = Sequence[str]

MIGRATIONS: tuple[Step, ...] = (
    (
        """
        CREATE TABLE chats (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            folded TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            touched INTEGER NOT NULL,
            pinned INTEGER NOT NULL DEFAULT 0,
            deleted REAL,
            model TEXT NOT NULL,
            draft TEXT NOT NULL,
            head INTEGER,
            FOREIGN KEY (id, head) REFERENCES messages (chat, id)
        )
        """,
        "CREATE INDEX chats_by_touch ON chats (touched)",
        """
        CREATE TABLE messages (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id INTEGER NOT NULL UNIQUE,
            chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
            parent INTEGER,
            role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
            state TEXT NOT NULL,
            writer TEXT,
            created REAL NOT NULL,
            text TEXT NOT NULL,
            pieces TEXT NOT NULL DEFAULT '[[], []]',
            spans TEXT NOT NULL DEFAULT '[]',
            stats TEXT,
            CHECK ((state = 'streaming') = (writer IS NOT NULL)),
            UNIQUE (chat, id),
            FOREIGN KEY (chat, parent) REFERENCES messages (chat, id)
        )
        """,
        "CREATE INDEX messages_by_chat ON messages (chat)",
        "CREATE INDEX messages_by_parent ON messages (chat, parent)",
        """
        CREATE TABLE folded (
            message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE,
            text TEXT NOT NULL
        )
        """,
        "CREATE TABLE contents (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL)",
        """
        CREATE TABLE attachments (
            message INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            path TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            encoding TEXT NOT NULL,
            content TEXT NOT NULL REFERENCES contents (sha256),
            PRIMARY KEY (message, position)
        )
        """,
        "CREATE INDEX attachments_by_content ON attachments (content)",
    ),
    ("ALTER TABLE chats ADD COLUMN expired REAL",),
)

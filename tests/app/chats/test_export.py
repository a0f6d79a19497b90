"""An export comes back as it was, and neither it nor what it comes from can do harm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import file

from app.answer import dump
from app.chats.export import as_markdown, as_object
from app.chats.imported import Imported, ImportFailed
from app.chats.imports import read
from app.chats.records import ChatInfo, ChatMessage
from app.chats.store import Store
from app.display import neutralise
from app.files.provenance import copied
from app.files.reading import read as files_read
from app.files.records import Attachment, Span

CHAT = ChatInfo("k2m4", "Über Tests", 1.5, 2.5, True, None, 0, "builtin", "lookup")
NOTES = file("one\ntwo three\n")
TEXT = "one\ntwo three four\nfive six seven eight nine\n"
LONG = file(TEXT, sha256=hashlib.sha256(TEXT.encode()).hexdigest())


def answer(text: str, **fields: Any) -> ChatMessage:
    fields = {"pieces": (("plain", text),) if text else (), **fields}
    return ChatMessage(2, 1, "assistant", text, **fields)


def asked(text: str = "?", **fields: Any) -> ChatMessage:
    return ChatMessage(1, None, "user", text, **fields)


def through_json(messages: list[ChatMessage], head: int | None = None) -> Imported:
    return read(dump(as_object(CHAT, messages, head)).encode(), "chat.json", 0.0)


def through_markdown(messages: list[ChatMessage]) -> list[tuple[str, str, str]]:
    found = read(as_markdown(CHAT, messages, None).encode(), "chat.md", 0.0)
    return [(message.role, message.state, message.text) for message in found.messages]


# JSON

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
states = st.sampled_from(["done", "stopped", "cut", "interrupted", "failed"])
origins = st.sampled_from(["plain", "target", "draft:lookup", "draft:model:builtin-draft"])
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, st.lists, max_leaves=4)
stats = st.dictionaries(texts.filter(lambda key: key not in ("text", "thinking")), values, max_size=3)


@st.composite
def trees(draw: st.DrawFn) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    for number in range(1, draw(st.integers(0, 8)) + 1):
        parent = draw(st.none() | st.integers(1, number - 1)) if number > 1 else None
        made = draw(st.floats(0, 1e10))
        if draw(st.booleans()):
            files = tuple(
                Attachment(draw(texts), "ab" * 32, 5, "utf-8", draw(texts))
                for _ in range(draw(st.integers(0, 2)))
            )
            messages.append(ChatMessage(number, parent, "user", draw(texts), created=made, attachments=files))
        else:
            pieces = tuple(draw(st.lists(st.tuples(origins, texts), max_size=4)))
            text = "".join(part for _, part in pieces)
            messages.append(
                ChatMessage(
                    number,
                    parent,
                    "assistant",
                    text,
                    draw(states),
                    made,
                    pieces=pieces,
                    stats=draw(stats) or None,
                )
            )
    return messages


@settings(deadline=None)
@given(trees(), st.data())
def test_json_brings_every_branch_back(messages: list[ChatMessage], data: st.DataObject) -> None:
    head = data.draw(st.sampled_from([None, *(message.id for message in messages)]))
    found = through_json(messages, head)
    assert found.messages == messages
    assert found.head == head
    assert found.warnings == ()
    assert found.chat == replace(CHAT, id="", messages=len(messages))


def test_json_comes_back_through_the_store(store: Store, talk: Callable) -> None:
    chat, said = talk("one", "two", title="Twice")
    store.add(chat.id, parent=said[0].id, role="assistant", text="another", state="cut")
    store.set_head(chat.id, said[1].id)
    first = as_object(store.info(chat.id), store.messages(chat.id), store.head(chat.id))
    found = read(dump(first).encode(), "x", 0.0)
    copy = store.take(found.chat, found.messages, found.head)
    second = as_object(store.info(copy.id), store.messages(copy.id), store.head(copy.id))
    assert second == first
    assert copy.id != chat.id


def test_a_file_that_many_questions_have_is_exported_once() -> None:
    messages = [asked(attachments=(NOTES,)), ChatMessage(2, 1, "user", "and?", attachments=(NOTES,))]
    exported = as_object(CHAT, messages, None)
    assert len(exported["files"]) == 1
    assert through_json(messages).messages == messages


def test_an_answer_says_what_ask_says() -> None:
    thought = "<think>\nhm\n</think>\n\nSo."
    (_, said) = as_object(
        CHAT, [asked(), answer(thought, stats={"tok_s": 9.5, "finish_reason": "stop"})], None
    )["messages"]
    assert said["answer"] == {"text": "So.", "thinking": "hm\n", "tok_s": 9.5, "finish_reason": "stop"}
    assert said["text"] == thought


def test_spans_come_back_if_they_are_in_their_file() -> None:
    said = "She said: two three four\nfive six seven eight nine, and left."
    messages = [asked(attachments=(LONG,)), answer(said, spans=copied(said, [LONG]))]
    assert messages[1].spans == (Span(10, 50, LONG.sha256, LONG.path, 2, 3),)
    assert through_json(messages).messages == messages


@pytest.mark.parametrize(
    "claim",
    [
        {"start": 11},  # cuts a word
        {"end": 20},  # two words
        {"end": 10_000},
        {"start": 50, "end": 10},
        {"sha256": "0" * 64},
        {"path": "/etc/passwd"},
        {"first_line": 1},
        {"first_line": 0},
        {"last_line": 999_999},
        {"last_line": 2},
    ],
)
def test_a_span_that_claims_what_is_not_so_is_left_out(claim: dict[str, Any]) -> None:
    said = "She said: two three four\nfive six seven eight nine, and left."
    (true,) = copied(said, [LONG])
    found = through_json([asked(attachments=(LONG,)), answer(said, spans=(replace(true, **claim),))])
    assert found.messages[1].spans == ()
    assert "not copied from files as they claim" in found.warnings[0]


def test_a_checksum_that_is_not_the_texts_is_not_believed() -> None:
    forged = replace(LONG, sha256="0" * 64)
    found = through_json([asked(attachments=(forged,)), answer(LONG.text, spans=copied(LONG.text, [forged]))])
    assert found.messages[1].spans == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32-be", "cp1252", "shift_jis"])
@pytest.mark.parametrize("order", ["little", "big"])
def test_spans_of_files_in_any_encoding_come_back(tmp_path: Path, encoding: str, order: str) -> None:
    mark = "\ufeff" if encoding == "utf-16" else ""
    name = f"utf-16-{order[0]}e" if encoding == "utf-16" else encoding
    (tmp_path / "notes.txt").write_bytes((mark + LONG.text).encode(name))
    file = files_read(tmp_path / "notes.txt")
    messages = [asked(attachments=(file,)), answer(LONG.text, spans=copied(LONG.text, [file]))]
    assert messages[1].spans
    assert through_json(messages).messages == messages


OBJECT = as_object(CHAT, [asked(attachments=(NOTES,)), answer("So.", stats={"tok_s": 1.0})], 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda o: o.update(format="other"), '"format"'),
        (lambda o: o.update(version=2), "newer specchat"),
        (lambda o: o.update(version=True), '"version"'),
        (lambda o: o.update(version=0), '"version"'),
        (lambda o: o["messages"][0].update(id=True), 'message 1: "id"'),
        (lambda o: o["messages"][0].update(id=1.0), 'message 1: "id"'),
        (lambda o: o["messages"][0].update(state="streaming"), 'message 1: "state"'),
        (lambda o: o.pop("title"), '"title"'),
        (lambda o: o.update(head=3), "3 stands for nothing"),
        (lambda o: o.update(head=[]), "stands for nothing"),
        (lambda o: o.update(created="now"), '"created"'),
        (lambda o: o.update(created=1e300), '"created"'),
        (lambda o: o.update(messages={}), '"messages"'),
        (lambda o: o["messages"].append(None), "message 3: it is no object"),
        (lambda o: o["messages"][1].update(parent=2), "message 2: 2 stands"),
        (lambda o: o["messages"][1].update(parent=True), "message 2: True stands"),
        (lambda o: o["messages"][1].update(id=7), 'message 2: "id"'),
        (lambda o: o["messages"][0].update(role="system"), 'message 1: "role"'),
        (lambda o: o["messages"][0].update(role=[]), 'message 1: "role"'),
        (lambda o: o["messages"][0].update(files=[1]), "message 1: 1 stands"),
        (lambda o: o["messages"][1].update(pieces=[["plain", "No."]]), "pieces are not its text"),
        (lambda o: o["messages"][1].update(pieces=[["evil", "So."]]), "no origin"),
        (lambda o: o["messages"][1].update(pieces=[1]), "no origin"),
        (lambda o: o["messages"][1].update(spans=[{"start": -1}]), '"start"'),
        (lambda o: o["messages"][1].update(state="happy"), '"state"'),
        (lambda o: o["files"][0].update(sha256="../../x"), "file 0.*checksum"),
        (lambda o: o["files"][0].update(size=1 << 70), "file 0.*count"),
    ],
)
def test_an_object_that_makes_no_sense_is_refused_with_its_place(change: Any, said: str) -> None:
    broken = json.loads(json.dumps(OBJECT))
    change(broken)
    with pytest.raises(ImportFailed, match=rf"x\.json is no chat that can be imported: .*{said}"):
        read(json.dumps(broken).encode(), "x.json", 0.0)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello",
        b"{",
        b"{}",
        b"[]",
        b"\xff\xfe{",
        b"{" * 100_000,
        b'{"a":' * 100_000,
        b"# Notes\n\n## Shopping\n\nmilk",
        json.dumps(OBJECT).replace("1.0", "1e999").encode(),
        json.dumps(OBJECT).replace("1.0", "NaN").encode(),
        json.dumps(OBJECT).replace("1.0", "9" * 5000).encode(),
    ],
)
def test_a_file_that_is_no_chat_is_refused(raw: bytes) -> None:
    with pytest.raises(ImportFailed, match=r"^x is no"):
        read(raw, "x", 0.0)


def test_half_characters_of_a_file_do_no_harm(store: Store) -> None:
    broken = json.loads(json.dumps(OBJECT))
    broken["title"] = broken["model"] = broken["files"][0]["path"] = "\ud800"
    broken["files"][0]["encoding"] = broken["files"][0]["text"] = "\udc80"
    broken["messages"][0]["text"] = "a\ud800"
    broken["messages"][1]["answer"]["\ud800"] = "\ud800"
    found = read(json.dumps(broken).encode(), "x", 0.0)
    chat = store.take(found.chat, found.messages, found.head)
    assert store.messages(chat.id)[0].text == "a\ufffd"


# Markdown

hostile = st.text(
    st.sampled_from("`~#-<>! \n\t\r*_[]\x1b\u2028\u0085") | st.characters(exclude_categories=["Cs"]),
    max_size=60,
)
ours = st.sampled_from(
    [
        "## You",
        "## Assistant\n",
        "```",
        "````\n## You\n```",
        "~~~",
        "<!-- specchat chat 1 0123456789ab -->",
        "<!-- 0123456789ab end -->",
        "# Title",
        "",
    ]
)
turns = st.lists(st.lists(hostile | ours, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=5)


def as_chain(said: list[str]) -> list[ChatMessage]:
    return [
        ChatMessage(n, n - 1 or None, ("user", "assistant")[n % 2 == 0], text)
        for n, text in enumerate(said, start=1)
    ]


@settings(deadline=None)
@given(turns)
def test_markdown_brings_roles_and_texts_back(said: list[str]) -> None:
    messages = as_chain(said)
    expected = [(message.role, "done", neutralise(message.text)) for message in messages]
    assert through_markdown(messages) == expected


@settings(deadline=None)
@given(turns)
def test_an_export_within_an_export_is_a_text(said: list[str]) -> None:
    inner = as_markdown(CHAT, as_chain(said), None)
    assert through_markdown([asked(inner)]) == [("user", "done", inner)]


def test_markdown_is_readable() -> None:
    messages = [
        asked("Which?", attachments=(NOTES,)),
        answer("Two:\n```\ntwo three", state="cut", spans=(Span(9, 18, NOTES.sha256, NOTES.path, 2, 2),)),
    ]
    exported = as_markdown(CHAT, messages, 2)
    mark = exported.split("\n")[2].split()[-2]
    assert exported.replace(mark, "MARK") == (
        "# Über Tests\n\n<!-- specchat chat 1 MARK -->\n\n"
        "## You\n\n<!-- MARK user done -->\nWhich?\n<!-- MARK end -->\n\n"
        f"- Attached: `/notes.txt`, 14 bytes, SHA-256 `{NOTES.sha256}`\n\n"
        "## Assistant\n\n<!-- MARK assistant cut -->\nTwo:\n```\ntwo three\n<!-- MARK end -->\n```\n\n"
        "- Copied from `/notes.txt`, lines 2 to 2\n"
    )
    assert through_markdown(messages)[1] == ("assistant", "cut", messages[1].text)


def test_markdown_has_the_branch_that_is_seen() -> None:
    tree = [asked("one"), answer("two"), ChatMessage(3, 1, "assistant", "other")]
    assert "two" in as_markdown(CHAT, tree, 2)
    assert "other" not in as_markdown(CHAT, tree, 2)
    assert "other" in as_markdown(CHAT, tree, None)


def test_windows_line_ends_of_an_editor_do_no_harm() -> None:
    exported = as_markdown(CHAT, as_chain(["one\ntwo", "three"]), None)
    found = read(b"\xef\xbb\xbf" + exported.replace("\n", "\r\n").encode(), "x", 0.0)
    assert [message.text for message in found.messages] == ["one\ntwo", "three"]


@pytest.mark.parametrize(
    "hostile",
    [
        "<!-- specchat chat 1 ab -->\n" + "<!-- ab user done -->\n" * 100_000,
        "## You\n\nWhy?\n\n## You" + " " * 100_000 + "x\n",
    ],
    ids=["begins that never end", "a heading that is none"],
)
def test_markdown_of_any_kind_is_read_in_one_go(hostile: str) -> None:
    with suppress(ImportFailed):
        read(hostile.encode(), "hostile.md", 0.0)


def test_markdown_that_was_cut_off_is_refused() -> None:
    whole = as_markdown(CHAT, [asked("Why?"), answer("So.")], None)
    with pytest.raises(ImportFailed, match="what line 13 begins has no end"):
        read(whole[: whole.rindex("<!--")].encode(), "chat.md", 0.0)


def test_other_markdown_is_read_by_its_headings() -> None:
    other = (
        "# My chat\n\n### User\n\nWhat is this?\n```\n## Assistant\n```\n\n"
        "**Assistant:**\n\nA list:\n\n## Items\n- one\n\n## You:\nThanks.\n"
    )
    found = read(other.encode(), "x", 7.0)
    assert found.chat.title == "My chat"
    assert [(m.role, m.text) for m in found.messages] == [
        ("user", "What is this?\n```\n## Assistant\n```"),
        ("assistant", "A list:\n\n## Items\n- one"),
        ("user", "Thanks."),
    ]
    assert [m.parent for m in found.messages] == [None, 1, 2]


def test_other_markdown_may_quote_our_mark_and_end_with_a_heading() -> None:
    other = "<!-- specchat chat 1 ab12 -->\n\n## Me\n\nWhat is this?\n\n## Bot\n\nA mark.\n\n## Me\n\n"
    found = read(other.encode(), "x", 0.0)
    assert [(m.role, m.text) for m in found.messages] == [("user", "What is this?"), ("assistant", "A mark.")]


@pytest.mark.parametrize("export", [as_markdown, lambda *chat: dump(as_object(*chat))])
def test_an_empty_chat_comes_back(export: Any) -> None:
    found = read(export(CHAT, [], None).encode(), "x", 0.0)
    assert (found.chat.title, found.messages, found.head) == (CHAT.title, [], None)


# What a model may say (case c24)

EVIL = "\x1b[2J\x1b]52;c;ZXZpbA==\x07 [bold]x[/bold] \x9b31m \x7f\r\x00"


@pytest.mark.parametrize("export", [as_markdown, lambda *chat: dump(as_object(*chat))])
def test_exports_hold_no_control_characters(export: Any) -> None:
    evil = Attachment(EVIL, "ab" * 32, 3, "utf-8", EVIL)
    messages = [
        asked(EVIL, attachments=(evil,)),
        answer(EVIL, spans=(Span(0, 1, "ab" * 32, EVIL, 1, 1),), stats={"model": EVIL}),
    ]
    exported = export(replace(CHAT, title=EVIL), messages, 2)
    assert not {char for char in exported if char < " " or "\x7f" <= char < "\xa0"} - {"\n"}
    assert "[bold]x[/bold]" in exported

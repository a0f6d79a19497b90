"""A search finds what stands there, in any script, whatever its case and composition."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.chats import folding
from app.chats.store import Store

KOREAN = "서울의 날씨는 어때요? 내일은 비가 온대요."


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (KOREAN, "날씨"),
        (KOREAN, "비"),
        (KOREAN, unicodedata.normalize("NFD", "날씨")),
        (unicodedata.normalize("NFD", KOREAN), "비가"),
        ("The Quick Brown Fox", "quick bROWN"),
        ("Große Straße", "STRASSE"),
        ("GROSSE STRASSE", "straße"),
        ("café au lait", "CAFE\u0301"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("100% sure_thing", "0% s"),
        ("100% sure_thing", "sure_t"),
        ("it's \"quoted\" and 'so'", "s \"quoted\" and 'so'"),
        ("a\\b[c]*d?", "\\b[c]*d?"),
        ("a line and space", "LINE and"),
        ("right to left: שלום עולם", "עולם"),
        ("emoji 👩‍👩‍👧 family", "👩‍👩‍👧"),
    ],
)
def test_text_is_found_in_messages_and_titles(store: Store, talk: Callable, text: str, wanted: str) -> None:
    chat, (message,) = talk(text, title=text)
    talk("something else", title="else")
    title, hit = store.search(wanted)
    assert (title.chat.id, title.message_id) == (chat.id, None)
    assert (hit.chat.id, hit.message_id) == (chat.id, message.id)
    for each in (title, hit):
        part = each.snippet[each.start : each.end]
        assert folding.fold(part) == folding.fold(wanted)


@pytest.mark.parametrize("absent", ["", "%", "_", "날씨가", "quick  brown", "x' OR '1'='1"])
def test_nothing_is_found_that_is_not_there(store: Store, talk: Callable, absent: str) -> None:
    talk(KOREAN, "The quick brown fox", title="Weather")
    assert store.search(absent) == []


def test_text_over_several_lines_is_found_and_shown_on_one(store: Store, talk: Callable) -> None:
    talk("two\nlines here")
    (hit,) = store.search("two\nlines")
    assert hit.snippet[hit.start : hit.end] == "two lines"


def test_the_latest_comes_first_titles_before_messages_and_deleted_chats_never(
    store: Store, talk: Callable
) -> None:
    old, _ = talk("apple", "pear and apple")
    new, _ = talk("no", "apple", title="Apple")
    gone, _ = talk("apple")
    store.delete(gone.id)
    hits = store.search("apple")
    assert [(hit.chat.id, hit.snippet) for hit in hits] == [
        (new.id, "Apple"),
        (new.id, "apple"),
        (old.id, "pear and apple"),
        (old.id, "apple"),
    ]
    assert store.search("apple", limit=2) == hits[:2]


def test_a_renamed_chat_and_a_changed_answer_are_found_by_what_they_are_now(
    store: Store, talk: Callable
) -> None:
    chat, (_, answer) = talk("q", "first words", title="Before")
    store.rename(chat.id, "After")
    store.update(answer.id, text="other words", pieces=[("plain", "other words")], state="done")
    assert store.search("before") == store.search("first") == []
    assert [hit.message_id for hit in store.search("after") + store.search("other")] == [None, answer.id]


def test_a_snippet_shows_what_is_around(store: Store, talk: Callable) -> None:
    talk(f"{'before ' * 100}\nHERE\n{'after ' * 100}")
    (hit,) = store.search("here")
    assert hit.snippet[hit.start : hit.end] == "HERE"
    assert "before  HERE after" in hit.snippet
    assert "\n" not in hit.snippet
    assert len(hit.snippet) == 2 * folding.AROUND + 4


alphabet = st.text(st.sampled_from("aßİÅ\u0301\u0323e한\u1112\u1161\u11abfiΣ \n"), max_size=12)


@example("", "\u0301", "\u0323")
@example("\u1112", "\u1161\u11ab", "")
@given(alphabet, alphabet, alphabet)
def test_a_part_is_found_where_it_is(before: str, part: str, after: str) -> None:
    text = before + part + after
    wanted = folding.fold(part)
    if wanted not in folding.fold(text) or not wanted:
        return  # at an edge something composed with its neighbour
    start, end = folding.find(text, wanted) or (0, 0)
    assert wanted in folding.fold(text[start:end])
    assert start < end <= len(text)


@given(st.text())
def test_composition_does_not_count(text: str) -> None:
    assert folding.fold(unicodedata.normalize("NFD", text)) == folding.fold(text)

"""Streaming text: whole characters only, never a part of a stop string."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_spec.text import REPLACEMENT, Detokenizer, TextStream

HARD = "👍🏽 👨‍👩‍👧‍👦 한국어 문장 नमस्ते 中文 é e\u0301 \U0001f1f0\U0001f1f7"


def whole(data: bytes) -> bool:
    """No character of `data` is incomplete."""
    return REPLACEMENT not in data.decode("utf-8", "replace")


def chunks(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [p for p in [*pieces, data[at:]] if p]


def stream_of(pieces: list[bytes], stops: Sequence[str] = ()) -> TextStream:
    """A stream whose token i is piece i, bytes that need not be whole characters."""
    return TextStream(lambda ids: b"".join(pieces[i] for i in ids).decode("utf-8", "replace"), stops)


def play(pieces: list[bytes], stops: Sequence[str] = ()) -> tuple[list[str], list[int], bool]:
    stream, texts, ids = stream_of(pieces, stops), [], []
    for i in range(len(pieces)):
        released = stream.push(i, "plain")
        texts.append(released.text)
        ids += released.tokens
        if released.stopped:
            return texts, ids, True
    rest = stream.flush()
    return [*texts, rest.text], ids + rest.tokens, False


@given(st.lists(st.integers(1, 7), max_size=80))
def test_hard_text_split_anywhere_streams_whole_characters(sizes):
    """Case c10."""
    pieces = chunks(HARD.encode(), sizes)
    texts, ids, _ = play(pieces)
    assert REPLACEMENT not in "".join(texts)
    assert "".join(texts) == HARD
    assert ids == list(range(len(pieces)))


@given(st.text(max_size=60), st.lists(st.integers(1, 5), max_size=60))
def test_any_text_split_anywhere_equals_the_whole(text, sizes):
    texts, _, _ = play(chunks(text.encode(), sizes))
    # A replacement character that ends the text looks like an incomplete one, so it is left out.
    assert "".join(texts) == text or "".join(texts) == text.rstrip(REPLACEMENT)


def test_a_character_comes_as_soon_as_it_is_whole():
    detokenizer = Detokenizer(lambda ids: bytes(ids).decode("utf-8", "replace"))
    assert [detokenizer.push(b) for b in "a한b".encode()] == ["a", "", "", "한", "b"]


def test_bytes_that_are_no_text_do_not_hold_the_stream_forever():
    pieces = [b"\xff"] * 6 + [b"a"]
    texts, _, _ = play(pieces)
    assert "".join(texts).endswith("a")
    assert len([t for t in texts[:6] if t]) >= 1


@pytest.mark.parametrize("before", [b"\xef\xbf\xbd", b"\xff\xff\xff", b"\x80\x80"])
def test_a_character_after_bytes_that_are_none_stays_whole(before):
    data = b"a" + before + "श👍".encode() + b"b"
    texts, _, _ = play([bytes([byte]) for byte in data])
    assert "".join(texts) == data.decode("utf-8", "replace")


def test_an_answer_that_ends_inside_a_character_drops_its_bytes():
    texts, ids, _ = play([b"ok ", "한".encode()[:2]])
    assert "".join(texts) == "ok "
    assert ids == [0, 1]


@given(
    st.text(alphabet="aEND한 ", max_size=30),
    st.text(alphabet="aEND한 ", max_size=10),
    st.lists(st.integers(1, 4), max_size=60),
)
def test_no_part_of_a_stop_string_is_shown_however_it_arrives(before, after, sizes):
    """Case c08."""
    text = before + "END" + after
    pieces = chunks(text.encode(), sizes)
    texts, ids, stopped = play(pieces, ["END"])
    shown = text[: text.index("END")]
    assert stopped
    assert "".join(texts) == shown
    # The ids are the tokens wholly before the stop string.
    kept = b"".join(pieces[i] for i in ids)
    assert shown.encode().startswith(kept)
    longer = [b"".join(pieces[:n]) for n in range(len(ids) + 1, len(pieces) + 1)]
    assert not any(shown.encode().startswith(more) and whole(more) for more in longer)


def test_what_might_become_a_stop_string_is_released_when_it_does_not():
    texts, _, stopped = play([b"a", b"E", b"N", b"x", b"E"], ["END"])
    assert texts == ["a", "", "", "ENx", "", "E"]
    assert not stopped


def test_of_two_stop_strings_the_earlier_place_wins():
    texts, _, stopped = play([b"one two three"], ["three", "two"])
    assert stopped
    assert "".join(texts) == "one "


@pytest.mark.parametrize("stop", ["한국", "👍🏽"])
def test_stop_strings_of_many_bytes(stop):
    pieces = [bytes([b]) for b in f"x{stop}y".encode()]
    texts, ids, stopped = play(pieces, [stop])
    assert stopped
    assert "".join(texts) == "x"
    assert ids == [0]

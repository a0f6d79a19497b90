"""Parts of an answer that stand in files: exactly these, longest first, at their lines."""

from __future__ import annotations

import pytest
from copies import attached, check, copied_the_long_way
from hypothesis import given, settings
from hypothesis import strategies as st

from app.files.provenance import Claims, copied

TALE = "Once upon a time there was a fox who lived under the old mill.\nIt slept by day.\n"


def parts(text: str, *files: str) -> list[str]:
    return [text[span.start : span.end] for span in copied(text, [attached(file) for file in files])]


def test_a_quoted_sentence_is_marked_without_its_quotes_and_named_by_file_and_line() -> None:
    text = 'It says: "there was a fox who lived under the old mill", and more.'
    (span,) = copied(text, [attached("Title\n\n" + TALE, "/home/me/tale.txt")])
    assert text[span.start : span.end] == "there was a fox who lived under the old mill"
    assert (span.path, span.first_line, span.last_line) == ("/home/me/tale.txt", 3, 3)
    assert span.sha256 == attached("Title\n\n" + TALE).sha256


@pytest.mark.parametrize("count", [7, 8])
def test_eight_words_count_and_seven_do_not(count: int) -> None:
    run = " ".join(TALE.split()[3 : 3 + count])
    assert parts(f"My own {run} words.", TALE) == [run] * (count == 8)


def test_a_word_is_an_ideograph_in_chinese_and_what_stands_between_spaces_in_korean() -> None:
    chinese = "会议将于星期五下午三点开始。"
    assert parts("我想:星期五下午三点吧", chinese) == []
    assert parts("我想:于星期五下午三点吧", chinese) == ["于星期五下午三点"]
    korean = "회의는 금요일 오후 세 시에 본관 삼층 회의실에서 시작합니다"
    assert parts("답은 금요일 오후 세 시에 본관 삼층 이라고", korean) == []
    assert parts("답: 회의는 금요일 오후 세 시에 본관 삼층 회의실에서 엽니다", korean) == [
        "회의는 금요일 오후 세 시에 본관 삼층 회의실에서"
    ]


def test_a_part_starts_and_ends_between_words_of_the_answer_alone() -> None:
    file = "concat sat on the mat by the old doorway"
    assert parts("The cat sat on the mat by the old door.", file) == ["cat sat on the mat by the old door"]
    assert parts("A bobcat sat on the mat by the old door.", file) == ["sat on the mat by the old door"]
    assert parts("A bobcat sat on the mat by the old door.", "bobcats sat on the mat by the old") == []


def test_whole_lines_of_code_count_before_they_have_eight_words() -> None:
    file = "def reset(self):\n    self._tokens: list[int] = []\n    return\n"
    assert parts("Use\n```\n    self._tokens: list[int] = []\n```\n", file) == [
        "self._tokens: list[int] = []"
    ]
    assert parts("Use `self._tokens: list[int] = []` here.", file) == []
    assert parts("Use\n    return\n", file) == []


def test_signs_alone_are_no_copy() -> None:
    assert parts("| --- | --- | --- | --- |", "| a | b | c | d |\n| --- | --- | --- | --- |\n") == []


def test_signs_beside_the_words_belong_to_the_part() -> None:
    assert parts("a b c d e f g h!!!!!!!!!!!!!!!!", "x" * 8 + "(((a b c d e f g h!!!!!!!!!!!!!!") == [
        "a b c d e f g h!!!!!!!!!!!!!!"
    ]


def test_other_white_space_or_line_ends_make_it_another_text() -> None:
    line = "one two three four five six seven eight"
    assert parts(line.replace(" four", "\nfour"), line) == []
    two = f"{line} nine\r\nten {line}\r\n"
    assert parts(two, two) == [two.strip()]
    assert parts(two.replace("\r\n", "\n"), two) == [f"{line} nine", f"ten {line}"]


def test_capitals_accents_and_ways_to_compose_letters_matter() -> None:
    line = "the café by the sea is open all year"
    assert parts(line, line.upper()) == []
    assert parts(line, line.replace("é", "e\u0301")) == []
    assert parts(line.replace("é", "e\u0301"), line.replace("é", "e")) == []


def test_the_longest_of_overlapping_parts_stands_and_the_rest_of_the_other_counts_anew() -> None:
    words = [f"w{n}" for n in range(30)]
    text, left = " ".join(words), " ".join(words[:18])
    assert parts(text, left, " ".join(words[10:])) == [" ".join(words[:10]), " ".join(words[10:])]
    assert parts(text, left, " ".join(words[7:])) == [" ".join(words[7:])]
    assert parts(text, " ".join(words[:22]), " ".join(words[12:])) == [
        " ".join(words[:22]),
        " ".join(words[22:]),
    ]


def test_of_several_places_the_first_is_named() -> None:
    first = attached("Nothing.\n", "/a")
    second = attached("x\n" + TALE + TALE, "/b")
    third = attached(TALE, "/c")
    (span,) = copied(TALE.strip(), [first, second, third])
    assert (span.path, span.first_line, span.last_line) == ("/b", 2, 3)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_count_them(end: str) -> None:
    file = end.join(["a\x0cb\u2028c", "", TALE.splitlines()[0], "z"])
    (span,) = copied(TALE, [attached(file)])
    assert (span.first_line, span.last_line) == (3, 3)


def test_nothing_is_copied_from_nothing() -> None:
    assert copied("", [attached(TALE)]) == copied(TALE, []) == copied(TALE, [attached("x")]) == ()


def test_the_same_line_over_and_over_is_one_part() -> None:
    file = "the same line again and again and once more\n" * 500
    assert parts(file[:4400], file) == [file[:4400].strip()]


BITS = st.sampled_from(
    [
        *(
            "a",
            "bc",
            "d e f",
            " ",
            " ",
            " ",
            "\n",
            "\r\n",
            ". ",
            " = ",
            "((((",
            "!!!!!!!!",
            "漢",
            "漢字",
            "한국",
            "x_1",
        )
    ]
)


@st.composite
def answers_and_files(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Files of few different words, and an answer of parts of them and of other words."""
    files = draw(st.lists(st.lists(BITS, max_size=40).map("".join), min_size=1, max_size=2))
    answer = ""
    for file in draw(st.lists(st.sampled_from(files), max_size=3)):
        start = draw(st.integers(0, len(file)))
        answer += file[start : start + draw(st.integers(0, 50))]
        answer += draw(st.lists(BITS, max_size=6).map("".join))
    return answer, files


def check_against_the_long_way(case: tuple[str, list[str]]) -> None:
    text, files = case
    attachments = [attached(file, f"/{n}") for n, file in enumerate(files)]
    spans = copied(text, attachments)
    assert [(span.start, span.end) for span in spans] == copied_the_long_way(text, files)
    check(text, attachments, spans)
    assert Claims(attachments).confirmed(text, spans) == spans


@given(answers_and_files())
@settings(max_examples=40, deadline=None)
def test_it_finds_what_the_long_way_finds(case: tuple[str, list[str]]) -> None:
    check_against_the_long_way(case)


@pytest.mark.slow
@given(answers_and_files())
@settings(max_examples=3000, deadline=None)
def test_it_finds_what_the_long_way_finds_in_many_texts(case: tuple[str, list[str]]) -> None:
    check_against_the_long_way(case)

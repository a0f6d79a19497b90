"""Files in a prompt: unchanged, between fences that they cannot close, under names that can do nothing."""

from __future__ import annotations

from copies import attached
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.files.prompt import prompt_of


def test_a_file_stands_before_the_question() -> None:
    assert prompt_of("What is it?", [attached("one\ntwo")]) == (
        "File notes.txt:\n```\none\ntwo\n```\n\nWhat is it?"
    )


def test_a_question_without_files_is_itself() -> None:
    assert prompt_of(" What? ", []) == " What? "


def test_files_alone_are_a_prompt() -> None:
    assert prompt_of("", [attached("x\n", "/a"), attached("y\n", "/b")]) == (
        "File a:\n```\nx\n```\n\nFile b:\n```\ny\n```"
    )


def test_files_with_one_name_go_by_their_paths() -> None:
    text = prompt_of("?", [attached("x", "/a/n.txt"), attached("y", "/b/n.txt"), attached("z", "/b/m.txt")])
    assert [line for line in text.splitlines() if line.startswith("File")] == [
        "File /a/n.txt:",
        "File /b/n.txt:",
        "File m.txt:",
    ]


def test_a_name_can_neither_end_its_line_nor_move_the_cursor() -> None:
    text = prompt_of("?", [attached("x", "/a\n```\n\x1b[2J.txt")])
    assert text.splitlines()[0] == "File a␊```␊␛[2J.txt:"


@given(st.lists(st.text("`~a \n\r", max_size=30), max_size=3))
def test_no_content_closes_its_fence(texts: list[str]) -> None:
    prompt = prompt_of("The question.", [attached(text, f"/{n}") for n, text in enumerate(texts)])
    assert all(text in prompt for text in texts)
    # A parser of Markdown agrees; it takes a lone CR for a line end.
    tokens = MarkdownIt().parse(prompt)
    fences = [token.content for token in tokens if token.type == "fence"]
    assert [fence.rstrip("\n") for fence in fences] == [
        text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") for text in texts
    ]
    assert tokens[-2].content == "The question."

"""Copying: what goes to the clipboard, by which way, and what is said about it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.desk.clipboard import code_blocks, copy, pick
from app.errors import UsageError

ANSWER = """Two ways:

```python
one = 1
```

1. In a list:
   ```
   two\x1b[31m
   ```

Done: ~~~ is no block.

```sh
three
"""


def program(folder: Path, name: str, code: int = 0) -> None:
    """A stand-in that keeps what it was given and with which arguments."""
    file = folder / name
    file.write_text(f'#!/bin/sh\necho "$@" > {folder}/{name}.args\ncat > {folder}/{name}.got\nexit {code}\n')
    file.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that is all there is besides a shell's."""
    for name in ("cat", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_macos_takes_it_and_so_it_is_copied(programs: Path) -> None:
    program(programs, "pbcopy")
    assert copy("한국어", [].append, {}) == "Copied 3 characters."
    assert (programs / "pbcopy.got").read_text() == "한국어"


@pytest.mark.parametrize("environ", [{}, {"SSH_CONNECTION": "x"}])
def test_without_pbcopy_or_from_afar_it_is_sent_and_no_more_is_claimed(
    programs: Path, environ: dict[str, str]
) -> None:
    program(programs, "pbcopy", code=0 if environ else 1)
    sent: list[str] = []
    said = copy("x", sent.append, environ)
    assert (
        said == "Sent 1 character to the terminal's clipboard (OSC 52); it does not say whether it took them."
    )
    assert sent == ["x"]


def test_tmux_takes_it_and_offers_it(programs: Path) -> None:
    program(programs, "tmux")
    sent: list[str] = []
    said = copy("two words", sent.append, {"TMUX": "/tmp/socket"})
    assert said == "Copied 9 characters to tmux's buffer; tmux offered them to the terminal's clipboard."
    assert (programs / "tmux.args").read_text().split() == ["load-buffer", "-w", "-"]
    assert sent == []


def test_an_old_tmux_is_told_by_the_terminals_own_way(programs: Path) -> None:
    program(programs, "tmux", code=1)
    sent: list[str] = []
    assert copy("x", sent.append, {"TMUX": "/tmp/socket"}).startswith("Sent 1 character")
    assert sent == ["x"]


def test_a_large_text_may_be_refused_and_that_is_said(programs: Path) -> None:
    said = copy("x" * 80_000, [].append, {})
    assert said.endswith("; many terminals refuse that many.")


def test_half_of_a_character_breaks_nothing(programs: Path) -> None:
    program(programs, "pbcopy")
    assert copy("\ud83d", [].append, {}) == "Copied 1 character."


def test_code_is_found_also_in_lists_and_where_the_answer_was_cut() -> None:
    assert code_blocks(ANSWER) == ["one = 1", "two␛[31m", "three"]


@pytest.mark.parametrize(
    ("argument", "copied"),
    [("code 1", "one = 1"), ("code 2", "two␛[31m"), ("code", "three"), ("code  3", "three")],
)
def test_a_block_is_picked_by_its_number_or_the_last(argument: str, copied: str) -> None:
    assert pick(argument, ANSWER) == copied


def test_a_whole_answer_carries_nothing_that_a_terminal_obeys() -> None:
    assert pick("", "a\x1b[31mb") == "a␛[31mb"


@pytest.mark.parametrize(
    ("argument", "answer", "said"),
    [
        ("code", "No code.", "The answer has no block of code. /copy copies all of it."),
        ("code 4", ANSWER, "The answer has 3 blocks of code, no number 4. They count from 1."),
        ("code 0", "```\nx\n```", "The answer has one block of code, no number 0. They count from 1."),
        ("code x", ANSWER, "/copy does not know 'code x'. Write /copy, /copy code or /copy code N."),
        ("cod", ANSWER, "/copy does not know 'cod'. Write /copy, /copy code or /copy code N."),
        ("code ²", ANSWER, "/copy does not know 'code ²'. Write /copy, /copy code or /copy code N."),
    ],
)
def test_what_is_not_there_is_said(argument: str, answer: str, said: str) -> None:
    with pytest.raises(UsageError) as failed:
        pick(argument, answer)
    assert str(failed.value) == said

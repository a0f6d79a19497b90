"""The table of commands: what is written after a slash, and what it means."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.desk.commands import BY_NAME, COMMANDS, KEYS, Call, key_name, matching, parse, read
from app.errors import UsageError


def test_a_name_or_a_key_means_one_thing() -> None:
    names = Counter(name for command in COMMANDS for name in (command.name, *command.aliases))
    keys = Counter(row.key for row in (*COMMANDS, *KEYS) if row.key)
    assert max(names.values()) == max(keys.values()) == 1


def test_every_command_is_told_in_a_line() -> None:
    for command in COMMANDS:
        assert command.summary
        assert len(f"{command.usage}  {command.summary}") <= 74


@pytest.mark.parametrize(
    ("line", "name", "argument"),
    [
        ("/new", "new", ""),
        ("/NEW  ", "new", ""),
        ("/rename  Two words ", "rename", "Two words"),
        ("/k 4", "k", "4"),
        ("/spec off", "spec", "off"),
        ("/spec", "spec", ""),
        ("/copy code 2", "copy", "code 2"),
        ("/?", "help", ""),
        ("/exit", "quit", ""),
        ("/attach 한국어 파일.txt", "attach", "한국어 파일.txt"),
    ],
)
def test_a_line_is_read_as_a_call(line: str, name: str, argument: str) -> None:
    assert parse(line) == Call(BY_NAME[name], argument)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/regenrate", "There is no command /regenrate. Did you mean /regenerate? To send it as text"),
        ("/usr/bin", "There is no command /usr/bin. To send it as text, put another slash before it."),
        ("/", "There is no command /. To send it as text"),
        ("/rename", "/rename needs TITLE after it. Write /rename TITLE."),
        ("/pin now", "/pin takes nothing after it. Write /pin alone."),
        ("/spec of", "/spec does not know 'of'. Did you mean off?"),
        ("/theme beige", "/theme does not know 'beige'. Write /theme [dark|light|contrast|terminal]."),
    ],
)
def test_what_is_no_call_says_what_would_be(line: str, said: str) -> None:
    with pytest.raises(UsageError) as failed:
        parse(line)
    assert str(failed.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "sent"),
    [("//usr/bin is what?", "/usr/bin is what?"), ("//", "/"), ("1/2", "1/2"), (" /new", " /new"), ("", "")],
)
def test_what_starts_with_no_slash_or_two_is_for_the_model(text: str, sent: str) -> None:
    assert read(text) == sent


@given(st.text())
def test_any_text_is_sent_as_it_is_or_called_or_refused_in_a_sentence(text: str) -> None:
    try:
        meant = read(text)
    except UsageError:
        assert text.startswith("/")
    else:
        assert isinstance(meant, Call) or meant in (text, text[1:])


def test_a_part_of_a_name_finds_what_starts_with_it_first() -> None:
    assert [found.name for found in matching("re")][:3] == ["regenerate", "redo", "open"]
    assert matching("retry")[0].name == "regenerate"
    assert matching("colour")[0].name == "theme"
    assert matching("zzz") == []


def test_line_mode_is_offered_nothing_that_needs_the_screen() -> None:
    assert "panel" in {found.name for found in matching("")}
    assert "panel" not in {found.name for found in matching("", screen=False)}


@pytest.mark.parametrize(
    ("key", "name"), [("ctrl+r", "Ctrl+R"), ("f1", "F1"), ("escape", "Esc"), ("pageup", "PgUp")]
)
def test_keys_are_named_as_people_write_them(key: str, name: str) -> None:
    assert key_name(key) == name

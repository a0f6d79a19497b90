"""Themes: readable by computation, switched while one looks, kept for the next time."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from showing import Person, showing

from app.settings.settings import THEMES
from app.tui.prompt.prompt import Prompt
from app.tui.sheets.help import Help
from app.tui.terminal import palette, themes
from app.tui.terminal.palette import DARK, PALETTES, contrast
from app.tui.terminal.terminal import keep_theme, kept_theme

COLOURED = [name for name in THEMES if name != "terminal"]
LINES = set("─│╭╮╰╯▁▂▃▄▅▆▇█▔▕▏ ")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path


def segments(person: Person) -> list[Segment]:
    return [segment for strip in person.app.screen._compositor.render_strips() for segment in strip]


def test_contrast_is_that_of_the_guideline() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)  # its well-known near miss
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("name", COLOURED)
def test_text_reads_on_both_grounds(name: str) -> None:
    colours = PALETTES[name]
    least = 7 if name == "contrast" else 4.5
    for ink, ground in itertools.product(colours.words, (colours.ground, colours.raised)):
        assert contrast(ink, ground) >= least, (ink, ground)


@pytest.mark.parametrize("name", COLOURED)
async def test_whatever_is_drawn_reads(name: str) -> None:
    async with showing(Prompt(), size=(100, 40)) as person:
        person.app.choose_theme(name)
        await person.type("/re")
        seen = segments(person)
        person.prompt.select_all()
        await person.press("escape")
        seen += segments(person)
    async with showing(size=(100, 40)) as person:
        person.app.open_theme(None)
        await person.open(Help())
        await person.press("down")
        for segment in [*seen, *segments(person)]:
            style = segment.style or Style()
            if set(segment.text) <= LINES or style.color is None or style.bgcolor is None:
                continue
            ink, ground = (colour.get_truecolor().hex for colour in (style.color, style.bgcolor))
            if style.reverse:
                ink, ground = ground, ink
            assert contrast(ink, ground) >= 4.5, segment


def test_there_is_a_palette_for_each_name_and_only_then() -> None:
    assert tuple(PALETTES) == THEMES


def test_a_theme_draws_in_its_own_colours_what_names_the_dark_ones() -> None:
    for name in COLOURED[1:]:
        drawn = themes.recolour(name)
        ours, theirs = asdict(DARK), asdict(PALETTES[name])
        assert not set(ours.values()) & set(theirs.values()), "or some would be drawn twice"
        for part, colour in ours.items():
            style = Style(color=colour, bgcolor=palette.RAISED, italic=True)
            (segment,) = drawn.apply([Segment("x", style)], None)  # type: ignore[arg-type]
            assert segment.style == Style(color=theirs[part], bgcolor=theirs["raised"], italic=True), part


def test_in_the_terminals_own_colours_nothing_is_mixed() -> None:
    style = Style(color=palette.MUTED, bgcolor=palette.RAISED)
    (segment,) = themes.recolour("terminal").apply([Segment("x", style)], None)  # type: ignore[arg-type]
    assert segment.style == Style(color="default", bgcolor="default", dim=True)


@pytest.mark.parametrize("name", COLOURED)
@pytest.mark.parametrize("text", ["", "Ask"])
async def test_the_letter_under_the_cursor_can_be_read(name: str, text: str) -> None:
    async with showing(Prompt()) as person:
        person.app.choose_theme(name)
        prompt = person.app.query_one(Prompt)
        prompt.cursor_blink = False
        prompt.focus()
        prompt.load_text(text)
        prompt.move_cursor((0, 0))
        await person.pilot.pause(0.1)
        style = next(segment.style for segment in segments(person) if segment.text == "A")
        assert style is not None
        assert style.color
        assert style.bgcolor
        ink, ground = (colour.get_truecolor().hex for colour in (style.color, style.bgcolor))
        assert contrast(*((ground, ink) if style.reverse else (ink, ground))) >= 4.5, (ink, ground)


async def test_a_theme_is_chosen_while_one_looks_and_kept(home: Path) -> None:
    async with showing(Prompt()) as person:
        assert person.app.choose_theme("light") == "Theme: light."
        await person.pilot.pause()
        grounds = {style.bgcolor for _, style, _ in segments(person) if style}
        assert Color.parse(PALETTES["light"].ground) in grounds
        assert Color.parse(DARK.ground) not in grounds
        assert person.app.choose_theme("") == "Theme: contrast."
    async with showing() as person:
        person.app.open_theme(None)
        assert person.app.theme == "contrast"
        person.app.open_theme("dark")
        assert person.app.theme == "dark"


async def test_the_terminals_own_theme_uses_its_sixteen_colours_only() -> None:
    async with showing(Prompt()) as person:
        person.app.choose_theme("terminal")
        await person.type("/re")
        await person.open(Help())
        for segment in segments(person):
            for colour in filter(None, (segment.style.color, segment.style.bgcolor) if segment.style else ()):
                assert colour.is_default or colour.number is not None, segment


async def test_a_theme_that_cannot_be_kept_is_said(home: Path) -> None:
    (home / "data").write_text("a file where the folder should be")
    async with showing() as person:
        said = person.app.choose_theme("light")
        assert said.startswith("Theme: light, for now; it could not be kept: ")


async def test_without_colour_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with showing(Prompt()) as person:
        assert person.app.choose_theme("light") == "NO_COLOR is set, so there are no colours to choose."
        await person.type("/re")
        for segment in segments(person):
            for colour in filter(None, (segment.style.color, segment.style.bgcolor) if segment.style else ()):
                assert colour.is_default, segment


def test_what_was_kept_and_is_no_theme_counts_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "theme"
    assert kept_theme(file) is None
    file.write_bytes(b"\xff\xfe beige")
    assert kept_theme(file) is None
    keep_theme("contrast", file)
    assert kept_theme(file) == "contrast"

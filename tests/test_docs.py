"""What pages speak of is there: pictures, files, commands; and no picture tells who made it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from docs.commands import renewed
from docs.scenes import SCENES

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
PICTURES = sorted((ROOT / "docs").rglob("*.svg"))
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)")
HOME = re.compile(r"(?<![\w.])/(home|Users|root|tmp|private|var|mnt|opt|work|workspace)(/|\b)|[A-Z]:\\")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def words(svg: str) -> str:
    """What is written in a picture, without spaces that do not break."""
    return "\n".join(ET.fromstring(svg).itertext()).replace("\xa0", " ")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_each_picture_stands_in_the_gallery_and_each_scene_has_one() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert [path.stem for path in PICTURES] == sorted(SCENES)
    assert all(f"(gallery/{name}.svg)" in gallery for name in SCENES)


@pytest.mark.parametrize("picture", PICTURES, ids=named)
def test_a_picture_asks_no_other_host_for_anything(picture: Path) -> None:
    svg = picture.read_text(encoding="utf-8")
    assert re.findall(r"@font-face|@import|href|<script|<image", svg) == []
    assert set(re.findall(r"url\(([^)]*)\)", svg)) <= set(re.findall(r"url\((#[^)]*)\)", svg))


@pytest.mark.parametrize("picture", PICTURES, ids=named)
def test_a_picture_shows_no_path_of_the_machine_that_made_it(picture: Path) -> None:
    assert HOME.search(words(picture.read_text(encoding="utf-8"))) is None


def test_the_guide_has_the_commands_and_keys_of_the_program() -> None:
    page = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
    assert "### This chat" in page
    assert renewed(page) == page, "`make commands` writes them anew"

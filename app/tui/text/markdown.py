"""Closed Markdown blocks as rows.

The text comes from a model, so nothing in it may vanish or act: no raw HTML, no entity that could
decode to a control character, no link that a click follows, no image.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.token import (
    Comment,
    Generic,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    String,
)
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

from app.tui.terminal import palette
from app.tui.text.blocks import Block
from app.tui.text.copied import Mark, mark_text, mark_tokens
from app.tui.text.rows import Row, fold, lay_out, straight, wrap

CODE = Style(color=palette.INK, bgcolor=palette.RAISED)
LABEL = Style(color=palette.MUTED, bgcolor=palette.RAISED)
_WIDEST = 4096  # cells of a table
_NUMBER = re.compile(r"(?m)^[ \t>*+-]*(\d{1,9}[.)](?=\s|$)[ \t]*)+")

_THEME = ANSISyntaxTheme(
    {
        Comment: Style(color=palette.MUTED, italic=True),
        Keyword: Style(color=palette.ACCENT),
        Operator.Word: Style(color=palette.ACCENT),
        String: Style(color=palette.GOOD),
        Number: Style(color=palette.WARM),
        Literal: Style(color=palette.WARM),
        Name.Function: Style(bold=True),
        Name.Class: Style(bold=True),
        Name.Decorator: Style(color=palette.WARM),
        Generic.Deleted: Style(color=palette.BAD),
        Generic.Inserted: Style(color=palette.GOOD),
        Generic.Heading: Style(bold=True),
    }
)
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_PARSER.disable(["autolink", "entity", "html_block", "html_inline", "image", "reference"])


def render(block: Block, width: int, marks: Sequence[Mark] = ()) -> list[Row]:
    """The rows of a closed block, at most `width` cells wide but for code and wide tables.

    Args:
        block: what to lay out.
        width: cells.
        marks: on its text.
    """
    if block.language is None:
        return _render_markdown(block.text, width, marks)
    return [*label(block.language, width), *map(code, _highlighted(block, marks))]


def _render_markdown(text: str, width: int, marks: Sequence[Mark]) -> list[Row]:
    markdown = _Markdown(text, marks)
    rows = lay_out(markdown, width)
    if _keeps(rows, text):
        return rows
    wider = 2 * width
    while markdown.has_table and wider <= max(_WIDEST, 2 * width):
        rows = lay_out(markdown, wider)
        if _keeps(rows, text):
            return [replace(row, ground=Style.null()) for row in rows]
        wider *= 2
    return _written(text, width, marks)


def _highlighted(block: Block, marks: Sequence[Mark]) -> list[Text]:
    text = Syntax(block.text, block.language or "", theme=_THEME).highlight(block.text)
    lines = mark_text(text, marks).split("\n", allow_blank=True)
    return list(lines)[: block.text.count("\n") + 1]


def _keeps(rows: list[Row], text: str) -> bool:
    """Every letter and digit of `text` shows: layouts leave out what is nested too deep or has no room."""
    shown = Counter("".join(row.strip.text for row in rows))
    given = Counter(_NUMBER.sub(" ", text))  # a list is numbered anew
    return all(shown[character] >= n for character, n in given.items() if character.isalnum())


def _written(text: str, width: int, marks: Sequence[Mark]) -> list[Row]:
    """Markdown as it stands, unread."""
    lines = mark_text(Text(text), marks).split("\n", allow_blank=True)
    return [row for line in lines for row in wrap(line, width)]


def label(language: str, width: int) -> list[Row]:
    """What stands above code."""
    if not language:
        return []
    text = Text.assemble(language, style=LABEL)
    return [replace(row, end=0, joint="") for row in fold(text, width, style=LABEL)]


def code(line: Text) -> Row:
    """One line of code, as long as it is."""
    return straight(line, CODE)


class _Heading(rich_markdown.Heading):
    LEVEL_ALIGN: ClassVar = {f"h{level}": "left" for level in range(1, 7)}


class _Rule(rich_markdown.HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr", characters="─")


class _Code(rich_markdown.CodeBlock):
    """Code inside a list or a quote, where lines are broken; at the margin it is a block of its own."""

    marks: Sequence[Mark] = ()

    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Code:
        made = cls(token.info.partition(" ")[0] or "text", "")
        made.marks = token.meta.get("marks", ())
        return made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        lines = _highlighted(Block(str(self.text).rstrip(), self.lexer_name), self.marks)
        folded = [row for line in lines for row in fold(line, width, style=CODE)]
        for row in [*label(self.lexer_name, width), *folded]:
            yield from row.strip
            yield Segment.line()


class _Item(rich_markdown.ListItem):
    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        mark = f"{number}. "
        style = console.get_style("markdown.item.number")
        inner = options.update(width=max(options.max_width - len(mark), 1))
        for at, line in enumerate(console.render_lines(self.elements, inner, style=self.style)):
            yield Segment(mark if at == 0 else " " * len(mark), style)
            yield from line
            yield Segment.line()


class _Markdown(rich_markdown.Markdown):
    elements: ClassVar = {
        **rich_markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "list_item_open": _Item,
    }

    inlines = {*rich_markdown.Markdown.inlines, "copied", "number"}  # noqa: RUF012 - as rich has it

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        # Not rich's own, which makes another parser for every block.
        self.markup = text
        self.parsed = [_keep_line_breaks(token) for token in _PARSER.parse(text)]
        if marks:
            mark_tokens(self.parsed, text, marks)
        self.has_table = any(token.type == "table_open" for token in self.parsed)
        self.code_theme, self.justify, self.style, self.hyperlinks = "", None, "none", False
        self.inline_code_lexer, self.inline_code_theme = None, ""


def _keep_line_breaks(token: Token) -> Token:
    """A model that breaks a line means it, as in verse."""
    for child in token.children or []:
        if child.type == "softbreak":
            child.type = "hardbreak"
    return token

"""The prompt box: several lines, Enter sends."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from app.display import neutralise

KEYS = (
    "Enter send · Ctrl+J new line · Esc stop · F2 tokens by origin · F3 measured "
    "· PgUp/PgDn scroll · Ctrl+Q quit",
    "Enter send · Ctrl+J new line · Esc stop · F2 tokens · F3 measured · Ctrl+Q quit",
    "Enter send · Esc stop · F2 tokens · F3 measured · Ctrl+Q quit",
    "Enter send · Esc stop · F2 tokens · Ctrl+Q quit",
    "Esc stop · Ctrl+Q quit",
    "Ctrl+Q quit",
)
NEWLINE = ("ctrl+j", "shift+enter", "alt+enter")


class Prompt(TextArea):
    """Grows with what is typed, up to eight lines."""

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        max-height: 10;
        border: round $panel;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        background: $background;
        scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: $background; }
        & .text-area--placeholder { color: $text-muted; }
        &:focus { border: round $primary 60%; }
    }
    """

    @dataclass
    class Sent(Message):
        """The user sends what is written."""

        text: str

    def __init__(self) -> None:
        super().__init__(soft_wrap=True, tab_behavior="focus", placeholder="Ask something")

    def entitle(self, model: str, draft: str) -> None:
        """Show who answers: names, which may come out of a file, are no markup and no control codes."""
        self.border_title = Content(neutralise(f"{model} · draft: {draft}"))

    def accept(self) -> None:
        """What was sent is taken."""
        self.clear()

    def write(self, text: str) -> None:
        """Put `text` in place of all that is written."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def give_back(self, text: str) -> None:
        """Put `text` back above whatever was typed since."""
        self.load_text("\n\n".join(filter(None, (text, self.text))))
        self.move_cursor(self.document.end)

    def on_resize(self) -> None:
        """Show the keys that fit."""
        room = self.size.width - 4
        self.border_subtitle = Content(next((keys for keys in KEYS if len(keys) <= room), ""))

    def render_line(self, y: int) -> Strip:
        """Nothing where there is no room: TextArea cannot break its placeholder to no width at all."""
        return super().render_line(y) if self.content_size.width else Strip.blank(0)

    async def _on_key(self, event: events.Key) -> None:
        # Before TextArea's own handler, which takes Enter for a new line.
        if event.key == "enter":
            self._take(event)
            self.post_message(self.Sent(self.text))
        elif event.key in NEWLINE:
            self._take(event)
            self.insert("\n")
        elif event.key == "ctrl+d" and not self.text:
            self._take(event)
            await self.run_action("app.quit")  # as in a shell

    async def _on_paste(self, event: events.Paste) -> None:
        # Before TextArea's own handler, which would draw control codes as they are.
        # Terminals paste line ends as carriage returns.
        event.text = neutralise(event.text.replace("\r\n", "\n").replace("\r", "\n"))

    @staticmethod
    def _take(event: events.Key) -> None:
        event.stop()
        event.prevent_default()

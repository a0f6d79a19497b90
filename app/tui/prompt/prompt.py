"""The prompt box: several lines, Enter sends. It completes, recalls, and folds long pastes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from app.desk.commands import BY_NAME, key_name
from app.display import neutralise
from app.tui.prompt import completion
from app.tui.prompt.chips import ChipArea
from app.tui.prompt.completion import Source
from app.tui.prompt.popup import Popup
from app.tui.prompt.recall import Recall

ROWS = 8  # that it grows to
# The last is how Textual names what tmux and xterm may send for Shift+Enter.
NEWLINE = ("ctrl+j", "shift+enter", "alt+enter", "shift+\r")
UNFOLD = "ctrl+t"
# What the lower border says, the most important last.
HINTS = (
    f"{key_name(BY_NAME['palette'].key)} commands",
    "Ctrl+J new line",
    f"{key_name(BY_NAME['stop'].key)} stop",
    "Enter send",
    f"{key_name(BY_NAME['help'].key)} help",
    f"{key_name(BY_NAME['quit'].key)} quit",
)
# What TextArea does at keys that write nothing.
ACTIONS = {
    key: binding.action
    for binding in TextArea.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
}


class Prompt(ChipArea):
    """Grows with what is typed, up to eight lines and half the screen.

    Attributes:
        sources: what completes arguments of each kind, such as PATH; `@` completes PATH too.
    """

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        border: round $panel;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        background: $background;
        scrollbar-size-vertical: 1;
        & .text-area--cursor-line { background: $background; }
        & .text-area--placeholder { color: $text-muted; }
        &:light .text-area--cursor { color: $background; background: $foreground; }
        &:focus { border: round $primary 60%; }
    }
    """

    @dataclass
    class Sent(Message):
        """The user sends what was written, which leaves the box.

        `Prompt.accept` says that it was taken, `put_back` that it was not.

        Attributes:
            text: with folded pastes in full.
            written: as it was written.
        """

        text: str
        written: str

    def __init__(self, sources: Mapping[str, Source] | None = None) -> None:
        super().__init__(soft_wrap=True, tab_behavior="focus", placeholder="Ask something, or / for commands")
        self.sources = dict(sources or {})
        self._recall = Recall()
        self._popup = Popup(self._complete)
        self._offered: tuple[int, str] | None = None  # up to where the cursor was then

    def entitle(self, model: str, draft: str) -> None:
        """Show who answers: names, which may come out of a file, are no markup and no control codes."""
        self.border_title = Content(neutralise(f"{model} · draft: {draft}"))

    def remember(self, texts: Iterable[str]) -> None:
        """What Up recalls: earlier questions, the latest last."""
        self._recall = Recall(texts)

    def accept(self, sent: Sent) -> None:
        """What was sent is taken: it can be recalled, and its pastes stand for nothing any more."""
        self._recall.add(sent.text)
        if self.message != self.text:  # pasted since
            self.write(self.message)
        self._pastes.clear()

    def put_back(self, sent: Sent) -> None:
        """What was sent is not taken: it is in the box again, above what was typed since."""
        self.give_back(sent.written)
        self._offered = self._before_cursor()  # a command that was refused is not being written

    def set_aside(self) -> None:
        """Empty the box; what was written can be recalled."""
        if self.text.strip():
            self._recall.add(self.message)
        self.write("")
        self._pastes.clear()

    def write(self, text: str) -> None:
        """Put `text` in place of all that is written."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    def give_back(self, text: str) -> None:
        """Put `text` back above whatever was typed since."""
        self.write("\n\n".join(filter(None, (text, self.text))))

    def dismiss(self) -> bool:
        """Close the completions; False if there were none."""
        was_open = self._popup.is_open
        self._popup.close()
        return was_open

    # What it looks like

    def on_mount(self) -> None:
        """Completions lie above the box."""
        assert self.parent is not None
        self.screen.mount(self._popup, before=self)

    def on_resize(self) -> None:
        """Show the keys that fit."""
        shown = list(HINTS)
        while len(" · ".join(shown)) > self.size.width - 4 and shown:
            del shown[0]
        self.border_subtitle = Content(" · ".join(shown))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Its lines, as far as there is room."""
        frame = self.gutter.height
        most = max(min(ROWS, viewport.height // 2 - frame), 1)
        return min(super().get_content_height(container, viewport, width), most)

    def render_line(self, y: int) -> Strip:
        """Nothing where there is no room: TextArea cannot break its placeholder to no width at all."""
        return super().render_line(y) if self.content_size.width else Strip.blank(0)

    # Typing

    async def _on_key(self, event: events.Key) -> None:
        # Before TextArea's own handler, which takes Enter for a new line.
        popup = self._popup
        takes = popup.choice is not None and not popup.completion.complete()
        if event.key in ("tab", "enter") and popup.is_open and (event.key == "tab" or takes):
            self._take(event)
            decided = popup.completion.decided
            self._complete()
            if event.key == "enter" and decided:
                self._enter()
        elif event.key == "enter":
            self._take(event)
            self._enter()
        elif event.key in NEWLINE:
            self._take(event)
            self.insert("\n")
        elif event.key == UNFOLD:
            self._take(event)
            self.unfold()
        elif event.key == "escape" and self.dismiss():
            self._take(event)
        elif event.key == "ctrl+d" and not self.text:
            self._take(event)
            await self.run_action("app.quit")  # as in a shell
        elif event.key in ACTIONS:
            # A binding would wait its turn, and letters typed after it would be taken in before it.
            self._take(event)
            await self.run_action(ACTIONS[event.key])

    def _enter(self) -> None:
        row, column = self.cursor_location
        if self.document[row][:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        elif self.text.strip():
            self.dismiss()
            sent = self.Sent(self.message, self.text)
            # Not by an edit: undone, it would bring back chips that stand for nothing.
            self.write("")
            self.post_message(sent)

    def action_cursor_up(self, select: bool = False) -> None:
        """Up: in the completions; from the first line on, to what was asked before; else a line."""
        if self._popup.is_open and not select:
            self._popup.move(-1)
        elif select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif (text := self._recall.back(self.text)) is not None:
            self._show_recalled(text, (0, len(text.partition("\n")[0])))

    def action_cursor_down(self, select: bool = False) -> None:
        """Down: in the completions; from the last line on, to what was asked after; else a line."""
        if self._popup.is_open and not select:
            self._popup.move(1)
        elif select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif (text := self._recall.on(self.text)) is not None:
            *lines, last = text.split("\n")
            self._show_recalled(text, (len(lines), len(last)))

    def _show_recalled(self, text: str, cursor: Location) -> None:
        self.load_text(text)
        self.move_cursor(cursor)
        self._offered = self._before_cursor()  # a command that is recalled is not being written

    @staticmethod
    def _take(event: events.Key) -> None:
        event.stop()
        event.prevent_default()

    # Completions

    def edit(self, edit: Edit) -> EditResult:
        """Every change comes through here, and is completed at once: the next key may be Enter."""
        result = super().edit(edit)
        self._offer()
        return result

    def on_text_area_changed(self) -> None:
        """What is written became another text as a whole."""
        self._offer()

    def on_text_area_selection_changed(self) -> None:
        """The cursor moved."""
        self._offer()

    def on_blur(self) -> None:
        """Nobody writes here."""
        self.dismiss()

    def _before_cursor(self) -> tuple[int, str]:
        row, column = self.cursor_location
        return row, self.document[row][:column]

    def _offer(self) -> None:
        """Show completions for what stands before the cursor, unless that is what was shown last."""
        before = self._before_cursor()
        if before == self._offered or not self._popup.is_attached:
            return
        self._offered = before
        row, line = before
        found = completion.at(line, first=row == 0, sources=self.sources) if self.has_focus else None
        self._popup.offer(found or completion.NOTHING, self.region.y)

    def _complete(self) -> None:
        chosen = self._popup.choice or self._popup.items[0]
        row, column = self.cursor_location
        start = self._popup.completion.start
        self._popup.close()
        self.replace(chosen.value, (row, start), (row, column), maintain_selection_offset=False)

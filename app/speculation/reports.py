"""What the engine reports: who answers, the latest numbers, and the rounds one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.chats.conversation import GOES_ON, Piece
from app.chats.records import MessageState
from app.speculation.rounds import RoundLog
from app.speculation.timeline import Timeline
from app.thinking import Markers
from app.thread.events import Emitted, Measured, Ready, Retuned, Snapshot, Started


class Reports:
    """Grows with the engine's events.

    Attributes:
        model, draft: the target and the draft source, for people.
        context_limit: tokens, or None before that is known.
        snapshot: the latest numbers, or None.
        rounds: the latest rounds, to be stepped through.
        timeline: K and speedup.
        tokens: of the answer under way.
    """

    def __init__(self) -> None:
        self.model = self.draft = ""
        self.context_limit: int | None = None
        self.snapshot: Snapshot | None = None
        self.rounds = RoundLog()
        self.timeline = Timeline()
        self.tokens: list[int] = []
        self._markers = Markers()

    @property
    def target_bytes(self) -> int:
        """Of the target's weights; 0 before that is known."""
        return self.snapshot.target_bytes if self.snapshot else 0

    def take(self, event: Ready | Retuned | Measured) -> None:
        """Another pair, source or verdict."""
        self.snapshot = event.snapshot
        if isinstance(event, Ready):
            self.model, self.context_limit = event.model, event.context_limit
        if not isinstance(event, Measured):
            self.draft = event.draft

    def forget(self) -> None:
        """Another chat is open: the rounds of this one are nobody's business any more."""
        self.rounds = RoundLog()
        self.timeline = Timeline()

    def expect(self, tokens: Sequence[int] = ()) -> None:
        """An answer is asked for, or one that has these tokens already goes on."""
        self.tokens = list(tokens)
        self._markers = Markers()

    def start(self, event: Started, message_id: int | None) -> None:
        """The answer with that id begins; what its prompt opened belongs to it."""
        self._markers = event.markers
        self.rounds.begin(message_id)
        self.timeline.begin()

    def hear(self, rounds: Sequence[Emitted], *, first: bool) -> list[Piece]:
        """Take rounds in; returns the pieces that they add to the answer, `first` if it says nothing yet."""
        for event in rounds:
            self.snapshot = event.snapshot
            self.rounds.add(event.round)
            self.timeline.add(event.round, event.snapshot)
            self.tokens += event.round.tokens
        pieces = [piece for event in rounds for piece in event.round.pieces]
        if pieces and first and self._markers.opener:
            pieces.insert(0, ("prompt", self._markers.opener))
        return pieces

    def stats(self, state: MessageState, reason: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of an answer besides its text; its tokens if it may go on. JSON-ready.

        Args:
            state: in which it ended.
            reason: why.
            facts: as `app.answer.facts` has them, or none where it broke off.
        """
        stats = {"finish_reason": reason, "model": self.model, "draft": self.draft, **facts}
        stats["markers"] = [self._markers.start, self._markers.end]
        if state in GOES_ON:
            stats["tokens"] = self.tokens
        return stats

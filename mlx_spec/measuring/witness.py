"""While a source is parked, plain decoding tells what its drafts would have been worth."""

from __future__ import annotations

from mlx_spec.drafts.base import DraftSource
from mlx_spec.policy.auto import AutoK


class Witness:
    """Compares what a parked source would propose with the tokens that plain decoding then commits.

    Only a source whose proposals are free is asked, and that seldom while it is wrong: work on the host
    counts, too, where a step takes a millisecond. After a draft that stands whole the next follows at once,
    so that a text that begins to repeat is noticed within two or three of them.
    """

    EVERY = 8  # tokens after a draft that did not stand

    def __init__(self, source: DraftSource, controller: AutoK) -> None:
        """Args:
        source: its proposals are free.
        controller: is told.
        """
        self._source = source
        self._controller = controller
        self._draft: list[int] = []
        self._matched = 0
        self._wait = 0

    def commit(self, tokens: list[int]) -> None:
        """Take note of a step's tokens, which the source has committed."""
        if self._controller.state != "parked":
            self._draft, self._wait = [], 0
            return
        for token in tokens:  # one, but for the end of an answer or a try
            self._compare(token)
        if not self._draft and not self._wait:
            self._propose()

    def _compare(self, token: int) -> None:
        if not self._draft:
            self._wait = max(0, self._wait - 1)
            return
        stands = token == self._draft[self._matched]
        self._matched += stands
        if not stands or self._matched == len(self._draft):
            self._controller.witness(len(self._draft), self._matched)
            self._wait = 0 if stands else self.EVERY
            self._draft = []

    def _propose(self) -> None:
        self._draft = self._source.propose(self._controller.most).tokens.tolist()
        self._matched = 0
        if not self._draft:
            self._controller.witness(0, 0)
            self._wait = self.EVERY

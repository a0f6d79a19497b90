"""The loss budget: how much time trying may have cost, whatever the estimates say."""

from __future__ import annotations


class LossBudget:
    """Speculate only while the sum of gains is at least -(b0 + beta * elapsed), in plain steps.

    A round that emits n tokens in tau seconds gains n - tau / t_plain. If t_plain is right, an answer
    takes at most (1 + beta) times its plain time, b0, and one round. Gains are banked up to a cap, so that a
    good hour does not pay for a bad one.

    Rounds after the last plain step are counted twice, by the plain time known then and by the scale
    that followed the machine since; the worse one holds. The next plain steps tell which was right: a
    machine that slowed down is no loss.
    """

    SHARE = 0.015  # beta
    FIRST = 6.3  # b0, tokens: 16 rows where 8 cost 6 and more cost nothing are tried once at least
    BANK = 12.0

    def __init__(self) -> None:
        self._settled = 0.0
        self._by_anchor = self._by_scale = 0.0
        self.elapsed = 0.0

    @property
    def left(self) -> float:
        """What may still be lost, in plain steps."""
        sure = min(self.BANK, self._settled + min(self._by_anchor, self._by_scale))
        return sure + self.FIRST + self.SHARE * self.elapsed

    def round(self, emitted: int, seconds: float, anchor: float, scale: float) -> None:
        """Take note of a round or of a step in which the source had nothing.

        Args:
            emitted: its tokens.
            seconds: its time.
            anchor: seconds of a plain step by the latest plain steps.
            scale: the same, as it seems to be now.
        """
        self._by_anchor += emitted - seconds / anchor
        self._by_scale += emitted - seconds / scale
        self.elapsed += emitted

    def plain(self) -> None:
        """Take note of a plain step."""
        self.elapsed += 1

    def settle(self, before: float, expected: float, now: float) -> None:
        """Close the rounds since the last plain steps.

        Args:
            before: seconds of a plain step, as the plain steps before those rounds said.
            expected: as the rounds let expect.
            now: as the plain steps after them say.
        """
        open_gain = self._by_scale if abs(now - expected) < abs(now - before) else self._by_anchor
        self._settled = min(self.BANK, self._settled + open_gain)
        self._by_anchor = self._by_scale = 0.0

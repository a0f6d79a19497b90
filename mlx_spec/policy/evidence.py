"""Evidence on a paired gain that may be looked at after every round: betting."""

from __future__ import annotations


class Evidence:
    """Bets against "rounds do not pay" and against "rounds do not lose"; either fortune may convince.

    Gains x in [-1, 1] multiply a fortune by 1 + bet * x, the bet chosen before x is seen. If the mean gain
    given the past is at most 0, the fortune is a nonnegative supermartingale, so that it reaches 1/alpha with
    probability alpha at most, however often one looks (Ville's inequality). Bets follow mean /
    (variance + mean^2), at most 1/2 (Waudby-Smith and Ramdas, "Estimating means of bounded random variables
    by betting", JRSS B 2024, section B.3, aGRAPA).

    Attributes:
        pays, loses: the two fortunes; 20 is evidence at 5%.
        rounds: how many were seen.
    """

    ENOUGH = 20.0

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget all rounds: a new question is asked."""
        self.pays = self.loses = 1.0
        self.rounds = 0
        self._sum = 0.0
        self._squares = 0.25

    def observe(self, gain: float, bound: float) -> None:
        """Take note of a round.

        Args:
            gain: emitted tokens less what plain decoding would have emitted in the time.
            bound: the largest gain or loss that is possible; beyond it a loss is cut off.
        """
        x = max(-1.0, min(1.0, gain / bound))
        mean = self._sum / (self.rounds + 1)
        spread = self._squares / (self.rounds + 1)
        bet = max(-0.5, min(0.5, mean / (spread + mean * mean)))
        self.pays = min(self.pays * (1 + max(bet, 0.02) * x), 1e12)
        self.loses = min(self.loses * (1 - max(-bet, 0.02) * x), 1e12)
        self.rounds += 1
        self._sum += x
        self._squares += (x - mean) ** 2

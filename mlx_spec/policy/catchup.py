"""What it takes a source to read the committed text that it has missed, before it can be asked."""

from __future__ import annotations

from mlx_spec.policy.costs import Costs


class CatchUp:
    """The price of a token that a source reads, in plain steps.

    It is what the source took when it last had text to read. Before that, the target's time for a token of
    its prompt stands in, times c: who decodes faster reads faster. Where neither is known, a token is taken
    to cost as much as drafting one, since no model reads slower than it decodes.

    Attributes:
        behind: committed tokens that the source would have to read now.
        price: plain steps a token, as measured; None until then.
    """

    def __init__(self) -> None:
        self.behind = 0
        self.price: float | None = None
        self._target_s: float | None = None  # seconds for a token of a prompt

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Take note of a prompt that the target has read."""
        if tokens:
            self._target_s = seconds / tokens

    def caught_up(self, tokens: int, steps: float) -> None:
        """Take note of text that the source has read, in plain steps' time."""
        if tokens:
            self.price = steps / tokens

    def cost(self, costs: Costs) -> float:
        """Plain steps' time to read what the source is behind."""
        if not self.behind:
            return 0.0
        if self.price is not None:
            return self.behind * self.price
        table = costs.table
        c = table.drafting(1) / table.verify[1] if table and table.draft else 1.0
        read = self._target_s / costs.scale if self._target_s is not None and costs.scale else 1.0
        return self.behind * c * min(read, 1.0)

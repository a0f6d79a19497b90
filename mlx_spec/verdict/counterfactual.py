"""Which factor holds speculation back: the one whose ideal value would lift the predicted speedup most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlx_spec.policy.hazards import emitted
from mlx_spec.policy.record import Record
from mlx_spec.policy.table import CLIFF, CostTable

REFERENCE_K = 4  # whose verification is quoted, or that of a smaller K
SERIALIZED = 0.5  # a serial index of at least this
PAYS = 1.03  # a predicted speedup that is more than error


@dataclass(frozen=True)
class Factors:
    """What makes up a round, in plain steps, by K = 0..most.

    Attributes:
        verify: the target's forward over K+1 rows.
        draft: drafting K tokens.
        overhead: the rest.
        rates: hazards.
        proposing: how often the source has something.
    """

    verify: tuple[float, ...]
    draft: tuple[float, ...]
    overhead: tuple[float, ...]
    rates: tuple[float, ...]
    proposing: float

    def speedup(
        self,
        ks: Sequence[int],
        *,
        free_verification: bool = False,
        free_draft: bool = False,
        no_overhead: bool = False,
        all_stands: bool = False,
    ) -> float:
        """The best predicted speedup over `ks`, with ideal values for what is named."""
        tokens = emitted([1.0] * len(self.rates) if all_stands else list(self.rates))
        proposing = 1.0 if all_stands else self.proposing
        one = 1.0 if no_overhead else self.verify[0]  # T(1) includes a wait that a pipeline hides

        def cost(k: int) -> float:
            verify = one if free_verification else self.verify[k] * one / self.verify[0]
            return verify + (0 if free_draft else self.draft[k]) + (0 if no_overhead else self.overhead[k])

        return max(
            (proposing * tokens[k] + 1 - proposing) / (proposing * cost(k) + (1 - proposing) * cost(0))
            for k in ks
        )


def factors(record: Record, table: CostTable) -> Factors:
    """A table's parts, each corrected as the rounds have corrected their sum."""
    costs, ks = record.costs, range(record.most + 1)
    corrections = [costs.ratios[k] * table.plain / table.round(k) for k in ks]
    if table is not costs.table:
        corrections = [1.0 for _ in ks]

    def in_steps(seconds: Sequence[float]) -> tuple[float, ...]:
        return tuple(t / table.plain * corrections[k] for k, t in enumerate(seconds))

    return Factors(
        verify=in_steps([table.rows(k + 1) for k in ks]),
        draft=in_steps([table.drafting(k) for k in ks]),
        overhead=in_steps([table.overhead for _ in ks]),
        rates=tuple(record.hazards.rates),
        proposing=record.hazards.proposal_rate,
    )


def lifts(record: Record, ks: Sequence[int]) -> dict[str, float]:
    """Predicted speedup if one factor were ideal, by cause; empty where nothing was measured apart."""
    table = record.costs.table
    if table is None:
        return {}
    now = factors(record, table)
    causes = {
        "verification": now.speedup(ks, free_verification=True),
        "draft": now.speedup(ks, free_draft=True),
        "acceptance": now.speedup(ks, all_stands=True),
        "overhead": now.speedup(ks, no_overhead=True),
    }
    shallow = record.costs.tables[0]
    if shallow is not table and now.speedup(ks) <= 1:
        there = factors(record, shallow).speedup(ks)
        if there > PAYS:  # it is the depth alone that costs the gain, whatever else would help
            causes["context"] = max(there, *causes.values()) * 1.001
    if not serialized(record, max(ks)) and cliff(record, max(ks)) is not None:
        causes["cliff"] = causes.pop("verification")
    return causes


def quotable_rows(record: Record, k: int) -> int | None:
    """The M to quote of a round of K, at most that of the reference: the largest that was measured."""
    most = min(k, REFERENCE_K) + 1
    return max((m for m in record.costs.verify_cost() if 1 < m <= most), default=None)


def serial_index(record: Record, rows: int) -> tuple[float, float]:
    """s(K) = (V(M) - 1) / K of a measured M = K + 1 >= 2, and its lower bound at 97.5%."""
    cost = record.costs.verify_cost()[rows]
    low = cost * math.exp(-1.96 * math.sqrt(record.costs.variance(rows - 1)))
    return (cost - 1) / (rows - 1), (low - 1) / (rows - 1)


def serialized(record: Record, k: int) -> bool:
    """Whether verification runs row by row, for all that is known: a fact, whatever the cause is."""
    rows = quotable_rows(record, k)
    return rows is not None and serial_index(record, rows)[1] >= SERIALIZED


def cliff(record: Record, k: int) -> int | None:
    """The row within K+1 at which V jumps most, if that is a cliff and both its sides were measured."""
    costs = record.costs.verify_cost()
    jumps = {m: costs[m] / costs[m - 1] for m in costs if m - 1 in costs and m <= k + 1}
    steepest = max(jumps, key=jumps.__getitem__, default=None)
    return steepest if steepest is not None and jumps[steepest] > CLIFF else None

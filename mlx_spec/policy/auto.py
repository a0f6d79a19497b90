"""K chosen while running: the best predicted speed, inside a loss budget, over a baseline kept honest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlx_spec.policy.budget import LossBudget
from mlx_spec.policy.controller import State
from mlx_spec.policy.evidence import Evidence
from mlx_spec.policy.hazards import emitted
from mlx_spec.policy.record import Record
from mlx_spec.policy.step import Step
from mlx_spec.policy.table import CLIFF, CostTable

K_MAX = 7


def k_max(free: bool) -> int:
    """The largest K that is tried: more where drafts cost nothing, since copied passages stand as a whole.

    Args:
        free: the source's proposals cost next to nothing.
    """
    return 15 if free else K_MAX


class AutoK:
    """Names the K whose rounds give most tokens a second, 0 where none beats plain decoding.

    K* is the argmax over K of (1 + S_1 + ... + S_K) / (T(K+1) + T_draft(K) + o), against 1 / T_plain.
    It changes for a gain of some percent only. Around that rule:

    - The loss budget bounds what any of it may cost (see `LossBudget`).
    - Parked, it tries the cheapest K that could pay if the text had changed, ever more rarely while it
      does not. A K that could not pay if every draft stood is never tried.
    - Speculating, it tries K+1 now and then, but goes over a known cliff only if that is predicted to pay.
    - Blocks of plain steps measure the baseline; they come as seldom as their cost demands.
    - Evidence that rounds lose (see `Evidence`), whatever the estimates say, forces a rest, which
      doubles each time; only evidence that they pay makes the state "speculating".

    Costs and hazards are kept a source, across answers, and as a plain dict across runs.
    """

    HYSTERESIS = 0.02  # gain for which K changes
    STAY, START = 1.005, 1.02  # predicted speedup to go on, and to start
    SURE = 1.5  # predicted speedup for which a text that is copied again ends a rest
    HOPE = 0.02  # possible gain for which it is tried
    BLOCK, FIRST_BLOCK = 8, 6  # plain steps that measure the baseline; the first two are not counted
    BLOCK_SHARE = 0.006  # of the time, at most, for them
    BLOCK_EVERY = 128  # plain steps' time, at least, between blocks
    DOUBT = 0.07  # log of the scale that rounds tell over that of the baseline, for which blocks hurry:
    DOUBTING_SHARE, DOUBTING_EVERY = 0.02, 48
    PROBE_EVERY, FIRST_PROBE = 16, 2  # rounds; the second where the cost of K+1 is a guess
    GAP, LONGEST_GAP = 8, 32  # tokens parked before it is tried again
    ASKING_SHARE = 0.0075  # of the time, at most, for asking a source that has nothing
    TRIAL = 8  # rounds in a row that are more than a try
    REST, LONGEST_REST = 64, 1024  # tokens, after evidence of a loss

    def __init__(self, source: str, tables: Sequence[CostTable] = (), most: int = K_MAX) -> None:
        """Args:
        source: the draft source's name.
        tables: of a probe for this source, one a depth; without them it measures by itself.
        most: the largest K.
        """
        self.most = most
        self._records: dict[str, Record] = {}
        self._budget = LossBudget()
        self._evidence = Evidence()
        self._state: State = "measuring"
        self._k = 0
        self._block = 0
        self._rest, self._next_rest = 0, self.REST
        self._gap, self._waited = 1, 1
        self._parked = True
        self._idle = 0  # tokens since the last round
        self._untested = 0  # tokens since a draft was last tested, by a round or a witness
        self._rounds = 0  # at the present K
        self._streak = 0  # rounds since it was last parked
        self._since_block = 0.0  # plain steps' time
        self._expected: float | None = None
        self._before: float | None = None
        self._paying = False
        self.use(source, tables)

    def use(self, source: str, tables: Sequence[CostTable] = ()) -> None:
        """Go on with `source`, and with what was measured of it before, if anything was."""
        if source not in self._records:
            self._records[source] = Record(tables, self.most)
        self.source = source
        self.record: Record = self._records[source]
        self._evidence.restart()
        if self.record.costs.anchor is None:
            self._block = self.FIRST_BLOCK
        self._plan()

    @property
    def state(self) -> State:
        return self._state

    def best(self) -> tuple[int, float | None]:
        """The best K of at least 1 whose cost was measured, and its predicted speedup.

        Where no cost was, it is the best one by a guess, and nothing is predicted.
        """
        values, told = self.record.predictions(self.record.hazards.rates), self.record.costs.told
        ks = range(1, self.most + 1)
        k = max([k for k in ks if told(k)] or ks, key=values.__getitem__)
        return k, values[k] if told(k) else None

    @property
    def ruled_out(self) -> bool:
        """Whether measured costs say that no K could pay if every draft stood, so that none is tried."""
        record, sure = self.record, [1.0] * self.most
        if record.costs.table is None:
            return False
        hopes = record.predictions(sure, record.costs.hopeful(self._idle), 1.0)
        return max(hopes[1:]) <= 1 + self.HOPE

    @property
    def waits_for_reading(self) -> bool:
        """Whether only the text that the source must read first keeps a K from being tried that might pay."""
        cost, value = self.record.catch_up.cost(self.record.costs), self.best()[1]
        dear = min(self.record.costs.ratios[1:]) - 1 + cost > self._budget.left
        return cost > 0 and dear and (value is None or value > self.START)

    def begin(self, depth: int, behind: int = 0) -> None:
        self.record.begin(depth)
        self.record.catch_up.behind = behind
        self._afford()

    def prefilled(self, tokens: int, seconds: float) -> None:
        self.record.catch_up.prefilled(tokens, seconds)
        self._afford()

    def _afford(self) -> None:
        """Decide anew if what was decided costs too much by what is known now."""
        if self._k and self._k not in self._affordable():
            self._plan()

    def next_k(self) -> int:
        return self._k

    def witness(self, drafted: int, accepted: int) -> None:
        """Take note of what a parked source would have got right, seen on committed text.

        Args:
            drafted: tokens that it would have proposed, 0 if it had nothing.
            accepted: how many of them, from the first, the text then had.
        """
        self.record.hazards.observe(drafted, accepted)
        self._untested = 0
        value = self.best()[1] or 0
        if self._parked and value > self.START:
            self._waited = self._gap
            if drafted == accepted and value > self.SURE:
                self._rest = 0  # what lost was another text

    def observe(self, step: Step) -> None:
        costs = self.record.costs
        before, expected = costs.anchor, costs.scale
        self.record.observe(step)
        if step.asked:
            self._observe_round(step)
        else:
            self._budget.plain()
            self._waited += 1
            self._idle += 1
            self._untested += 1
            self._rest -= self._rest > 0
            if self._before is None:
                self._before, self._expected = before, expected
            if costs.settled:
                if self._before and self._expected and costs.anchor:
                    self._budget.settle(self._before, self._expected, costs.anchor)
                self._before = self._expected = None
                self._since_block = 0.0
            if self._block:
                self._block -= 1
                if not self._block and not costs.settled:
                    self._block = 1
        self._plan()

    def _observe_round(self, step: Step) -> None:
        costs = self.record.costs
        self._before = self._expected = None
        if costs.anchor is None or costs.scale is None:
            return
        seconds = step.seconds + step.reading_s
        self._budget.round(step.emitted, seconds, costs.anchor, costs.scale)
        cost = seconds / costs.scale
        self._since_block += cost
        self._evidence.observe(step.emitted - cost, max(step.drafted + 1, 2 * costs.ratios[step.drafted]))
        self._streak += 1
        self._idle = self._untested = 0
        if step.drafted == self._k:
            self._rounds += 1
        if self._evidence.loses >= Evidence.ENOUGH:
            self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, self.LONGEST_REST)
            self._evidence.restart()
            self._parked, self._paying, self._waited, self._streak = True, False, 0, 0
        elif self._evidence.pays >= Evidence.ENOUGH:
            self._next_rest, self._paying = self.REST, True

    def _plan(self) -> None:
        """Decide on the next K."""
        if self._block or self._rest:
            k = 0
        elif self._parked:
            k = self._try() if self._waited >= self._patience() and not self.record.costs.doubtful else 0
        else:
            k = self._choose()
        if k and self._wants_block(k):
            self._block, k = self.BLOCK, 0
        if k and k != self._k:
            self._rounds = 0
        self._k = k
        if k and self._paying:
            self._state = "speculating"
        elif k and self._streak >= self.TRIAL:
            self._state = "measuring"
        elif self._parked and not self._block:
            self._state = "parked"

    def _choose(self) -> int:
        """The best K while speculating, or parking."""
        values = self.record.predictions(self.record.hazards.rates)
        affordable = self._affordable()
        best = max(affordable, key=values.__getitem__, default=0)
        if self._k in affordable and values[best] <= values[self._k] * (1 + self.HYSTERESIS):
            best = self._k
        if best and values[best] > self.STAY:
            return self._one_more(best, values) if best == self._k else best
        self._parked, self._waited = True, 0
        if self._streak >= self.TRIAL:
            self._gap, self._paying = self.GAP, False
            self._evidence.restart()
        self._streak = 0
        return 0

    def _affordable(self) -> list[int]:
        """Every K of which a round is allowed, with all that the source must read before it."""
        left = self._budget.left - self.record.catch_up.cost(self.record.costs)
        return [k for k in range(1, self.most + 1) if self.record.costs.ratios[k] - 1 <= left]

    def _one_more(self, k: int, values: list[float]) -> int:
        """K+1 instead of K every some rounds, where hazards further on may turn out better than thought."""
        costs, more = self.record.costs, k + 1
        if k == self.most:
            return k
        if self._rounds < (self.PROBE_EVERY if costs.known(more) else self.FIRST_PROBE):
            return k
        self._rounds = 0
        if costs.ratios[more] > CLIFF * costs.ratios[k] and values[more] < values[k]:
            return k
        return more if values[more] > 0.95 * values[k] else k

    def _patience(self) -> int:
        """Tokens between tries. Where a source lacks proposals alone, asking it costs next to nothing."""
        if self.record.hazards.next_proposal >= 1:
            return self._gap
        asking = (self.record.costs.ratios[0] - 1) / self.ASKING_SHARE
        return max(1, min(self._gap, math.ceil(asking)))

    def _try(self) -> int:
        """Parked: the K that is predicted to pay, else the cheapest that could if the text had changed."""
        record = self.record
        affordable = self._affordable()
        values = record.predictions(record.hazards.rates, proposing=1.0)
        best = max(affordable, key=values.__getitem__, default=0)
        if not best or values[best] <= self.START:
            if self._waited < self._gap:
                return 0
            ratios = record.costs.hopeful(self._idle)
            hopes = record.predictions(record.hazards.hopeful(self._untested), ratios, 1.0)
            tokens = emitted(record.hazards.rates)
            able = [k for k in affordable if hopes[k] > 1 + self.HOPE]
            best = min(able, key=lambda k: record.costs.ratios[k] - tokens[k], default=0)
        self._waited = 0
        self._gap = min(2 * self._gap, self.LONGEST_GAP)
        self._parked = not best
        return best

    def _wants_block(self, k: int) -> bool:
        """Whether the baseline has aged so far that measuring it is worth its cost."""
        costs = self.record.costs
        cost = self.BLOCK * max(0.0, 1 - 1 / self.record.predicted(k))
        share, every = self.BLOCK_SHARE, self.BLOCK_EVERY
        if costs.scale and costs.anchor and abs(math.log(costs.scale / costs.anchor)) > self.DOUBT:
            share, every = self.DOUBTING_SHARE, self.DOUBTING_EVERY
        return self._since_block >= max(every, cost / share)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: what outlives the session."""
        return {"records": {source: record.as_dict() for source, record in self._records.items()}}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from `as_dict` of another session on the same machine, model and versions."""
        for source, record in kept["records"].items():
            self._records[source] = Record.from_dict(record, self.most)
        self.use(self.source)

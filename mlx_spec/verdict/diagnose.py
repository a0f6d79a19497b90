"""From measurements to one verdict with one cause and one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import FixedK, Off, State
from mlx_spec.policy.hazards import emitted
from mlx_spec.policy.record import Record
from mlx_spec.verdict import counterfactual, wording

Kind = Literal["measuring", "paying", "parked", "slower", "off"]
Cause = Literal["verification", "cliff", "draft", "acceptance", "overhead", "context", "user", "pair"]


@dataclass(frozen=True)
class Verdict:
    """What speculation does for the user, and why.

    Attributes:
        kind: measuring: not known yet. paying: faster than plain. parked: K=0, since it would be slower.
            slower: a fixed K that runs below plain. off: the user said so, or the pair cannot.
        cause: of parked and slower, the factor whose ideal value would lift the predicted speedup most, or
            None if nothing measured the factors apart; of off, user or pair; None otherwise.
        sentence: all of it in words, with the measured numbers.
        facts: the numbers, JSON-ready; see `facts`.
        now: what the controller does at this moment. The sentence says so where that is not what the
            verdict would have it do; nothing else needs to be said of it.
    """

    kind: Kind
    cause: Cause | None
    sentence: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    now: State | None = None

    @property
    def warns(self) -> bool:
        """Whether something is amiss, about which the user may want to do something.

        A source that lacks proposals on this text costs nothing and waits for a text that repeats.
        """
        if self.kind == "parked":
            return not (self.cause in ("acceptance", None) and wording.lacks_proposals(self.facts))
        return self.kind == "slower" or self.cause == "pair"


class Diagnosis:
    """One verdict at a time. It changes on evidence or after a while, not with every round.

    A verdict of paying or slower rests on an interval or a bet, and holds until the opposite is as sure.
    Parked becomes the verdict when the controller has been parked for a while, or at once where measured
    costs rule out every K whatever the drafts are; each change doubles that while. A source that gains
    where it proposes and lacks proposals for now still pays. A cause gives way to one that would lift the
    speedup clearly more.
    """

    PATIENCE = 64  # steps for which the controller must stay parked
    CLEARLY = 1.1

    def __init__(self, device: Mapping[str, Any] | None = None) -> None:
        """Args:
        device: facts that may explain a verdict and never decide one: `quantization` (such as "affine
            4-bit"), `generation` of the GPU, `mlx` version.
        """
        self._device = dict(device or {})
        self._kind: Kind = "measuring"
        self._cause: Cause | None = None
        self._patience = self.PATIENCE
        self._parked_for = 0

    def observe(self, controller: AutoK | FixedK | Off) -> None:
        """Take note of a step that the controller has seen."""
        if isinstance(controller, AutoK):
            self._parked_for = self._parked_for + 1 if controller.state == "parked" else 0
            if self._kind != "paying" and controller.state == "speculating":
                self._turn("paying")
            elif self._kind == "measuring" and (
                self._parked_for >= self.PATIENCE // 4 or controller.ruled_out
            ):
                self._turn("parked")
            elif self._kind == "paying" and self._parked_for >= self._patience:
                # At every step from here on: all the facts would take more time than it may.
                if _gains(controller) and wording.lacks_proposals(_proposals(controller.record)):
                    return
                self._turn("parked")
                self._patience *= 2
        elif isinstance(controller, FixedK):
            speedup = controller.record.speedup
            if _gains(controller):
                self._turn("paying")
            elif speedup and speedup.high < 1:
                self._turn("slower")

    def _turn(self, kind: Kind) -> None:
        self._kind = kind
        if kind == "paying":
            self._cause = None

    def verdict(self, controller: AutoK | FixedK | Off) -> Verdict:
        """The verdict now."""
        if isinstance(controller, Off):
            cause: Cause = "user" if controller.by_user else "pair"
            return Verdict("off", cause, wording.off(controller.reason), now="off")
        now = controller.state
        known = facts(controller)
        if self._kind == "measuring":
            return Verdict("measuring", None, wording.measuring(known, now), known, now)
        if self._kind == "paying":
            return Verdict("paying", None, wording.paying(known, now), known, now)
        if known["unread"]:
            return Verdict("parked", "draft", wording.unread(known), known, now)
        if lifts := known["lifts"]:
            most = cast(Cause, max(lifts, key=lifts.__getitem__))
            if self._cause not in lifts or lifts[most] > self.CLEARLY * lifts[self._cause]:
                self._cause = most
        sentence = wording.blame(self._cause, self._kind, known, self._device, now)
        return Verdict(self._kind, self._cause, sentence, known, now)


def _gains(controller: AutoK | FixedK) -> bool:
    """Whether rounds were surely faster than plain steps, where there were any."""
    speedup = controller.record.speedup
    return speedup is not None and speedup.low > 1


def _proposals(record: Record) -> dict[str, Any]:
    """Those of the facts that tell how often the source has something."""
    return {"tested": record.hazards.tested(1) > 0, "proposal_rate": record.hazards.proposal_rate}


def facts(controller: AutoK | FixedK) -> dict[str, Any]:
    """What was measured, JSON-ready; None where unknown.

    Returns:
        `k` that the facts are of: the fixed one, or the best; `speedup` measured where the source was asked
        (value, low, high); `predicted` speedup at that K, None where its cost is a guess; `unread` tokens
        that keep the source from being asked; `round_cost` in plain steps and `round_tokens` there;
        `verify_cost` V(M) by M; `rows` and `rows_cost`, M and V(M) to quote; `serial_index` there and
        whether it is `serialized`; `cliff`, the row of one; `draft_cost` c; `overhead` over T(1), with the
        wait that plain decoding's pipeline hides;
        `tested`, whether any draft was; `tries`, whether it is tried again while parked; `proposal_rate`;
        `depth` in tokens, `shallow_depth` and `shallow_round_cost` of the shallowest table; `lifts`, the
        predicted speedup by cause if that factor were ideal, empty where nothing measured them apart.
    """
    record: Record = controller.record
    auto = controller if isinstance(controller, AutoK) else None
    k = auto.best()[0] if auto else controller.most
    ks = range(1, controller.most + 1) if auto else [k]
    rows = counterfactual.quotable_rows(record, controller.most)
    costs, table = record.costs, record.costs.table
    speedup = record.speedup
    verify_cost = costs.verify_cost()
    steep = counterfactual.cliff(record, controller.most)
    shallow = costs.tables[0] if costs.tables else None
    told = costs.told(k)
    return {
        "k": k,
        "speedup": speedup and {"value": speedup.value, "low": speedup.low, "high": speedup.high},
        "predicted": record.predicted(k) if told else None,
        "unread": record.catch_up.behind if auto and auto.waits_for_reading else None,
        "round_cost": costs.ratios[k] if told else None,
        "round_tokens": emitted(record.hazards.rates)[k],
        "verify_cost": {str(m): v for m, v in verify_cost.items()},
        "rows": rows,
        "rows_cost": rows and verify_cost[rows],
        "serial_index": rows and counterfactual.serial_index(record, rows)[0],
        "serialized": counterfactual.serialized(record, controller.most),
        "cliff": steep,
        "cliff_costs": steep and [verify_cost[steep - 1], verify_cost[steep]],
        "draft_cost": table.drafting(k) / k / table.verify[1] if table else None,
        "overhead": table.unhidden / table.verify[1] if table else None,
        "tries": auto is not None and not auto.ruled_out,
        **_proposals(record),
        "depth": record.depth,
        "shallow_depth": shallow and shallow.depth,
        "lifts": counterfactual.lifts(record, ks),
        "shallow_round_cost": shallow and shallow.round(k) / shallow.plain,
    }

"""What happened in one generation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from mlx_spec.events import FinishReason
from mlx_spec.policy.controller import State
from mlx_spec.verdict.diagnose import Verdict


@dataclass
class Metrics:
    """Counts and times of one generation. Unknown values are None, never a guess.

    Attributes:
        prompt_tokens: tokens of the prompt; `reused_tokens` of them were in the cache already, and
            `prefilled_tokens` were read. The last one is read with the first round.
        source_prefilled_tokens: tokens that the draft source read to catch up.
        completion_tokens: tokens released so far.
        ttft_s: seconds from the request to the first token.
        last_s: seconds from the request to the latest token.
        later_tokens: tokens that came after the first one's round, those of a stop string included.
        rounds: speculative rounds (K >= 1).
        drafted: draft tokens verified, up to the answer's end.
        accepted: those that stand.
        tested_at: for each position in a draft, how often it was reached; `accepted_at`: and stood.
        k_histogram: rounds by K, plain steps as 0.
        k: K that the controller names for the next round.
        context_used: tokens of context in use, of `context_limit`.
        band: under strict exactness, the margin of the two top logits that counts as a near-tie;
            None under fast. `reverified` near-ties were decided anew, `replayed` tokens decoded for it.
        seed: what reproduces the randomness, or None if there was none.
        state: of the controller, of the same moment as the verdict.
        source: the draft source's name, or None.
        verdict: on speculation, with the numbers behind it; renewed every few rounds. It alone says why.
        spoilt: the latest measurement was of no use, since other programs kept the machine busy.
        kernel: which kernel is expected to verify a draft, as an explanation; None where nobody knows.
        finish_reason: why the answer ended; None while it runs.
        target_bytes, draft_bytes, kv_bytes, peak_bytes: memory at the end.
    """

    prompt_tokens: int = 0
    reused_tokens: int = 0
    prefilled_tokens: int = 0
    source_prefilled_tokens: int = 0
    completion_tokens: int = 0
    ttft_s: float | None = None
    last_s: float = 0.0
    later_tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    tested_at: list[int] = field(default_factory=list)
    accepted_at: list[int] = field(default_factory=list)
    k_histogram: Counter[int] = field(default_factory=Counter)
    k: int = 0
    context_used: int = 0
    context_limit: int = 0
    seed: int | None = None
    state: State = "off"
    source: str | None = None
    verdict: Verdict | None = None
    spoilt: bool = False
    kernel: str | None = None
    finish_reason: FinishReason | None = None
    band: float | None = None
    reverified: int = 0
    replayed: int = 0
    target_bytes: int = 0
    draft_bytes: int = 0
    kv_bytes: int = 0
    peak_bytes: int = 0

    def record(self, k: int, accepted: int, emitted: int, seconds: float) -> None:
        """Add a round.

        Args:
            k: draft tokens that count: those verified, or those before the end of the answer.
            accepted: those that stand.
            emitted: tokens of the answer that the round gave.
            seconds: since the request.
        """
        self.k_histogram[k] += 1
        self.completion_tokens += emitted
        if emitted:
            self.last_s = seconds
            if self.ttft_s is None:
                self.ttft_s = seconds
            else:
                self.later_tokens += emitted
        if k == 0:
            return
        self.rounds += 1
        self.drafted += k
        self.accepted += accepted
        while len(self.tested_at) < k:
            self.tested_at.append(0)
            self.accepted_at.append(0)
        for i in range(min(accepted + 1, k)):
            self.tested_at[i] += 1
            self.accepted_at[i] += i < accepted

    @property
    def reason(self) -> str | None:
        """Why it does not speculate: the verdict's own sentence; None while it does."""
        return self.verdict.sentence if self.verdict and self.state != "speculating" else None

    @property
    def context_full(self) -> bool:
        """The answer ended because the context has no room for more."""
        return self.finish_reason == "length" and self.context_used >= self.context_limit

    @property
    def tok_s(self) -> float | None:
        """Tokens a second after the first, or None before a second round gave some."""
        if self.ttft_s is None or self.last_s <= self.ttft_s:
            return None
        return self.later_tokens / (self.last_s - self.ttft_s)

    @property
    def acceptance_rate(self) -> float | None:
        """accepted / drafted"""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def acceptance_length(self) -> float | None:
        """Tokens a speculative round: 1 + accepted / rounds."""
        return 1 + self.accepted / self.rounds if self.rounds else None

    @property
    def acceptance_by_position(self) -> list[float | None]:
        """accepted / tested at each position of a draft; None where none was tested."""
        pairs = zip(self.accepted_at, self.tested_at, strict=True)
        return [accepted / tested if tested else None for accepted, tested in pairs]

    def speculation(self) -> dict[str, Any]:
        """The `speculation` object of `ask --json`. What is not measured yet is null or empty."""
        verdict = self.verdict
        facts = verdict.facts if verdict else {}
        return {
            "state": self.state,
            "reason": self.reason,
            "source": self.source,
            "rounds": self.rounds,
            "drafted": self.drafted,
            "accepted": self.accepted,
            "acceptance_rate": self.acceptance_rate,
            "acceptance_length": self.acceptance_length,
            "acceptance_by_position": self.acceptance_by_position,
            "k_histogram": {str(k): n for k, n in sorted(self.k_histogram.items())},
            "speedup": facts.get("speedup"),
            "predicted": facts.get("predicted"),
            "verify_cost": {str(m): cost for m, cost in (facts.get("verify_cost") or {}).items()},
            "serial_index": facts.get("serial_index"),
            "expected_kernel": self.kernel,
            "verdict": verdict
            and {"kind": verdict.kind, "cause": verdict.cause, "sentence": verdict.sentence},
        }

    def exactness(self) -> dict[str, Any]:
        """The `exactness` object of `ask --json`: what strict exactness measured and cost."""
        mode = "fast" if self.band is None else "strict"
        return {"mode": mode, "band": self.band, "reverified": self.reverified, "replayed": self.replayed}

    def memory(self) -> dict[str, int]:
        """The `memory` object of `ask --json`, in bytes."""
        return {
            "target_bytes": self.target_bytes,
            "draft_bytes": self.draft_bytes,
            "kv_bytes": self.kv_bytes,
            "peak_bytes": self.peak_bytes,
        }

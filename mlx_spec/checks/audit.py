"""The audit: plain and speculative decoding on one pair, compared token by token on this machine.

Token ids in, findings out. A difference is a tie if rounding noise, measured here, can explain it,
and a bug if not. A difference ends the comparison of its prompt: what follows differs by right.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

import mlx.core as mx

from mlx_spec.caches import CachedModel
from mlx_spec.checks import lawcheck
from mlx_spec.checks.exactness import near_tie_band, row_noise
from mlx_spec.checks.lawcheck import LawCheck
from mlx_spec.drafts.base import DraftSource
from mlx_spec.engine import Engine
from mlx_spec.errors import SpecError
from mlx_spec.law.noise import Noise
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import EngineOptions, Limits, Sampling
from mlx_spec.policy.auto import k_max
from mlx_spec.turns.reading import chunk_size

Kind = Literal["tie", "bug"]
SITES = 4  # rounds whose rows the sampled check takes, each from another prompt


@dataclass(frozen=True)
class Divergence:
    """Where two answers part.

    Attributes:
        position: index in the answer.
        plain: plain decoding's token there; an end token if it ended.
        speculative: the other token, likewise.
        margin: between plain's two top logits there, penalties applied.
        distance: how much the logit of `speculative` would have to rise for plain decoding to take
            it. Up to the band, noise explains the difference.
    """

    position: int
    plain: int
    speculative: int
    margin: float
    distance: float


@dataclass(frozen=True)
class PromptAudit:
    """One prompt's findings.

    Attributes:
        prompt_tokens: of the prompt.
        compared: tokens of the answer that are the same.
        rounds: speculative rounds; `drafted` tokens verified in them, `accepted` of which stand.
        divergence: None if the answers are identical.
        cache_gap: largest difference of a next-token logit between the speculative run's own cache
            and a fresh reading of what it committed; infinite if the cache has another length.
    """

    prompt_tokens: int
    compared: int
    rounds: int
    drafted: int
    accepted: int
    divergence: Divergence | None
    cache_gap: float


class Audit:
    """Compares decoding with `source` to plain decoding, prompt by prompt.

    Attributes:
        noise: by number of rows M, the largest difference yet of a logit between M rows at once and
            one at a time.
        sampling: of the compared runs: greedy, or seed-exact with a seed.
        law: of the sampled check; None when the options are greedy.
        options: with the K that is used.
    """

    def __init__(
        self, target: Any, source: DraftSource, options: EngineOptions, sampling: Sampling, tokens: int
    ) -> None:
        """Args:
        target: as for `Engine`.
        source: what drafts.
        options: K "auto" becomes the largest K that auto tries.
        sampling: sampled and not seed-exact compares greedy runs, and checks the law besides.
        tokens: of each answer, at most.

        Raises:
            SpecError: this pair does not speculate, so there is nothing to compare.
        """
        k = k_max(source.free) if options.k == "auto" else int(options.k)
        self.options = replace(options, k=k)
        self._plain = Engine(target, None, **asdict(replace(self.options, exactness="fast")))
        self._speculative = Engine(target, source, **asdict(self.options))
        if self._speculative.metrics.state == "off":
            raise SpecError(
                f"Nothing to compare. {self._speculative.verdict.sentence}",
                "Choose a draft source and a K of at least 1, or another model.",
            )
        self._source = source
        self._k = k
        self._limits = Limits(max_tokens=tokens)
        self._ends = sorted(target.tokenizer.eos_token_ids)
        self.law = None if sampling.greedy else sampling
        if not sampling.greedy and not sampling.seed_exact:
            sampling = replace(sampling, temperature=0.0)
        elif sampling.seed is None:
            sampling = replace(sampling, seed=Noise().seed)
        self.sampling = sampling
        self.noise: dict[int, float] = dict.fromkeys(sorted({2, k + 1}), 0.0)
        self._answers: list[tuple[list[int], list[int]]] = []
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End soon; the prompt under way is dropped. May be called from any thread."""
        self._stopped.set()
        self._plain.stop()
        self._speculative.stop()

    @property
    def band(self) -> float:
        """The distance up to which the noise measured so far explains a difference."""
        return near_tie_band(list(self.noise.values()))

    def kind(self, divergence: Divergence) -> Kind:
        """Tie or bug; strict exactness leaves no ties."""
        strict = self.options.exactness == "strict" and self.sampling.greedy
        return "tie" if divergence.distance <= self.band and not strict else "bug"

    def caches_agree(self, found: PromptAudit) -> bool:
        """Whether the cache after that prompt equals a fresh one, within the band."""
        return found.cache_gap <= self.band

    def compare(self, prompt: Sequence[int]) -> PromptAudit | None:
        """Answer `prompt` both ways; None if the audit was stopped meanwhile.

        Raises:
            SpecError: the engine refuses the prompt.
        """
        prompt = list(prompt)
        plain = self._answer(self._plain, prompt)
        self._plain.close()
        speculative = self._answer(self._speculative, prompt)
        metrics = self._speculative.metrics
        if not self._stopped.is_set():
            gap = self._cache_gap(prompt, speculative)
        self._speculative.close()
        for rows in self.noise:
            if not self._stopped.is_set():
                measured = row_noise(
                    self._plain.session.target.model, prompt + plain, rows, self.options.kv_bits
                )
                self.noise[rows] = max(self.noise[rows], measured)
        if self._stopped.is_set():
            return None
        divergence = self._divergence(prompt, plain, speculative)
        self._answers.append((prompt, plain))
        return PromptAudit(
            prompt_tokens=len(prompt),
            compared=divergence.position if divergence else len(plain),
            rounds=metrics.rounds,
            drafted=metrics.drafted,
            accepted=metrics.accepted,
            divergence=divergence,
            cache_gap=gap,
        )

    def check_law(self, plays: int = lawcheck.PLAYS) -> LawCheck | None:
        """Check the rule on rows of the prompts compared so far; None if greedy or stopped."""
        if self.law is None:
            return None
        model = self._plain.session.target.model
        sites = []
        for prompt, answer in self._answers:
            if self._stopped.is_set():
                return None
            sampler = self._plain.sampler(self.law, len(prompt))
            target = CachedModel(model, self.options.kv_bits)
            site = lawcheck.find_site(target, self._source, sampler, prompt, answer, self._k)
            sites += [site] if site else []
            if len(sites) == SITES:
                break
        found = lawcheck.check(sites, Noise(self.law.seed), plays, self._stopped.is_set)
        return None if self._stopped.is_set() else found

    def _answer(self, engine: Engine, prompt: list[int]) -> list[int]:
        tokens: list[int] = []
        for event in engine.generate(prompt, self.sampling, self._limits):
            tokens += event.tokens
            if self._stopped.is_set():
                engine.stop()
        return tokens

    def _cache_gap(self, prompt: list[int], answer: list[int]) -> float:
        session, used = self._speculative.session, self._speculative.session.target
        text = prompt + answer
        rows = len(text) - 1
        if session.committed != text or used.rows != rows or not used.in_step:
            return float("inf")
        fresh = CachedModel(used.model, self.options.kv_bits)
        fresh.prefill(prompt[:-1], chunk_size(self.options, used.model))
        fresh.prefill(text[len(prompt) - 1 : -1], chunk=self._k + 1)
        pending = mx.array(text[-1:])
        gap = used.forward(pending).astype(mx.float32) - fresh.forward(pending).astype(mx.float32)
        return cast(float, mx.abs(gap).max().item())

    def _divergence(self, prompt: list[int], plain: list[int], speculative: list[int]) -> Divergence | None:
        if plain == speculative:
            return None
        at = 0
        while at < min(len(plain), len(speculative)) and plain[at] == speculative[at]:
            at += 1
        text = prompt + plain[:at]
        logits = self._plain_logits(prompt, plain[:at])
        sampler = self._plain.sampler(self.sampling, len(prompt))
        scores = sampler.scores(logits, text)[0]
        top = mx.topk(scores, 2)
        ended = cast(int, sampler.tokens(logits, text).item())
        # An answer that ended there took some end token; the likeliest is held to be it.
        ends = [speculative[at]] if at < len(speculative) else self._ends
        taken = max(ends, key=lambda token: cast(float, scores[token].item())) if ends else ended
        return Divergence(
            position=at,
            plain=plain[at] if at < len(plain) else ended,
            speculative=taken,
            margin=cast(float, mx.abs(top[0] - top[1]).item()),
            distance=_distance(sampler, logits, text, taken),
        )

    def _plain_logits(self, prompt: list[int], answer: list[int]) -> mx.array:
        """(1, V) the logits after `answer`, from rows that plain decoding would have made."""
        target = CachedModel(self._plain.session.target.model, self.options.kv_bits)
        target.prefill(prompt[:-1], chunk_size(self.options, target.model))
        logits = target.forward(mx.array(prompt[-1:]))
        for token in answer:
            mx.eval(logits)
            logits = target.forward(mx.array([token]))
        return logits


def _distance(sampler: Sampler, logits: mx.array, text: list[int], token: int) -> float:
    """How much the logit of `token` would have to rise for `sampler` to take it, to 1e-3 of that."""
    if sampler.greedy:
        scores = sampler.scores(logits, text)[0]
        return cast(float, (scores.max() - scores[token]).item()) / sampler.sampling.stretch

    def takes(rise: float) -> bool:
        raised = logits.astype(mx.float32).at[0, token].add(rise)
        return cast(int, sampler.tokens(raised, text).item()) == token

    if takes(0.0):
        return 0.0
    low, high = 0.0, 1e-6
    while not takes(high):
        low, high = high, 2 * high
        if high > 1e6:
            return float("inf")
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if takes(middle) else (middle, high)
    return high

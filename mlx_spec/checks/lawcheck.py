"""Does the acceptance rule keep the target's law on this pair's own rows? A test with its power stated.

One real round gives real rows: the target's K+1 and, from a sampling source, the source's K. Held
fixed, they are a target and a source without memory, whose law is known: token j of a round, with the
target's own draws after the round's end, follows row j. The real rule plays that many times, with
real noise and no further forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import mlx.core as mx
import numpy as np

from mlx_spec.caches import CachedModel
from mlx_spec.checks import chisquare
from mlx_spec.drafts.base import DraftSource
from mlx_spec.law import acceptance
from mlx_spec.law.noise import Noise
from mlx_spec.law.sampling import Sampler
from mlx_spec.turns.reading import Reading

PLAYS = 10_000  # of each round
AT_ONCE = 64  # plays evaluated together
HEAD = 32  # tokens of each row that stay apart; all others are pooled into one
LEVEL = 1e-4  # chance that a right rule fails any of the tests
POWER = 0.95  # chance that the stated deviation is noticed


@dataclass(frozen=True)
class Site:
    """One round's laws, over the tokens that matter there and one that stands for all others.

    Attributes:
        p: (K+1, V') the target's.
        q: (K, V') the source's, or None for a draft that needs no law.
        drafted: (K,) its tokens.
    """

    p: mx.array
    q: mx.array | None
    drafted: mx.array


@dataclass(frozen=True)
class LawCheck:
    """What the test found.

    Attributes:
        rule: "block" or "match".
        sites: rounds whose rows were taken.
        plays: times that each was played.
        tests: laws compared, one a row with more than one likely token.
        p_value: the least, times `tests` (Bonferroni); None without a test.
        detectable: total variation of one row's law, rare tokens pooled, noticed with chance `POWER`.
        accepted: mean of accepted / drafted over the plays; None without a site.
    """

    rule: str | None
    sites: int
    plays: int
    tests: int
    p_value: float | None
    detectable: float | None
    accepted: float | None

    @property
    def fits(self) -> bool:
        return self.p_value is None or self.p_value >= LEVEL


def find_site(
    target: CachedModel, source: DraftSource, sampler: Sampler, prompt: list[int], answer: list[int], k: int
) -> Site | None:
    """The rows of one round somewhere in `answer`: of the places where the source drafts anything, the
    one where the target is least sure. None if there is no such place.

    Args:
        target: with an empty cache, and left so.
        source: left without a proposal.
        sampler: of answers to `prompt`.
        prompt: at least one token.
        answer: what followed it.
        k: draft tokens.
    """
    text = prompt + answer
    for length in _by_entropy(target, sampler, text, len(prompt)):
        committed = text[:length]
        source.begin(committed, sampler)
        source.catch_up(Reading(chunk=512))
        draft = source.propose(k)
        source.commit([], 0)
        if len(draft):
            target.prefill(committed[:-1], chunk=512)
            fed = mx.concatenate([mx.array(committed[-1:], dtype=mx.uint32), draft.tokens.astype(mx.uint32)])
            p = sampler.laws(target.forward(fed), committed, draft.tokens)
            site = _site(p, draft.laws, draft.tokens)
            target.reset()
            return site
    return None


def _by_entropy(target: CachedModel, sampler: Sampler, text: list[int], start: int) -> list[int]:
    """Lengths of the beginnings of `text` from `start` on, by the entropy of the next token, falling."""
    logits = target.forward(mx.array(text))[start - 1 :]
    laws = sampler.laws(logits, text[:start], mx.array(text[start:], dtype=mx.uint32))
    entropy = -(laws * mx.log(mx.maximum(laws, 1e-30))).sum(axis=-1)
    order = cast(list[int], mx.argsort(-entropy).tolist())
    target.reset()
    return [start + i for i in order]


def _site(p: mx.array, q: mx.array | None, drafted: mx.array) -> Site:
    rows = np.array(p if q is None else mx.concatenate([p, q]), dtype=np.float64)
    head = min(HEAD, rows.shape[1])
    likeliest = np.argpartition(-rows, head - 1, axis=-1)[:, :head]
    kept = np.union1d(likeliest, np.array(drafted))
    others = 1 - rows[:, kept].sum(axis=-1, keepdims=True)
    others[others < 1e-6] = 0  # left by rounding
    small = np.concatenate([rows[:, kept], others], axis=-1)
    laws = mx.array(small / small.sum(axis=-1, keepdims=True), dtype=mx.float32)
    places = mx.array(np.searchsorted(kept, np.array(drafted)), dtype=mx.uint32)
    return Site(laws[: len(p)], None if q is None else laws[len(p) :], places)


def play(
    site: Site, plays: int, dice: Noise, stopped: Callable[[], bool] = lambda: False
) -> tuple[np.ndarray, np.ndarray]:
    """Play the rule on a site's laws.

    Returns:
        accepted (plays,), and (plays, K+1) tokens: what the round emitted and then, from the law of
        each later row, what plain decoding would have gone on with. Fewer plays if `stopped`.
    """
    k = len(site.drafted)
    blocks: list[np.ndarray] = []
    for start in range(0, plays, AT_ONCE):
        if stopped():
            break
        results = []
        for i in range(start, min(start + AT_ONCE, plays)):
            if site.q is None:
                drafted = site.drafted
                n, token = acceptance.match(dice.draw_at(site.p, (k + 1) * i), drafted, mx)
            else:
                drafted = dice.draw(site.q)
                n, token = acceptance.block(site.p, site.q, drafted, dice, mx)
            ids = [drafted.astype(mx.uint32), n.astype(mx.uint32)[None], token.astype(mx.uint32)[None]]
            results.append(mx.concatenate(ids))
        blocks.append(np.array(mx.stack(results)).astype(np.int64))
    outcomes = np.concatenate(blocks) if blocks else np.zeros((0, k + 2), dtype=np.int64)
    accepted = outcomes[:, k]
    tokens = _go_on(site, len(outcomes), dice.seed)
    for j in range(k):
        tokens[:, j] = np.where(j < accepted, outcomes[:, j], tokens[:, j])
    tokens[np.arange(len(outcomes)), accepted] = outcomes[:, k + 1]
    return accepted, tokens


def _go_on(site: Site, plays: int, seed: int) -> np.ndarray:
    """(plays, K+1) tokens, each drawn from its row of the target, by other noise than the rule's."""
    random = np.random.default_rng(seed)
    columns = []
    for row in np.array(site.p, dtype=np.float64):
        columns.append(random.choice(len(row), size=plays, p=row / row.sum()))
    return np.stack(columns, axis=-1)


def check(
    sites: Sequence[Site], dice: Noise, plays: int = PLAYS, stopped: Callable[[], bool] = lambda: False
) -> LawCheck:
    """Play every site, and compare the law of each token with its row."""
    fits: list[chisquare.Fit] = []
    shares: list[float] = []
    made = 0
    for site in sites:
        accepted, tokens = play(site, plays, dice, stopped)
        if stopped():
            break
        made += 1
        shares.append(float(accepted.mean()) / len(site.drafted))
        for row, column in zip(np.array(site.p, dtype=np.float64), tokens.T, strict=True):
            fits.append(chisquare.fit(np.bincount(column, minlength=len(row)), row))
    tests = [each for each in fits if each.bins != 1]
    rule = None
    if made:
        rule = "match" if sites[0].q is None else "block"
    widest = max((each.bins for each in tests), default=0)
    return LawCheck(
        rule=rule,
        sites=made,
        plays=plays if made else 0,
        tests=len(tests),
        p_value=min(1.0, min(each.p_value for each in tests) * len(tests)) if tests else None,
        detectable=chisquare.detectable(widest, plays, LEVEL / len(tests), POWER) if widest > 1 else None,
        accepted=sum(shares) / len(shares) if shares else None,
    )

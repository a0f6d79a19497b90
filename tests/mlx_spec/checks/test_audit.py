"""The audit finds what is broken, tells ties from bugs, and says nothing against what is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from noisy import noisy_target
from readable import PROMPT, READABLE, letters, with_ends, without_ends
from recorded import Recorded
from tiny import tiny_loaded

from mlx_spec import EngineOptions, Sampling, drafts
from mlx_spec.caches import CachedModel
from mlx_spec.checks.audit import Audit
from mlx_spec.drafts.lookup import Lookup
from mlx_spec.errors import SpecError
from mlx_spec.law import acceptance
from mlx_spec.policy.auto import k_max

PROMPTS = [PROMPT, letters("a dog and a cat and a dog")]
SAMPLED = Sampling(temperature=1.0, seed=1)


@pytest.fixture(scope="module")
def target() -> Any:
    return without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))


@pytest.fixture(scope="module")
def noisy() -> Any:
    return noisy_target()


def weak_model(target: Any) -> Any:
    return drafts.model_source(
        target, tiny_loaded("llama", vocab=READABLE, layers=1, seed=9), EngineOptions()
    )


def audit(
    target: Any, source: Any, sampling: Sampling = Sampling(), tokens: int = 24, **options: Any
) -> Audit:
    return Audit(target, source, EngineOptions(**{"k": 4} | options), sampling, tokens)


@pytest.mark.parametrize("make", [weak_model, lambda target: Lookup()], ids=["model", "lookup"])
@pytest.mark.parametrize("kv_bits", [None, 8])
def test_nothing_is_found_where_nothing_is_wrong(target: Any, make: Callable[..., Any], kv_bits: Any) -> None:
    if kv_bits:  # heads of 32 numbers, which a quantized cache needs
        target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6, head_dim=32))
    audited = audit(target, make(target), kv_bits=kv_bits)
    for prompt in PROMPTS:
        found = audited.compare(prompt)
        assert found is not None
        assert (found.divergence, found.compared) == (None, 24)
        assert found.drafted >= found.accepted
        assert audited.caches_agree(found)


def test_auto_is_audited_at_the_k_that_it_tries(target: Any) -> None:
    assert audit(target, Lookup(), k="auto").options.k == k_max(free=True)


def test_a_pair_that_does_not_speculate_is_refused(target: Any) -> None:
    with pytest.raises(SpecError, match="Nothing to compare"):
        audit(target, Lookup(), k=0)


def test_seed_exact_runs_are_compared_as_sampled(target: Any) -> None:
    audited = audit(target, weak_model(target), Sampling(temperature=1.0, seed_exact=True))
    found = audited.compare(PROMPT)
    assert audited.sampling.seed_exact
    assert audited.sampling.seed is not None
    assert found is not None
    assert found.divergence is None


def test_an_end_inside_a_draft_is_compared_too(target: Any) -> None:
    plain = audit(target, Lookup())
    plain.compare(PROMPT)
    (_, answer) = plain._answers[0]
    ending = with_ends(target, answer[6])
    found = audit(ending, Recorded(PROMPT + answer)).compare(PROMPT)
    assert found is not None
    assert found.divergence is None
    assert found.compared == answer.index(answer[6])


def test_noise_gives_ties_under_fast_and_none_under_strict(noisy: Any) -> None:
    fast = audit(noisy, "self", tokens=96)
    strict = audit(noisy, "self", tokens=96, exactness="strict")
    ties = 0
    for prompt in PROMPTS:
        found, strictly = fast.compare(prompt), strict.compare(prompt)
        assert found is not None
        assert strictly is not None
        if found.divergence:
            ties += 1
            assert fast.kind(found.divergence) == "tie"
            assert found.divergence.plain != found.divergence.speculative
            assert found.divergence.margin <= found.divergence.distance <= fast.band
        assert fast.caches_agree(found)
        assert strictly.divergence is None
        assert strict.caches_agree(strictly)
    assert ties
    assert fast.band > 0


def test_under_strict_the_same_tie_is_a_bug(noisy: Any) -> None:
    fast = audit(noisy, "self", tokens=96)
    partings = [
        found.divergence for prompt in PROMPTS if (found := fast.compare(prompt)) and found.divergence
    ]
    fast.options = EngineOptions(k=4, exactness="strict")
    assert partings
    assert {fast.kind(parting) for parting in partings} == {"bug"}


def accepts_anything(drawn: Any, drafted: Any, xp: Any) -> Any:
    return xp.array(len(drafted)), drawn[-1]


def forgets_one(cached: CachedModel, rows: int) -> None:
    """Rolls back, but leaves the keys of the rejected rows where the kept ones end."""
    surplus = cached.rows - rows
    for layer in cached.layers:
        if surplus > 0 and rows:
            layer.keys[..., rows - 1, :] = layer.keys[..., rows, :]
            layer.trim(surplus)
    if surplus > 0:
        cached.rows = rows


@pytest.mark.parametrize("noise", [False, True], ids=["exact", "noisy"])
def test_a_rule_that_accepts_anything_is_a_bug(
    target: Any, noisy: Any, noise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptance, "match", accepts_anything)
    backend = noisy if noise else target
    audited = audit(backend, Recorded(PROMPT + letters("x" * 60)))
    found = audited.compare(PROMPT)
    assert found is not None
    assert found.divergence is not None
    assert audited.kind(found.divergence) == "bug"


def test_a_broken_rollback_is_a_bug(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    audited = audit(target, Recorded(PROMPT + letters("x" * 60)))
    monkeypatch.setattr(CachedModel, "keep", forgets_one)
    found = audited.compare(PROMPT)
    assert found is not None
    assert not audited.caches_agree(found) or (
        found.divergence is not None and audited.kind(found.divergence) == "bug"
    )


def test_a_cache_of_another_length_is_infinitely_far(target: Any) -> None:
    audited = audit(target, Lookup())
    list(audited._speculative.generate(PROMPT))
    assert math.isinf(audited._cache_gap(PROMPT, [5]))


def drops_the_residual(p: Any, q: Any, drafted: Any, dice: Any, xp: Any) -> Any:
    """After a rejection it draws from p itself."""
    stand, _ = acceptance.block_table(p, q, drafted, xp)
    n = (dice.flip(stand) * xp.arange(1, len(drafted) + 1)).max()
    return n, dice.draw(xp.take(p, n, axis=0)[None])[0]


def draws_a_wrong_bonus(p: Any, q: Any, drafted: Any, dice: Any, xp: Any) -> Any:
    n, token = RIGHT(p, q, drafted, dice, xp)
    return n, xp.where(n == len(drafted), xp.argmax(p[-1]), token)


RIGHT = acceptance.block


@pytest.mark.parametrize(
    ("rule", "fits"), [(RIGHT, True), (drops_the_residual, False), (draws_a_wrong_bonus, False)]
)
def test_the_law_of_a_wrong_rule_does_not_fit(
    target: Any, monkeypatch: pytest.MonkeyPatch, rule: Callable[..., Any], fits: bool
) -> None:
    near = drafts.make("self", target, EngineOptions())
    source: Any = near if rule is draws_a_wrong_bonus else weak_model(target)
    audited = audit(target, source, SAMPLED, tokens=8)
    for prompt in PROMPTS:
        audited.compare(prompt)
    monkeypatch.setattr(acceptance, "block", rule)
    law = audited.check_law(plays=2000)
    assert law is not None
    assert (law.rule, law.sites, law.fits) == ("block", 2, fits)
    assert law.detectable is not None
    assert 0 < law.detectable < 0.2


def test_a_lookup_draft_is_judged_by_matching(target: Any) -> None:
    audited = audit(target, Lookup(), SAMPLED, tokens=8)
    audited.compare(PROMPT)
    law = audited.check_law(plays=1000)
    assert law is not None
    assert (law.rule, law.sites, law.fits) == ("match", 1, True)


def test_a_greedy_audit_has_no_law_to_check(target: Any) -> None:
    assert audit(target, Lookup()).check_law() is None


def test_a_stopped_audit_drops_the_prompt_under_way(target: Any) -> None:
    audited = audit(target, Lookup(), SAMPLED)
    audited.stop()
    assert audited.compare(PROMPT) is None
    assert audited.check_law() is None

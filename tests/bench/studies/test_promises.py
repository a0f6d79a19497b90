"""The study of the promises: its source that knows the answer, and what it makes of runs."""

from __future__ import annotations

from bench.prompts import read
from bench.sample import Sample
from bench.studies.promises import BACKENDS, PROMPTS, RIGHT, Recorded, speedups


def test_every_class_of_every_backend_has_prompts() -> None:
    groups = {prompt.group for prompt in read(PROMPTS).prompts}
    assert {name for backend in BACKENDS.values() for name in backend.classes} <= groups


def test_a_recorded_answer_is_proposed_with_errors_and_ends() -> None:
    source = Recorded()
    source.answer = list(range(100, 1100))
    source.begin([1, 2, 3], sampler=None)  # type: ignore[arg-type]
    proposed = source.propose(1000).tokens.tolist()
    right = sum(a == b for a, b in zip(proposed, source.answer, strict=True))
    assert abs(right / 1000 - RIGHT) < 0.05
    source.commit(source.answer[:998], 998)
    assert len(source.propose(4)) == 2
    assert source.in_step([0] * 1001)


def test_a_rewound_source_proposes_the_same_again() -> None:
    source = Recorded()
    source.answer = list(range(100, 120))
    source.begin([1], sampler=None)  # type: ignore[arg-type]
    source.commit([100, 101], 2)
    before = source.propose(3).tokens.tolist()
    source.commit([102, 103], 2)
    source.rewind(2)
    assert source.propose(3).tokens.tolist() == before


def test_a_way_twice_as_fast_as_both_baselines_of_its_blocks_has_speedup_two() -> None:
    def run(block: int, place: int, way: str, seconds: float) -> Sample:
        return Sample(block, place, way, f"p{block}", 0, [seconds / 2, seconds], [1, 9], "")

    samples = [
        run(block, place, way, seconds * (1 + block))
        for block in range(4)
        for place, (way, seconds) in enumerate([("plain", 9.0), ("auto", 5.0), ("plain", 11.0)])
    ]
    found = speedups(samples, {f"p{block}": "prose" if block % 2 else "code" for block in range(4)})
    assert set(found) == {"all", "prose", "code"}
    assert abs(found["all"]["auto"].value - 2) < 1e-9
    assert found["all"]["auto"].low > 1.9

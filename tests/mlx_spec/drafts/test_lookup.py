"""Prompt lookup: longest n-gram first, most recent match, nothing that was taken back."""

from __future__ import annotations

import random

from mlx_spec.drafts.lookup import LONGEST, SHORTEST, Lookup
from mlx_spec.law.sampling import Sampler
from mlx_spec.options import Sampling

SAMPLER = Sampler(Sampling())


def proposed(text: list[int], k: int = 4) -> list[int]:
    source = Lookup()
    source.begin(text, SAMPLER)
    return source.propose(k).tokens.tolist()


def by_search(text: list[int], k: int) -> list[int]:
    """The same by brute force: for each n from long to short, the last earlier occurrence."""
    for n in range(LONGEST, SHORTEST - 1, -1):
        for start in range(len(text) - 1, n - 1, -1):
            if n < len(text) and text[start - n : start] == text[-n:]:
                tail = text[start:]
                return [tail[i % len(tail)] for i in range(k)]
    return []


def test_it_proposes_what_followed_the_same_ending():
    assert proposed([1, 2, 3, 4, 5, 9, 1, 2, 3]) == [4, 5, 9, 1]


def test_the_longest_match_wins_over_a_more_recent_short_one():
    assert proposed([1, 2, 3, 4, 7, 2, 3, 5, 1, 2, 3]) == [4, 7, 2, 3]


def test_the_most_recent_match_of_equal_length_wins():
    assert proposed([8, 2, 3, 4, 9, 2, 3, 5, 6, 2, 3])[0] == 5


def test_a_continuation_that_reaches_the_present_repeats_its_pattern():
    assert proposed([1, 2, 1, 2, 1, 2], k=5) == [1, 2, 1, 2, 1]
    assert proposed([7, 7, 7], k=3) == [7, 7, 7]


def test_nothing_matches_in_new_text():
    assert proposed([1, 2, 3, 4, 5, 6]) == []
    assert proposed([1]) == []
    assert proposed([1, 2]) == []


def test_the_index_kept_token_by_token_equals_a_search_of_the_whole():
    dice = random.Random(0)
    source, text = Lookup(), [0]
    source.begin(text, SAMPLER)
    for _ in range(600):
        if dice.random() < 0.15:
            n = dice.randrange(min(9, len(text)))
            source.rewind(n)
            text = text[: len(text) - n]
        token = dice.randrange(3)
        source.commit([token], 0)
        text.append(token)
        draft = source.propose(5).tokens.tolist()
        assert draft == by_search(text, 5)[: len(draft)]
        assert draft or not by_search(text, 5)


def test_failed_drafts_make_the_next_ones_short_and_drafts_that_stand_make_them_long_again():
    source = Lookup()
    source.begin(list(range(1, 60)), SAMPLER)
    for i, drafted in enumerate((15, 8, 4, 2)):  # a match of two tokens, times the reach
        source.commit([5 * i + 1, 5 * i + 2], 0)
        assert len(source.propose(15)) == drafted
        source.commit([100 + i], 0)
    source.commit([31, 32], 0)
    assert source.propose(15).tokens.tolist() == [33, 34]
    source.commit([33, 34, 35], 2)
    assert len(source.propose(15)) == 10  # five tokens match, and the reach is 2


def test_an_answer_begins_with_long_drafts():
    text = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2]
    source = Lookup()
    source.begin(text, SAMPLER)
    for _ in range(5):
        source.propose(15)
        source.commit([0, 1, 2], 0)
    source.begin(text, SAMPLER)
    assert len(source.propose(15)) == 15


def test_a_rewound_index_is_the_index_of_the_shorter_text():
    long, short = Lookup(), Lookup()
    text = [1, 2, 1, 2, 3, 1, 2, 1, 1, 2, 3]
    long.begin(text, SAMPLER)
    short.begin(text[:5], SAMPLER)
    long.rewind(len(text) - 5)
    assert long._continued == short._continued


def test_a_new_conversation_leaves_nothing_of_the_old_one():
    source = Lookup()
    source.begin([1, 2, 3, 4, 1, 2], SAMPLER)
    source.begin([9, 1, 2], SAMPLER)
    assert len(source.propose(4)) == 0

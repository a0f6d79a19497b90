"""A round in words: what was drafted, what became of it, what the target preferred."""

from __future__ import annotations

from dataclasses import replace

from app.speculation.rounds import RoundLog, headline, shown_p, token_lines, visible, words
from mlx_spec.events import Details, Drafted, Round, Token

OVER = Token(7, " over", 0.812)
DETAILS = Details(
    (
        Drafted(5, " fox", 0.93, 0.88, Token(5, " fox", 0.93)),
        Drafted(6, " above", 0.04, 0.51, OVER),
        Drafted(9, "\n\x1b[2J", 0.0004, 1.0, Token(8, " the", 0.9999)),
    ),
    OVER,
    OVER,
    "warped",
)
SPECULATIVE = Round(
    [5, 7], ["draft:lookup", "target"], [("draft:lookup", " fox"), ("target", " over")], 3, 1, None, DETAILS
)


def plain(text: str) -> Round:
    return Round([1], ["plain"], [("plain", text)])


def log(*rounds: Round) -> RoundLog:
    made = RoundLog()
    made.begin()
    for each in rounds:
        made.add(each)
    return made


def test_every_token_has_its_fate_its_probabilities_and_what_the_target_preferred() -> None:
    entry = log(plain("The quick"), SPECULATIVE).entries[-1]
    assert words(entry) == [
        "Answer 1, round 2: 3 drafted, 1 accepted, then a correction.",
        "Before: “The quick”",
        "✓ “ fox” accepted, p 0.930, q 0.880",
        "✗ “ above” rejected, p 0.040, q 0.510, the target preferred “ over”, p 0.812",
        "· “⏎␛[2J” fell with the one before, p <0.001, q 1.000, the target preferred “ the”, p >0.999",
        "▸ “ over” the target's own, p 0.812",
        "p: the target's probability after temperature and filters; q: the draft's own",
    ]


def test_plain_steps_in_a_row_are_one_entry_and_answers_do_not_mix() -> None:
    made = log(plain("a"), plain("b"), plain("c"))
    made.begin()
    made.add(plain("d"))
    first, second = made.entries
    assert (first.steps, first.text, headline(first)) == (
        3,
        "abc",
        "Answer 1, steps 1 to 3: plain, nothing was drafted",
    )
    assert headline(second) == "Answer 2, step 1: plain, nothing was drafted"
    assert second.before == ""


def test_all_accepted_is_followed_by_the_bonus() -> None:
    entry = log(Round([1, 2], [], [], 1, 1)).entries[0]
    assert headline(entry) == "Answer 1, round 1: 1 drafted, 1 accepted, then the bonus"
    assert list(token_lines(entry)) == [], "nobody asked for the details"


def test_a_log_forgets_its_oldest_rounds() -> None:
    made = log(*[SPECULATIVE] * (RoundLog.MOST + 5))
    assert len(made.entries) == RoundLog.MOST
    assert made.entries[0].number == 6
    assert len(made.entries[-1].before) == RoundLog.BEFORE


def test_no_probability_is_shown_as_sure_or_impossible_that_is_not() -> None:
    assert [shown_p(p) for p in (0.0, 1e-9, 0.5, 0.9995, 1.0, None)] == [
        "0.000",
        "<0.001",
        "0.500",
        ">0.999",
        "1.000",
        "-",
    ]


def test_a_token_moves_no_cursor() -> None:
    assert visible("a\tb\x1b[2J\u009b") == "a⇥b␛[2J\\x9b"


def test_a_draft_that_strict_exactness_decides_again_is_not_called_rejected() -> None:
    fox = Token(5, " fox", 0.5)
    details = Details((Drafted(5, " fox", 0.5, 1.0, fox),), fox, fox, "softmax")
    again, token = token_lines(log(Round(k=1, accepted=0, tokens=[5], details=details)).entries[0])
    assert (again.fate, token.fate) == ("again", "token")
    assert "too near to tell, so a plain step decided" in again.words


def test_an_answer_leads_to_its_first_round_with_drafts_or_else_to_its_plain_steps() -> None:
    made = RoundLog()
    for message_id, rounds in ((7, (plain("The"), SPECULATIVE)), (8, (plain("x"),)), (7, (SPECULATIVE,))):
        made.begin(message_id)
        for each in rounds:
            made.add(each)
    assert [made.first(message_id) for message_id in (7, 8, 9)] == [1, 2, None]


def test_drafts_where_the_answer_ended_count_as_little_as_in_the_status() -> None:
    """The engine counts up to the end; what lies behind it is shown, and neither accepted nor rejected."""
    last = replace(SPECULATIVE, k=1, accepted=1, finish_reason="stop")
    entry = log(last).entries[-1]
    assert headline(entry) == "Answer 1, round 1: 1 drafted, 1 accepted, then the end"
    assert [line.fate for line in token_lines(entry)] == ["accepted", "past", "past", "token"]
    assert words(entry)[3].startswith("⊣ “ above” where the answer ended, or after it")

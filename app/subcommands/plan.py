"""Predict how fast a pair of models would be on a chip, before anything is downloaded."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from app.answer import dump
from app.display import neutralise
from app.errors import UsageError, did_you_mean
from app.settings import config
from models import curves, plan
from models.curves import Chip
from models.range import Range
from models.size import Size, size_of

LOOKUP = "lookup"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="7B@4bit, org/Qwen2.5-7B-Instruct-4bit, or a model")
    parser.add_argument("source", metavar="DRAFT", help="0.5B@4bit and the like, or lookup")
    parser.add_argument("--chip", metavar="NAME", help='such as "M4 Pro"')
    model, lookup = plan.UNSTATED_ACCEPTANCE, plan.UNSTATED_LOOKUP
    parser.add_argument(
        "--acceptance",
        metavar="P[,P...]",
        help="probability that a draft token is accepted if those before it were; one for all positions, "
        f"or one each, the last for the rest (unstated: {model.mid}, between {model.low} and {model.high}; "
        f"of lookup {lookup.mid:g}, between {lookup.low:g} and {lookup.high:g})",
    )
    parser.add_argument(
        "--curve", metavar="ID", help=f"take this verification curve: {', '.join(curves.curve_ids())}"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def run(args: argparse.Namespace, given: config.Given) -> int:
    settings = config.read(given)
    chip = _chip(args.chip)
    hazards = _hazards(args.acceptance)
    curve = _curve(args.curve)
    target = size_of(args.target)
    draft = None if args.source == LOOKUP else size_of(args.source.removeprefix("model:"))
    expected = curves.expectation(chip, target, curve)
    found = plan.predict(target, draft, chip, expected, hazards, settings.context or 0)
    rests = [*_sizes(target, draft), *expected.notes]
    unknown = _unknown(target, draft, hazards, settings.context)
    if args.json:
        sys.stdout.write(
            dump(
                {
                    "target": _size_object(target),
                    "draft": _size_object(draft) if draft else LOOKUP,
                    "chip": chip.name,
                    "bandwidth": chip.bandwidth,
                    "acceptance": hazards,
                    "prediction": found.as_object(),
                    "sentence": _sentence(found),
                    "rests_on": rests,
                    "unknown": unknown,
                }
            )
        )
        return 0
    sys.stdout.write(neutralise(_text(target, draft, chip, found, rests, unknown)))
    return 0


def _chip(name: str | None) -> Chip:
    known = curves.chip_names()
    if name is None:
        raise UsageError("A plan needs a chip.", f"Name one with --chip: {', '.join(known)}.")
    chip = Chip.parse(name)
    if chip is None:
        raise UsageError(f"Nothing is known of a chip {name[:40]!r}.", f"Known: {', '.join(known)}.")
    return chip


def _curve(name: str | None) -> str | None:
    known = curves.curve_ids()
    if name is not None and name not in known:
        raise UsageError(
            f"There is no curve {name!r}.", did_you_mean(name, known) or f"One of: {', '.join(known)}."
        )
    return name


def _hazards(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        hazards = [float(word) for word in text.split(",")]
    except ValueError:
        hazards = [-1.0]
    if not all(0 <= a <= 1 for a in hazards):
        raise UsageError(
            f"--acceptance must be probabilities from 0 to 1, not {text[:60]!r}.",
            "Write one, such as 0.7, or one a position, such as 0.8,0.7,0.6.",
        )
    return hazards


def _size_object(size: Size) -> dict[str, Any]:
    return {
        "name": size.name,
        "bytes": size.nbytes,
        "bytes_a_token": size.read,
        "storage": size.storage.name,
        "experts": size.experts,
        "kv_bytes_a_token": size.kv_bytes,
        "how": size.how,
    }


def _sizes(target: Size, draft: Size | None) -> list[str]:
    return [
        f"{role} {size.name}: {size.nbytes / 1e9:.2f} GB, {size.how}."
        for role, size in (("Target", target), ("Draft", draft))
        if size
    ]


def _unknown(target: Size, draft: Size | None, hazards: list[float] | None, context: int | None) -> list[str]:
    sentences = []
    if hazards is None:
        usual = plan.unstated(draft)
        depends = "pair and the text" if draft else "text: nearly nothing of new prose, nearly all of a copy"
        sentences.append(
            f"Acceptance: {usual.mid:g} is assumed, between {usual.low:g} and {usual.high:g}. It depends on "
            f"the {depends}; `specchat bench` measures it."
        )
    else:
        sentences.append("Whether your texts are accepted as you stated; the ranges take it as given.")
    if draft is None:
        sentences.append("How often lookup finds something: often in copies and edits, seldom in free prose.")
    if context and target.kv_bytes is None:
        sentences.append("The KV cache: a name does not tell its size, so --context changes nothing.")
    elif not context:
        sentences.append(
            "A long context: it slows plain decoding, drafts and verification (--context N adds it)."
        )
    sentences.append(
        "Your versions, macOS, heat, other load, whether "
        + (
            "both models fit into memory, and whether they share a tokenizer."
            if draft
            else "the model fits into memory."
        )
    )
    return sentences


def _sentence(found: plan.Plan) -> str:
    top = plan.fastest(found.rows)
    if found.verdict == "pays":
        first, *others = (row for row in found.rows if row.k in found.best)
        alike = f"; K={', '.join(str(row.k) for row in others)} cannot be told from it" if others else ""
        return (
            f"Speculation should pay: about {_about(first.speedup, 'x')} at K={first.k}{alike}. "
            f"What limits it most is {found.cause}."
        )
    cost = (
        f"{top.k + 1} rows are expected to cost {_span(top.rows_cost)} plain tokens, "
        f"a draft {_span(found.c)} of one, and a round brings {_span(top.length)}"
    )
    if found.verdict == "loses":
        return f"Speculation should lose at every K: {cost}. The cause is {found.cause}."
    lean = "more likely yes" if top.speedup.mid > 1 else "more likely no"
    return (
        f"Whether speculation pays cannot be told ({lean}, about {_about(top.speedup, 'x')} at K={top.k}): "
        f"{cost}. What matters most is {found.cause}. Measure it: `specchat bench`."
    )


def _span(numbers: Range) -> str:
    if numbers.high - numbers.low < 0.005:
        return f"{numbers.mid:.2f}"
    return f"{numbers.low:.2f} to {numbers.high:.2f}"


def _about(numbers: Range, unit: str = "") -> str:
    likeliest = f"{numbers.mid:.2f}"
    span = _span(numbers)
    return likeliest + unit + (f" ({span})" if span != likeliest else "")


def _text(
    target: Size, draft: Size | None, chip: Chip, found: plan.Plan, rests: list[str], unknown: list[str]
) -> str:
    lines = [
        f"{target.name} ({target.storage.name}) with {draft.name if draft else LOOKUP} on {chip.name}: "
        "a prediction, nothing was measured.",
        "",
        f"plain decoding  {found.plain.mid:.1f} tok/s ({found.plain.low:.1f} to {found.plain.high:.1f}); "
        f"{chip.bandwidth / 1e9:.0f} GB/s allow {found.limit:.1f}",
        f"drafting        one token costs {_span(found.c)} of a plain one",
        "",
        f"  K  {'V(K+1)':<22}{'length':<22}{'speedup':<24}pays from",
    ]
    for row in found.rows:
        lines.append(
            f"  {row.k}  {_about(row.rows_cost):<22}{_about(row.length):<22}{_about(row.speedup, 'x'):<24}"
            + ("never" if row.break_even is None else f"{row.break_even:.2f}")
        )
    lines += [
        "",
        "V(K+1): cost of verifying K drafts in plain tokens. Length: tokens a round.",
        "Pays from: the acceptance at which the likeliest speedup is 1.",
        "",
        _sentence(found),
        "",
        "It rests on",
        *(f"- {sentence}" for sentence in rests),
        "",
        "It does not know",
        *(f"- {sentence}" for sentence in unknown),
    ]
    return "\n".join(lines) + "\n"

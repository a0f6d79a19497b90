"""Verdicts in words. Numbers come from measurements; what the device is may explain, and never decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SELDOM = 0.5  # a source that proposes in fewer of its steps is said to


def lacks_proposals(facts: Mapping[str, Any]) -> bool:
    """Whether the source has had nothing to propose, or seldom."""
    return not facts["tested"] or facts["proposal_rate"] < SELDOM


def off(reason: str) -> str:
    """Speculation is off."""
    return f"Speculation is off: {reason}."


def measuring(facts: Mapping[str, Any], now: str) -> str:
    """Not known yet."""
    speedup = facts["speedup"]
    so_far = f" So far it runs at {_interval(speedup)}." if speedup else ""
    return f"Measuring whether speculation pays.{so_far}{_rests(facts, now)}"


def paying(facts: Mapping[str, Any], now: str) -> str:
    """It pays."""
    speedup = facts["speedup"]
    gain = _interval(speedup) if speedup else f"{facts['predicted']:.2f}x plain decoding by prediction"
    if now == "parked":
        return f"Speculation pays where it is used: {gain}.{_rests(facts, now)}"
    tokens = f"A round of K={facts['k']} gives {facts['round_tokens']:.1f} tokens."
    again = " On this part of the text that is being measured again." if now == "measuring" else ""
    return f"Speculation pays: {gain}. {tokens}{again}"


def _rests(facts: Mapping[str, Any], now: str) -> str:
    """What is done at the moment, where nothing was decided for good."""
    if now != "parked":
        return ""
    if facts["unread"]:
        return f" For now it is parked: the source would first have to read {facts['unread']} tokens."
    if facts["predicted"] is None or facts["predicted"] >= 1:
        return " For now it is parked but for a try now and then."
    return (
        f" For now it is parked but for a try now and then, as K={facts['k']} is predicted to run at "
        f"{facts['predicted']:.2f}x."
    )


def unread(facts: Mapping[str, Any]) -> str:
    """Parked, since the source has missed too much text."""
    return (
        f"The draft source would first have to read {facts['unread']} tokens, which takes more time than may "
        "be lost, so speculation is off. A smaller draft model reads faster, and lookup reads nothing."
    )


def blame(cause: str | None, kind: str, facts: Mapping[str, Any], device: Mapping[str, Any], now: str) -> str:
    """Parked, or slower at a fixed K: the cause, what was done, what would help."""
    parts = [_cause(cause, facts, device), done(kind, facts, now), advice(cause, facts, device)]
    if cause != "verification" and facts["serialized"]:
        parts.insert(1, f"Verification is serialized besides: {_rows(facts)}.")
    return " ".join(part for part in parts if part)


def _interval(speedup: Mapping[str, float]) -> str:
    return f"{speedup['value']:.2f}x plain decoding ({speedup['low']:.2f} to {speedup['high']:.2f})"


def _rows(facts: Mapping[str, Any]) -> str:
    return f"{facts['rows']} rows cost {facts['rows_cost']:.1f}x one row"


def _backend(device: Mapping[str, Any]) -> str:
    known = [str(device["quantization"])] if device.get("quantization") else []
    known += [f"GPU generation {device['generation']}"] if device.get("generation") else []
    return " on this backend" + (f" ({', '.join(known)})" if known else "")


def _cause(cause: str | None, facts: Mapping[str, Any], device: Mapping[str, Any]) -> str:
    k, tokens, cost = facts["k"], facts["round_tokens"], facts["round_cost"]
    if cause == "verification" and facts["serialized"]:
        return f"Verification is serialized: {_rows(facts)}{_backend(device)}."
    if cause == "verification" and facts["rows_cost"] is not None:
        return f"Verification is dear: {_rows(facts)}{_backend(device)}."
    if cause == "cliff":
        before, after = facts["cliff_costs"]
        return (
            f"Verification has a cliff: row {facts['cliff']} raises its cost from {before:.1f}x "
            f"to {after:.1f}x one row."
        )
    if cause == "draft":
        return f"The draft is too slow: a drafted token takes {facts['draft_cost']:.2f}x a row of the target."
    if cause in ("acceptance", None) and not facts["tested"]:
        return "No draft has been tested on this text yet: the source had nothing to propose."
    if cause == "acceptance" and lacks_proposals(facts):
        return f"The source has something to propose in {facts['proposal_rate']:.0%} of the steps only."
    if cause == "acceptance":
        return (
            f"Too few drafts are accepted: a round of K={k} gives {tokens:.1f} tokens "
            f"and costs {cost:.1f} plain steps."
        )
    if cause == "overhead":
        return f"The model is so fast that a round's own work weighs {facts['overhead']:.1f}x one row."
    if cause == "context":
        return (
            f"The context is too long: at {facts['depth']} tokens a round of K={k} costs {cost:.1f} plain "
            f"steps, at {facts['shallow_depth']} it costs {facts['shallow_round_cost']:.1f}."
        )
    if cost is None:
        return "What a round costs here is not measured."
    return f"A round of K={k} gives {tokens:.1f} tokens and costs {cost:.1f} plain steps."


def done(kind: str, facts: Mapping[str, Any], now: str) -> str:
    """What comes of it, in numbers, and what was done about it."""
    if kind == "slower":
        return f"Speculation at K={facts['k']} runs at {_interval(facts['speedup'])}."
    if not facts["tested"] and (facts["predicted"] or 1) >= 1:
        return "Until there is one, every step is plain decoding's."
    off = "so it is off"
    if facts["tries"]:
        off += ", and is being tried again" if now == "measuring" else " but for a try now and then"
    if facts["predicted"] is None:
        return f"By a guess speculation would not pay, {off}."
    if facts["predicted"] >= 1:
        return f"Speculation brought no gain that could be measured, {off}."
    return f"Speculation would run at {facts['predicted']:.2f}x, {off}."


def advice(cause: str | None, facts: Mapping[str, Any], device: Mapping[str, Any]) -> str:
    """What would help; empty where nothing is known to."""
    if cause == "verification" and facts["serialized"]:
        if device.get("generation") and "affine" in str(device.get("quantization", "")):
            return "A model in mode=mxfp4 or mxfp8 may verify in parallel here."
        return "Another precision of the same model may verify in parallel."
    return {
        "verification": "A source with longer accepted drafts would make up for it.",
        "cliff": "A smaller K stays before it." if (facts["cliff"] or 0) > 2 else "",
        "draft": "A smaller draft model, or lookup, costs less.",
        "acceptance": "Lookup pays on texts that repeat; a draft model of the same family agrees more often.",
        "overhead": "Plain decoding suits a model of this size; speculation pays on larger ones.",
        "context": "A shorter conversation would bring it back.",
    }.get(cause or "", "")

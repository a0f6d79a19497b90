"""`/why`: the verdict in full, with every number behind it, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.thread.events import Snapshot

_DOING = {
    "off": "It is off: every step is plain decoding's.",
    "parked": "At this moment it is parked: K is {k}.",
    "measuring": "At this moment it is being measured: K is {k}.",
    "speculating": "At this moment it speculates: K is {k}.",
}
_IDEALS = {
    "verification": "if verifying more rows cost no more than one",
    "cliff": "if verifying more rows cost no more than one",
    "draft": "if drafting cost nothing",
    "acceptance": "if every draft were accepted",
    "overhead": "if a round had no work besides",
    "context": "at the start of a conversation",
}


def why(snapshot: Snapshot) -> str:
    """All that is known of whether speculation pays here, as paragraphs of plain text.

    Args:
        snapshot: of the latest moment.
    """
    if snapshot.verdict is None:
        return "Nothing is known of speculation yet: the model is not loaded."
    facts = snapshot.verdict.facts
    parts = [
        [snapshot.verdict.sentence],
        [_DOING[snapshot.state].format(k=snapshot.k), *_source(snapshot)],
        _outcome(facts),
        _costs(facts, snapshot),
        _drafts(facts, snapshot),
        _changes(facts),
    ]
    if snapshot.verdict.cause == "user":
        parts.append(["/spec on, or another /draft, would bring it in."])
    return "\n\n".join("\n".join(part) for part in map(list, parts) if part)


def _source(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.source:
        yield f"The draft source is {snapshot.source}."


def _outcome(facts: Mapping[str, Any]) -> Iterator[str]:
    """What comes of it, measured and predicted."""
    speedup = facts.get("speedup")
    if speedup:
        yield (
            f"Measured: {speedup['value']:.2f}x plain decoding where it was used "
            f"(95% interval {speedup['low']:.2f} to {speedup['high']:.2f})."
        )
    elif facts:
        yield "Measured: not enough rounds yet for a speedup with an interval."
    if facts.get("predicted") is not None:
        yield (
            f"Predicted: {facts['predicted']:.2f}x at K={facts['k']}, where a round gives "
            f"{facts['round_tokens']:.2f} tokens and costs {facts['round_cost']:.2f} plain steps."
        )


def _costs(facts: Mapping[str, Any], snapshot: Snapshot) -> Iterator[str]:
    """What the backend charges."""
    costs = facts.get("verify_cost")
    if costs:
        rows = ", ".join(f"{m}: {cost:.2f}" for m, cost in costs.items())
        yield f"Verification, in forwards over one row, by rows: {rows}."
    elif snapshot.spoilt:
        yield "What rounds cost was not measured: other programs kept this machine too busy."
    elif facts:
        yield "What rounds cost is not measured yet; that is done while nobody waits."
    if facts.get("serial_index") is not None:
        yield f"Serial index: {facts['serial_index']:.2f}, where 0 is free and 1 is row by row."
    if facts.get("draft_cost") is not None:
        yield (
            f"A drafted token costs {facts['draft_cost']:.2f} of a row of the target, and a round's own work "
            f"{facts['overhead']:.2f}."
        )
    if snapshot.kernel:
        yield snapshot.kernel


def _drafts(facts: Mapping[str, Any], snapshot: Snapshot) -> Iterator[str]:
    """What became of the drafts."""
    if snapshot.acceptance_rate is not None and snapshot.acceptance_length is not None:
        yield (
            f"In the latest answer {snapshot.acceptance_rate:.0%} of the drafted tokens were accepted: "
            f"{snapshot.acceptance_length:.2f} tokens a round. That says nothing of whether they are true."
        )
    reached = [
        f"{i}: {hazard:.0%} of {tested}"
        for i, (hazard, tested) in enumerate(zip(snapshot.hazards, snapshot.tested, strict=True), start=1)
        if hazard is not None
    ]
    if reached:
        yield f"By position, of those that were reached: {', '.join(reached)}."
    if facts.get("proposal_rate") is not None and facts["proposal_rate"] < 1:
        yield f"The source has something to propose in {facts['proposal_rate']:.0%} of its steps."


def _changes(facts: Mapping[str, Any]) -> Iterator[str]:
    """What alone would bring it above plain decoding and above what it is now, if it were ideal."""
    lifts = facts.get("lifts") or {}
    now = facts.get("predicted") or 0.0
    helpful = {cause: lift for cause, lift in lifts.items() if round(lift, 2) > round(max(now, 1.0), 2)}
    if helpful:
        yield "What would change it, by prediction:"
        for cause, lift in sorted(helpful.items(), key=lambda item: -item[1]):
            # Of the depth it is known that it decides, and not by how much.
            yield f"- {'above 1' if cause == 'context' else f'{lift:.2f}'}x {_IDEALS[cause]}"
    elif lifts and now <= 1:
        yield (
            "Nothing alone would make it faster than plain decoding, by prediction: not free verification, "
            "not free drafting, not drafts that are all accepted."
        )

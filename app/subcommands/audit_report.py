"""What an audit found: a table with one closing sentence, or one JSON object."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TextIO

from app.display import neutralise

if TYPE_CHECKING:
    from mlx_spec.checks.audit import Audit, Divergence, PromptAudit
    from mlx_spec.checks.lawcheck import LawCheck

_WIDTH = 30  # columns of a prompt


class Report:
    """Collects findings, and writes each as it comes if there is somewhere to write.

    Attributes:
        law: of the sampled check, if it was made.
        interrupted: the audit did not get to its end.
    """

    def __init__(self, audit: Audit, target: Any, draft: str, out: TextIO | None) -> None:
        self._audit = audit
        self._target = target
        self._draft = draft
        self._out = out
        self._found: list[tuple[str, PromptAudit]] = []
        self.law: LawCheck | None = None
        self.interrupted = False

    def begin(self) -> None:
        """Write what is audited, and the head of the table."""
        info, options = self._target.info, self._audit.options
        self._write(
            f"{info.name} ({info.quantization or info.dtype}), draft {self._draft}, K={options.k}, "
            f"{self._runs} runs, exactness {options.exactness}"
        )
        self._write(f"{'prompt':{_WIDTH}}{'same':>6}{'drafted':>9}{'accepted':>10}  result")

    def add(self, text: str, found: PromptAudit) -> None:
        """Take one prompt's findings; ties and bugs are told apart at the end, with the whole band."""
        self._found.append((text, found))
        shown = " ".join(text.split())
        shown = shown if len(shown) < _WIDTH else shown[: _WIDTH - 2] + "\u2026"
        parting = found.divergence
        result = f"differs at {parting.position}" if parting else "identical"
        self._write(f"{shown:{_WIDTH}}{found.compared:>6}{found.drafted:>9}{found.accepted:>10}  {result}")

    def finish(self) -> None:
        """Write the verdicts."""
        for i, (_, found) in enumerate(self._found):
            if found.divergence:
                self._write(f"prompt {i + 1}: {self._described(found.divergence)}")
            if not self._audit.caches_agree(found):
                self._write(f"prompt {i + 1}: bug: the cache is not that of its text.")
        self._write(self.sentence)
        if self.law:
            self._write(self.law_sentence)

    @property
    def bugs(self) -> int:
        """Findings that rounding does not explain."""
        divergences = [found.divergence for _, found in self._found if found.divergence]
        return (
            sum(self._audit.kind(divergence) == "bug" for divergence in divergences)
            + sum(not self._audit.caches_agree(found) for _, found in self._found)
            + (self.law is not None and not self.law.fits)
        )

    @property
    def ties(self) -> int:
        """Differences inside the band."""
        divergences = [found.divergence for _, found in self._found if found.divergence]
        return sum(self._audit.kind(divergence) == "tie" for divergence in divergences)

    @property
    def sentence(self) -> str:
        """What the runs showed, in numbers, and no more."""
        prompts, same = len(self._found), sum(found.compared for _, found in self._found)
        if not prompts:
            return "Interrupted before the first prompt was done."
        every = [found for _, found in self._found]
        rounds, drafted = sum(found.rounds for found in every), sum(found.drafted for found in every)
        accepted = sum(found.accepted for found in every)
        bugs, band = self.bugs - (self.law is not None and not self.law.fits), self._audit.band
        parts = ["Interrupted." if self.interrupted else ""]
        head = f"{_count(prompts, 'prompt')}, {_count(same, 'token')}"
        if bugs:
            parts.append(f"{head} the same, and {_count(bugs, 'finding')} that rounding does not explain.")
        elif self.ties:
            where = f"{self.ties} of {prompts}" if prompts > 1 else "it"
            parts.append(f"{head} the same; {where} went on differently at a near-tie inside the band.")
        else:
            parts.append(f"{head}: identical.")
        if drafted:
            parts.append(f"{_count(rounds, 'round')} drafted {drafted} tokens, of which {accepted} stood.")
        else:
            parts.append("Nothing was drafted, so this says nothing about speculation.")
        sizes = " and ".join(f"M={rows}" for rows in self._audit.noise)
        noise = max(self._audit.noise.values())
        gap = max(found.cache_gap for _, found in self._found)
        parts.append(
            f"Rows at {sizes} differ from single rows by at most {_number(noise)} (band {_number(band)}), "
            f"and what follows from the caches by at most {_number(gap)}."
        )
        if bugs:
            parts.append("Please report it with the output of --json.")
        return " ".join(part for part in parts if part)

    @property
    def law_sentence(self) -> str:
        """What the sampled check showed, and what it cannot show."""
        law = self.law
        if law is None or not law.sites:
            return "Law: nothing was drafted that the rule could be played on, so it was not checked."
        if law.p_value is None or law.detectable is None:
            played = f"the rule ({law.rule}) was played on {_count(law.sites, 'round')}"
            return f"Law: {played}, where the target left nothing to chance."
        verdict = "fit" if law.fits else "do not fit: a bug"
        return (
            f"Law: the rule ({law.rule}), played {law.plays} times on this pair's rows of "
            f"{_count(law.sites, 'round')}: {_count(law.tests, 'row')} {verdict} "
            f"(p = {_number(law.p_value)}, all tests counted). A total variation of "
            f"{_number(law.detectable)} in one row would be noticed with 95% probability. "
            "This covers the rule; the runs above cover the caches."
        )

    def as_object(self) -> dict[str, Any]:
        """The object of `audit --json`. What is not known or not finite is null."""
        info, audit = self._target.info, self._audit
        return {
            "model": f"{info.name} ({info.quantization or info.dtype})",
            "draft": self._draft,
            "k": audit.options.k,
            "exactness": audit.options.exactness,
            "runs": self._runs,
            "seed": None if audit.sampling.greedy else audit.sampling.seed,
            "prompts": [self._entry(text, found) for text, found in self._found],
            "noise": {str(rows): noise for rows, noise in audit.noise.items()},
            "band": audit.band,
            "law": {**asdict(self.law), "fits": self.law.fits} if self.law else None,
            "ties": self.ties,
            "bugs": self.bugs,
            "interrupted": self.interrupted,
            "sentence": self.sentence + (f" {self.law_sentence}" if self.law else ""),
        }

    def _entry(self, text: str, found: PromptAudit) -> dict[str, Any]:
        entry = {"prompt": text, **asdict(found), "identical": found.divergence is None}
        entry["cache_gap"] = _finite(found.cache_gap)
        entry["caches_agree"] = self._audit.caches_agree(found)
        if parting := found.divergence:
            entry["divergence"] = {
                "position": parting.position,
                "plain": {"id": parting.plain, "text": self._text(parting.plain)},
                "speculative": {"id": parting.speculative, "text": self._text(parting.speculative)},
                "margin": _finite(parting.margin),
                "distance": _finite(parting.distance),
                "kind": self._audit.kind(parting),
            }
        return entry

    @property
    def _runs(self) -> str:
        return "greedy" if self._audit.sampling.greedy else "seed-exact"

    def _described(self, parting: Divergence) -> str:
        plain, other = (f"{self._text(token)!r} ({token})" for token in (parting.plain, parting.speculative))
        return (
            f"{self._audit.kind(parting)} at token {parting.position}: plain {plain}, speculative {other}, "
            f"top-2 margin {_number(parting.margin)}, distance {_number(parting.distance)}."
        )

    def _text(self, token: int) -> str:
        return str(self._target.tokenizer.decode([token]))

    def _write(self, line: str) -> None:
        if self._out:
            self._out.write(neutralise(line) + "\n")
            self._out.flush()


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

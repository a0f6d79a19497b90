"""What does K=auto lose or gain on any machine and text? A simulation on a virtual clock.

Every published curve of verification, times acceptance, times draft cost, is played with the same texts by
the controller and by every fixed K. The goals: in no run below 0.98 of plain decoding, and on average
at least 0.97 of the fixed K that was best in hindsight (0.93 where the text changes), K=0 included.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

from bench.studies import virtual
from bench.studies.virtual import Drift
from mlx_spec.policy.auto import AutoK, k_max
from models.curves import published

HAZARDS: dict[str, tuple[float, ...]] = {
    **{str(rate): (rate,) for rate in (0.1, 0.3, 0.5, 0.7, 0.85, 0.95)},
    "0.95/0.1": (0.95, 0.1),
    "0.1/0.95": (0.1, 0.95),
}
DRAFT_COSTS = (0.0, 0.05, 0.1, 0.3, 1.3)
FLOOR = 0.98  # of plain, in every run
OPEN, CLOSE = "<!-- simulated -->", "<!-- end -->"  # around the summary in a document
GOAL, CHANGING_GOAL = 0.97, 0.93  # of the best fixed K, on average


@dataclass(frozen=True)
class Setting:
    """What all cells of a table share.

    Attributes:
        tokens: of a text.
        seeds: texts a cell.
        most: the largest K, of the controller and of the fixed ones alike; None as the engine has it.
        prior: whether a probe measured the machine before.
        noise, drift: of the machine.
        proposing: share of positions at which the source has something to propose.
    """

    tokens: int = 2000
    seeds: int = 50
    most: int | None = None
    prior: bool = True
    noise: bool = True
    drift: Drift = "none"
    proposing: float = 1.0


@dataclass(frozen=True)
class Row:
    """One cell of the table. Speeds are over plain decoding.

    Attributes:
        curve, acceptance, c: the cell.
        best_k: the fixed K that was best over all seeds; `best`: its speed.
        speed: the controller's, over all seeds; `worst`: in its worst run.
        of_best: `speed` over `best`.
        of_each: mean over seeds of its speed over that of the K that was best for that very seed.
    """

    curve: str
    acceptance: str
    c: float
    best_k: int
    best: float
    speed: float
    worst: float
    of_best: float
    of_each: float

    @property
    def met(self) -> bool:
        """Whether both goals are."""
        return self.worst >= FLOOR and self.of_best >= (CHANGING_GOAL if "/" in self.acceptance else GOAL)


def cells(setting: Setting, curve: str, acceptance: str) -> list[Row]:
    """The rows of one curve and acceptance, one a draft cost."""
    rows = published()[curve].rows
    tokens, longest = setting.tokens, setting.most or k_max(free=True)
    texts = [
        virtual.text(random.Random(seed), tokens, HAZARDS[acceptance], setting.proposing, longest)
        for seed in range(setting.seeds)
    ]
    rounds = [[virtual.fixed_rounds(words, tokens, k) for k in range(1, longest + 1)] for words in texts]
    made = []
    for c in DRAFT_COSTS:
        most = setting.most or k_max(free=not c)
        on = virtual.machine(rows, c, most, setting.noise, setting.drift)
        ours, fixed = [], []
        for seed, words in enumerate(texts):
            controller = AutoK("simulated", [on.table] if setting.prior else [], most)
            rng = random.Random(f"{seed} steps")
            ours.append(virtual.controlled(controller, words, tokens, on, rng))
            taken = [
                n * on.costs[k] + missed * on.costs[0] for k, (n, missed) in enumerate(rounds[seed][:most], 1)
            ]
            fixed.append([float(tokens), *taken])
        times = [sum(column) for column in zip(*fixed, strict=True)]
        best_k = min(range(most + 1), key=times.__getitem__)
        work = tokens * setting.seeds
        of_each = statistics.mean(min(each) / our for each, our in zip(fixed, ours, strict=True))
        made.append(
            Row(
                curve,
                acceptance,
                c,
                best_k,
                best=work / times[best_k],
                speed=work / sum(ours),
                worst=tokens / max(ours),
                of_best=times[best_k] / sum(ours),
                of_each=of_each,
            )
        )
    return made


def _job(job: tuple[Setting, str, str]) -> list[Row]:
    return cells(*job)


def table(setting: Setting, curves: Sequence[str], processes: int, kept: Path | None) -> Iterator[list[Row]]:
    """Rows by curve and acceptance, as they are done; what `kept` has of them is not played again."""
    done = read(kept, setting) if kept else []
    yield done
    have = {(row.curve, row.acceptance) for row in done}
    jobs = [(setting, c, a) for c in curves for a in HAZARDS if (c, a) not in have]
    if not jobs:
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for rows in pool.imap_unordered(_job, jobs):
            if kept:
                keep(kept, setting, rows)
            yield rows


def keep(kept: Path, setting: Setting, rows: Sequence[Row]) -> None:
    """Add finished rows to a file, with the setting that they belong to."""
    with kept.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"setting": asdict(setting), "row": asdict(row)}) + "\n")


def read(kept: Path, setting: Setting) -> list[Row]:
    """The rows of this setting that a file has."""
    if not kept.exists():
        return []
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return [Row(**line["row"]) for line in lines if line["setting"] == asdict(setting)]


def write(rows: Sequence[Row], path: Path) -> None:
    """The whole table as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row.__dataclass_fields__)
        for row in rows:
            writer.writerow(f"{v:.4f}" if isinstance(v, float) else v for v in asdict(row).values())


def summary(rows: Sequence[Row]) -> list[str]:
    """Lines of Markdown: by acceptance, the worst run, the cells below their goal."""
    lines = [
        "| acceptance | worst run over plain | over best fixed K | in the worst cell | over text's best |",
        "|---|---|---|---|---|",
    ]
    for name in HAZARDS:
        mine = [row for row in rows if row.acceptance == name]
        if mine:
            cells = [min(r.worst for r in mine), statistics.mean(r.of_best for r in mine)]
            cells += [min(r.of_best for r in mine), statistics.mean(r.of_each for r in mine)]
            lines.append(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    missed = [row for row in rows if not row.met]
    lines += ["", f"{len(rows)} cells, {len(rows) - len(missed)} meet both goals."]
    lines += [
        f"- {r.curve}, acceptance {r.acceptance}, c = {r.c:g}: worst run {r.worst:.3f} of plain, "
        f"{r.of_best:.3f} of K={r.best_k} ({r.best:.2f}x)"
        for r in missed
    ]
    return lines


def put(lines: Sequence[str], document: Path) -> None:
    """Put the lines between the markers of a document, in place of what was there."""
    before, rest = document.read_text(encoding="utf-8").split(OPEN, 1)
    after = rest.split(CLOSE, 1)[1]
    document.write_text(f"{before}{OPEN}\n\n" + "\n".join(lines) + f"\n\n{CLOSE}{after}", encoding="utf-8")


def run(argv: Sequence[str]) -> int:
    """Play the table that the arguments ask for; print its summary."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.simulate", description=__doc__)
    names = list(published())
    default = Setting()
    parser.add_argument("--curve", action="append", choices=names, help="one of them; all by default")
    parser.add_argument("--seeds", type=int, default=default.seeds)
    parser.add_argument("--tokens", type=int, default=default.tokens)
    parser.add_argument("--most", type=int, default=default.most, help="the largest K")
    parser.add_argument("--no-prior", action="store_true", help="no probe has measured the machine")
    parser.add_argument("--no-noise", action="store_true")
    parser.add_argument("--drift", choices=get_args(Drift), default=default.drift)
    parser.add_argument("--proposing", type=float, default=1.0, help="share of positions with a proposal")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="file that keeps finished cells, to go on from")
    parser.add_argument("--out", type=Path, help="CSV file for the whole table")
    parser.add_argument("--document", type=Path, help="Markdown file that takes the summary")
    given = parser.parse_args(argv)
    setting = replace(
        default,
        seeds=given.seeds,
        tokens=given.tokens,
        most=given.most,
        prior=not given.no_prior,
        noise=not given.no_noise,
        drift=given.drift,
        proposing=given.proposing,
    )
    rows: list[Row] = []
    for more in table(setting, given.curve or names, given.processes, given.kept):
        rows += more
    order = {name: n for n, name in enumerate((*names, *HAZARDS))}
    rows.sort(key=lambda row: (order[row.curve], order[row.acceptance], row.c))
    if given.out:
        write(rows, given.out)
    lines = summary(rows)
    if given.document:
        put(lines, given.document)
    print("\n".join(lines))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

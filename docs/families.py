"""Makes docs/families.md: what becomes of each of mlx-lm's model types under speculation.

Run it with `make families`. It takes some minutes; its exit code is 1 if a type that claims to
speculate does not do so exactly.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
from mlx_lm.utils import MODEL_REMAPPING
from sweep import KS, LENGTH, NOT_BUILT, SPECULATES, STANDS_DOWN, WRONG, Row, judge, model_types

TABLE = Path(__file__).parent / "families.md"
INTRODUCTION = """\
# Model families

What becomes of each model type of mlx-lm {mlx_lm} (mlx {mlx}) under speculation. `make families` writes
this page; it fails if one line says {wrong}.

Each type is built from a tiny configuration with random float32 weights, and with the kinds of layers
that its real models mix: windows shorter than the text, experts, shared keys and values, recurrent and
full layers side by side. mlx-lm's own greedy answers are the truth. specchat answers the same prompts with
the target as its own draft, with a bad draft model and with a recorded answer that has errors, each with
K = {ks}: {length} tokens first, then a turn that goes back into the middle of them, then a prompt longer
than the windows.

- **speculates exactly**: every token is mlx-lm's, drafts of the target itself are always accepted, and
  after each turn the caches give the logits of a fresh reading.
- **stands down**: the answers are mlx-lm's, decoded plainly, and the program says why.
- **not built**: mlx-lm has the type, but no model of it could be made here.

The column *rows* is about mlx-lm alone: how far the logits of up to 40 rows at once, on a warm cache of its
own, are from those of single rows, as a part of the largest logit. "differs" is more than rounding.

What the table does not say: how a real model of a type fares in bfloat16 or quantized, what a GPU's kernels
round (`specchat audit` measures both), and whether mlx-lm's rendering of a type is right. It was made on
the processor, where types that need Metal cannot be built.

| {types} model types | |
|---|---|
"""
HEAD = """
| type | verdict | caches of mlx-lm | rows | reason |
|---|---|---|---|---|
"""


def page(rows: list[Row]) -> str:
    """The page as Markdown; the same rows give the same text."""
    counts = Counter(row.verdict for row in rows)
    text = INTRODUCTION.format(
        mlx=version("mlx"),
        mlx_lm=version("mlx-lm"),
        wrong=WRONG,
        length=LENGTH,
        ks=", ".join(map(str, KS)),
        types=len(rows),
    )
    for verdict in (SPECULATES, STANDS_DOWN, NOT_BUILT, WRONG):
        if counts[verdict]:
            text += f"| {verdict} | {counts[verdict]} |\n"
    text += HEAD
    for row in rows:
        cells = (f"`{row.family}`", row.verdict, row.caches, row.rows, row.reason)
        text += "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |\n"
    others = ", ".join(f"`{name}` as `{same}`" for name, same in sorted(MODEL_REMAPPING.items()))
    return text + f"\nmlx-lm loads further types as one of these: {others}.\n"


def main() -> None:
    mx.set_default_device(mx.cpu)  # the table is about caches; a GPU's kernels may round rows otherwise
    rows = []
    for family in model_types():
        rows.append(judge(family))
        sys.stderr.write(f"{family}: {rows[-1].verdict} {rows[-1].reason}\n")
    TABLE.write_text(page(rows))
    if any(row.verdict == WRONG for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()

"""Model types whose rows depend on how many are computed at once, in mlx-lm itself.

Drafts are verified several rows at a time, so with these the text would not be plain decoding's.
"""

from __future__ import annotations

import mlx.nn as nn

# Seen on tiny random models, and why: docs/families.md has the difference.
ROWS_DIFFER = {
    # The mask of M rows is cut from whole blocks' rows at their end, wherever in a block the rows end.
    "phi3small": "its block-sparse mask takes rows for those of another block",
    # A mask of window + 1 rows over a cache of the window's: only M rows see the one more.
    "plamo3": "its windows are one token longer for several rows than for one",
}


def rows_differ(model: nn.Module) -> str | None:
    """Why several rows of `model` at once are not what single rows are, as a clause; None if they are."""
    reason = ROWS_DIFFER.get(getattr(model, "model_type", ""))
    return f"mlx-lm computes several rows of this model otherwise than one: {reason}" if reason else None

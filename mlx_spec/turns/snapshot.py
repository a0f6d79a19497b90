"""A session's committed text and cache as named arrays and facts, to be kept somewhere and taken up again.

What comes back is not trusted: names, shapes, types and sizes must be those that the model itself would
have made, or nothing is taken up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import mlx.core as mx
from mlx_lm.models.cache import KVCache, QuantizedKVCache

from mlx_spec.caches import CachedModel
from mlx_spec.caches.layers import leaves
from mlx_spec.errors import SnapshotMismatch
from mlx_spec.turns.session import Session

TOKENS = "tokens"
BY_ROW = -2  # the axis of keys and values that grows with the text


def export(session: Session, identity: Mapping[str, str]) -> tuple[dict[str, mx.array], dict[str, str]]:
    """What `adopt` takes up.

    Args:
        session: between two answers.
        identity: of the engine, from `mlx_spec.turns.identity`.

    Returns:
        Arrays by name, and facts; both fit for a safetensors file.
    """
    arrays = {TOKENS: mx.array(session.committed, dtype=mx.uint32)}
    numbers: dict[str, Any] = {}
    for prefix, layer in _layers(session.target):
        for name, leaf in _leaves(layer.state, prefix):
            if isinstance(leaf, mx.array):
                # Behind its rows a buffer has some that were taken back: text that is to be gone.
                trimmed = isinstance(layer, KVCache | QuantizedKVCache)
                arrays[name] = leaf[..., : layer.offset, :] if trimmed else leaf
            else:
                numbers[name] = leaf
    facts = {"rows": str(session.target.rows), "numbers": json.dumps(numbers), "sum": _sum(arrays)}
    return arrays, {**identity, **facts}


def adopt(
    session: Session, arrays: Mapping[str, mx.array], facts: Mapping[str, str], identity: Mapping[str, str]
) -> None:
    """Make the exported text and cache the session's own.

    Args:
        session: whatever it held is forgotten.
        arrays: from `export`.
        facts: from `export`.
        identity: of this engine.

    Raises:
        SnapshotMismatch: it was made by something else, or is damaged; the session is then empty.
    """
    session.reset()
    for name, ours in identity.items():
        if (theirs := facts.get(name)) != ours:
            raise SnapshotMismatch(f"it was made with {name} {theirs}, not {ours}")
    committed, rows, numbers = _text(session.target, arrays, facts)
    if rows:
        probe = CachedModel(session.target.model, session.target.kv_bits)
        probe.prefill(committed[:1], 1)
        states = {
            prefix: _filled(layer.state, prefix, arrays, numbers, rows, hasattr(layer, "offset"))
            for prefix, layer in _layers(probe)
        }
        for prefix, layer in _layers(session.target):
            layer.state = states[prefix]
            if not _holds(layer, rows):
                session.reset()
                raise SnapshotMismatch(f"its {prefix} does not hold {rows} rows")
        session.target.rows = rows
    session.committed = committed


def _text(
    target: CachedModel, arrays: Mapping[str, mx.array], facts: Mapping[str, str]
) -> tuple[list[int], int, dict[str, Any]]:
    """The committed tokens, the rows and the numbers of the state, as far as they make sense."""
    try:
        tokens, rows, numbers = arrays[TOKENS], int(facts["rows"]), json.loads(facts["numbers"])
        given = facts["sum"]
    except (KeyError, ValueError) as error:
        raise SnapshotMismatch(f"it is incomplete ({type(error).__name__}: {error})") from error
    if tokens.ndim != 1 or tokens.dtype != mx.uint32 or not isinstance(numbers, dict):
        raise SnapshotMismatch("it is no snapshot of a session")
    if _sum(arrays) != given:
        raise SnapshotMismatch("it is damaged: its checksum is another")
    committed = cast(list[int], tokens.tolist())
    if not 0 <= rows < max(len(committed), 1):
        raise SnapshotMismatch(f"it has {rows} rows for {len(committed)} tokens")
    if committed and target.vocabulary is not None and max(committed) >= target.vocabulary:
        raise SnapshotMismatch(f"its text has a token that is not among the model's {target.vocabulary}")
    return committed, rows, numbers


def _layers(cached: CachedModel) -> Iterator[tuple[str, Any]]:
    """Every layer's cache with a name; those that a layer keeps several of, one by one."""
    return ((f"layers.{i}", leaf) for i, leaf in enumerate(leaves(cached.layers)))


def _leaves(state: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(state, list | tuple):
        for i, part in enumerate(state):
            yield from _leaves(part, f"{name}.{i}")
    else:
        yield name, state


def _filled(
    like: Any,
    name: str,
    arrays: Mapping[str, mx.array],
    numbers: Mapping[str, Any],
    rows: int,
    by_row: bool,
) -> Any:
    """A state of the structure of `like`, which one token made, from what was exported.

    Args:
        like: the model's own state.
        name: under which it was exported.
        arrays: that were exported.
        numbers: all else that was exported.
        rows: of the whole cache.
        by_row: arrays grow with the text.
    """
    if isinstance(like, list | tuple):
        parts = [_filled(part, f"{name}.{i}", arrays, numbers, rows, by_row) for i, part in enumerate(like)]
        return type(like)(parts)
    if isinstance(like, mx.array):
        given = arrays.get(name)
        if (
            given is None
            or given.dtype != like.dtype
            or not _same_shape(given, like, by_row and like.ndim > 2)
        ):
            described = "missing" if given is None else f"{given.shape} of {given.dtype}"
            raise SnapshotMismatch(
                f"its {name} is {described}, and the model makes {like.shape} of {like.dtype}"
            )
        if mx.issubdtype(given.dtype, mx.floating) and mx.isnan(given).any().item():
            raise SnapshotMismatch(f"its {name} has NaN (not a number)")
        return given
    if name not in numbers or not _possible(numbers[name], like, rows):
        raise SnapshotMismatch(f"its {name} is {numbers.get(name)!r}, which cannot be with {rows} rows")
    return numbers[name]


def _same_shape(given: mx.array, like: mx.array, by_row: bool) -> bool:
    if not by_row or given.ndim != like.ndim:
        return given.shape == like.shape
    shapes = [list(given.shape), list(like.shape)]
    return all(shape.pop(BY_ROW) > 0 for shape in shapes) and shapes[0] == shapes[1]


def _possible(given: Any, like: Any, rows: int) -> bool:
    """Whether `given` can stand where one token left `like`: a count of rows, or a setting of the model."""
    if type(given) is not type(like):
        return False
    return given == like or (like in (0, 1) and isinstance(given, int) and 0 <= given <= rows)


def _holds(layer: Any, rows: int) -> bool:
    """Whether a cache that counts rows counts these, and has those that the next one will see."""
    if not hasattr(layer, "offset"):
        return True
    start = getattr(layer, "start", getattr(layer, "start_position", 0))
    lengths = [leaf.shape[BY_ROW] for _, leaf in _leaves([layer.keys, layer.values], "")]
    return layer.offset == rows and min(lengths) >= rows - start and getattr(layer, "reach", 0) <= rows


def _sum(arrays: Mapping[str, mx.array]) -> str:
    """A checksum that finds what a disk spoils, in one pass on the device."""
    sums = [
        mx.contiguous(a).view(mx.uint8).astype(mx.uint32).sum() for _, a in sorted(arrays.items()) if a.size
    ]
    return " ".join(str(part) for part in mx.stack(sums).tolist()) if sums else ""  # type: ignore[union-attr]

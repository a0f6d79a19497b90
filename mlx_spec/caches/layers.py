"""Which cache stands for which of mlx-lm's, so that every layer can go back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)

from mlx_spec.caches.chunked import ChunkedCache
from mlx_spec.caches.recurrent import RecurrentCache, Writes
from mlx_spec.caches.window import WindowCache
from mlx_spec.errors import UnsupportedCache


def leaves(layers: list[Any]) -> Iterator[Any]:
    """The caches in `layers`, those within lists too."""
    for layer in layers:
        if isinstance(layer, CacheList):
            yield from leaves(layer.caches)
        else:
            yield layer


def unable(layers: list[Any]) -> str | None:
    """Why some of mlx-lm's `layers` cannot go back, or None if all can."""
    kinds = {_name(leaf) for leaf in leaves(layers) if not _known(leaf)}
    if not kinds:
        return None
    return f"this model's cache ({', '.join(sorted(kinds))}) cannot take rejected drafts back yet"


def _known(leaf: Any) -> bool:
    if type(leaf) is RotatingKVCache:
        return leaf.keep == 0
    return type(leaf) in (KVCache, QuantizedKVCache, ChunkedKVCache, ArraysCache)


def _name(leaf: Any) -> str:
    kind = type(leaf).__name__
    return f"{kind} that keeps its first {leaf.keep} rows" if isinstance(leaf, RotatingKVCache) else kind


def transactional(layers: list[Any], journal: Writes) -> list[Any]:
    """The same list with every layer able to go back; recurrent ones by `journal`."""
    return [_transactional(layer, journal) for layer in layers]


def _transactional(layer: Any, journal: Writes) -> Any:
    match layer:
        case CacheList():
            several = CacheList(*transactional(layer.caches, journal))
            if any(isinstance(inner, RecurrentCache) for inner in several.caches):
                several.journal = journal
            return several
        case RotatingKVCache():
            return WindowCache(layer.max_size)
        case ChunkedKVCache():
            return ChunkedCache(layer.chunk_size)
        case ArraysCache():
            return RecurrentCache(len(layer.cache), journal)
        case _:
            return layer


def quantized(model: nn.Module, layers: list[Any], bits: int) -> list[Any]:
    """Quantized caches in the place of `layers`.

    Raises:
        UnsupportedCache: the model has others than plain KV caches, or none that can be quantized.
    """
    next_step = "Leave --kv-bits away."
    unknown = {type(layer).__name__ for layer in layers if type(layer) is not KVCache}
    if unknown:
        kinds = ", ".join(sorted(unknown))
        raise UnsupportedCache(
            f"A quantized KV cache is not available for this model: it keeps {kinds}.", next_step
        )
    token = mx.zeros((1, 1), mx.uint32)
    model(token, cache=layers)  # nothing is computed, but the shapes are known
    sizes = {array.shape[-1] for layer in layers if not layer.empty() for array in (layer.keys, layer.values)}
    group = next((group for group in (64, 32) if all(size % group == 0 for size in sizes)), None)
    if group is None:
        raise UnsupportedCache(
            "A quantized KV cache needs heads of a multiple of 32 numbers; "
            f"this model's have {', '.join(map(str, sorted(sizes)))}.",
            next_step,
        )
    caches = [QuantizedKVCache(group_size=group, bits=bits) for _ in layers]
    try:
        model(token, cache=caches)
    except (AttributeError, TypeError, ValueError) as error:
        raise UnsupportedCache(
            "A quantized KV cache is not available for this model: it computes with the keys themselves.",
            next_step,
        ) from error
    return [QuantizedKVCache(group_size=group, bits=bits) for _ in layers]

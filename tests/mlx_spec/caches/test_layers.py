"""Which kinds of cache can go back, and what is said of the others."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.cache import ArraysCache, CacheList, ConcatenateKVCache, KVCache, RotatingKVCache
from tiny import tiny_config, tiny_model

from mlx_spec.caches import CachedModel
from mlx_spec.caches.layers import leaves, unable
from mlx_spec.errors import UnsupportedCache


class LayerCache(KVCache):
    """A kind that nobody here knows, though it looks like one that is known."""


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (LayerCache(), "LayerCache"),
        (RotatingKVCache(8, keep=4), "RotatingKVCache that keeps its first 4 rows"),
        # mlx-lm trims its offset and appends to all of its rows all the same.
        (ConcatenateKVCache(), "ConcatenateKVCache"),
        (CacheList(KVCache(), CacheList(ArraysCache(1), LayerCache())), "LayerCache"),
    ],
)
def test_what_cannot_go_back_is_named(layer, reason):
    assert unable([KVCache(), layer]) == (
        f"this model's cache ({reason}) cannot take rejected drafts back yet"
    )


def test_what_can_go_back_is_found_within_lists():
    layers = [CacheList(ArraysCache(2), KVCache()), RotatingKVCache(8), KVCache()]
    assert unable(layers) is None
    assert [type(leaf) for leaf in leaves(layers)] == [ArraysCache, KVCache, RotatingKVCache, KVCache]


def test_an_unknown_kind_stays_as_the_model_made_it_and_starts_over_instead_of_going_back():
    model: Any = tiny_model(tiny_config("llama", vocab=32))
    model.make_cache = lambda: [LayerCache() for _ in model.layers]
    cached = CachedModel(model)
    assert {type(layer) for layer in cached.layers} == {LayerCache}
    cached.forward(mx.array([1, 2, 3]))
    with pytest.raises(UnsupportedCache, match="LayerCache"):
        cached.keep(2)
    cached.mark()
    assert cached.restore(3) == 3
    assert cached.restore(2) == 0


def test_heads_are_measured_where_the_configuration_does_not_name_them():
    config = tiny_config("llama", vocab=32, hidden_size=128, head_dim=None)
    cached = CachedModel(tiny_model(config), kv_bits=8)
    assert cached.layers[0].group_size == 32


@pytest.mark.parametrize(
    ("family", "changes", "reason"),
    [
        ("gemma3_text", {}, "it keeps RotatingKVCache"),
        ("qwen3_5", {}, "it keeps ArraysCache"),
        ("llama4", {}, "it keeps ChunkedKVCache"),
        ("llama", {}, "this model's have 16"),
        ("deepseek_v3", {"qk_rope_head_dim": 32}, "it computes with the keys themselves"),
    ],
)
def test_a_quantized_cache_is_refused_where_it_does_not_exist(family, changes, reason):
    model = tiny_model(tiny_config(family, vocab=32, **changes))
    with pytest.raises(UnsupportedCache, match=reason):
        CachedModel(model, kv_bits=8)

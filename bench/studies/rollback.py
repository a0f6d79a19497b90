"""What does a rollback cost, and does that grow with the text before it?

Each kind of cache has a tiny random model. A round of five rows is read, three of them are taken
back, and whatever that leaves to compute is computed. The two contexts take turns, a pair of
blocks is the unit, and the ratio of their costs is reported: 1 means that a rollback costs the same
after a short text and after a long one. The models are far too small for the times themselves to mean
anything.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.utils import _get_classes

from bench.environment import environment
from bench.studies.rates import rate
from mlx_spec.caches import CachedModel

ROWS, KEPT = 5, 2
BLOCK = 7  # rounds; their median counts, since a rollback is shorter than what disturbs it
VOCAB = 64
_COMMON: Mapping[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}
_DELTA_NET: Mapping[str, Any] = {
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 2,
}
_CHUNKED: Mapping[str, Any] = {
    "num_hidden_layers": 4,
    "attention_bias": False,
    "attention_chunk_size": 512,
    "interleave_moe_layer_step": 8,
    "intermediate_size_mlp": 64,
    "num_local_experts": 1,
    "num_experts_per_tok": 1,
    "rope_scaling": None,
    "use_qk_norm": True,
}


@dataclass(frozen=True)
class Kind:
    """One kind of cache and a model that has it.

    Attributes:
        config: of a family in mlx-lm.
        kv_bits: of a quantized cache, or None.
    """

    config: Mapping[str, Any]
    kv_bits: int | None = None

    def model(self) -> nn.Module:
        """A random model, its weights evaluated."""
        config = {**_COMMON, **self.config}
        if inner := config.get("text_config"):
            config["text_config"] = {**config, **inner}
        model_class, args_class = _get_classes(config)
        mx.random.seed(0)
        model = model_class(args_class.from_dict(config))
        model.eval()
        mx.eval(model.parameters())
        return model


KINDS: Mapping[str, Kind] = {
    "plain": Kind({"model_type": "llama"}),
    "quantized": Kind({"model_type": "llama"}, kv_bits=8),
    "window": Kind({"model_type": "gemma3_text", "sliding_window": 512, "sliding_window_pattern": 2}),
    "chunked": Kind({"model_type": "llama4", "text_config": _CHUNKED}),
    "gated delta net": Kind({"model_type": "qwen3_5", "text_config": _DELTA_NET}),
    "Mamba and attention": Kind(
        {
            "model_type": "falcon_h1",
            "mamba_d_ssm": 64,
            "mamba_n_heads": 2,
            "mamba_d_head": 32,
            "mamba_d_state": 16,
        }
    ),
}


class Rounds:
    """Rounds after one text, each rolled back to that text."""

    def __init__(self, kind: Kind, model: nn.Module, context: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cached = CachedModel(model, kind.kv_bits)
        self._cached.prefill([i * i % VOCAB for i in range(context)], chunk=512)
        self._context = context

    def read(self) -> float:
        """Seconds of a forward of ROWS rows."""
        started = self._clock()
        self._finish(self._cached.forward(mx.arange(ROWS)))
        return self._clock() - started

    def go_back(self) -> float:
        """Seconds of going back to the first KEPT of them."""
        started = self._clock()
        self._cached.keep(self._context + KEPT)
        self._finish()
        seconds = self._clock() - started
        self._cached.keep(self._context)
        self._finish()
        return seconds

    def _finish(self, *more: mx.array) -> None:
        mx.eval([*more, [layer.state for layer in self._cached.layers if not hasattr(layer, "caches")]])
        mx.eval([inner.state for layer in self._cached.layers for inner in getattr(layer, "caches", [])])


def measure(
    kind: Kind,
    contexts: Sequence[int],
    blocks: int,
    *,
    order: random.Random,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Costs after each of two contexts, in tokens, and their ratio; the contexts take turns."""
    model = kind.model()
    each = {context: Rounds(kind, model, context, clock) for context in contexts}
    read: dict[int, list[float]] = {context: [] for context in contexts}
    back: dict[int, list[float]] = {context: [] for context in contexts}
    for _ in range(blocks + 1):
        timed: dict[int, list[tuple[float, float]]] = {context: [] for context in contexts}
        for _ in range(BLOCK):
            # Both read before one goes back: a long text leaves nothing of Python in the processor's cache.
            reading = {context: each[context].read() for context in order.sample(contexts, 2)}
            for context in order.sample(contexts, 2):
                timed[context].append((reading[context], each[context].go_back()))
        for context, block in timed.items():
            read[context].append(median(seconds for seconds, _ in block))
            back[context].append(median(seconds for _, seconds in block))
    short, long = (back[context][1:] for context in contexts)
    return {
        "growth": asdict(rate(long, short)),
        "rollback_ms": {context: round(1e3 * median(seconds[1:]), 4) for context, seconds in back.items()},
        "forward_ms": {context: round(1e3 * median(seconds[1:]), 4) for context, seconds in read.items()},
    }


def main(arguments: list[str]) -> int:
    """Measure, print the table and the JSON line; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.studies.rollback",
        description="What a rollback costs after a short and a long text.",
    )
    add = parser.add_argument
    add("--contexts", type=int, nargs=2, default=(1024, 16384), help="tokens before a round")
    add("--blocks", type=int, default=60, help=f"pairs of {BLOCK} rounds each")
    add("--kind", choices=KINDS, help="measure this kind of cache alone")
    add("--seed", type=int, default=0, help="of the order in which the contexts take turns")
    options = parser.parse_args(arguments)
    short, long = options.contexts
    names = [options.kind] if options.kind else list(KINDS)
    rows: dict[str, Any] = {}
    for name in names:
        rows[name] = row = measure(
            KINDS[name], options.contexts, options.blocks, order=random.Random(options.seed)
        )
        growth, back, read = row["growth"], row["rollback_ms"], row["forward_ms"]
        sys.stdout.write(
            f"{name:<22}rollback {back[short]:.3f} ms after {short} tokens, {back[long]:.3f} ms after {long}:"
            f" x{growth['value']:.2f} ({growth['low']:.2f} to {growth['high']:.2f}); "
            f"a forward {read[short]:.2f} and {read[long]:.2f} ms\n"
        )
        sys.stdout.flush()
    summary = {
        "bench": "bench.studies.rollback",
        "environment": environment(),
        "contexts": list(options.contexts),
        "blocks": options.blocks,
        "seed": options.seed,
        "kinds": rows,
    }
    sys.stdout.write(f"{json.dumps(summary)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes GGUF files for the tests, from the weights of a tiny mlx-lm model.

Written from the format's description and independent of the reader: the values that a file holds are
given back as plain float32, so that a test can compare them with what was read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from tiny import CHATML, END, TURN_END, TURN_START, tiny_tokenizer

TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8}
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}


def encode(values: np.ndarray, kind: str) -> tuple[bytes, np.ndarray]:
    """The bytes of a tensor of the type `kind`, and the float32 values that they stand for."""
    if kind == "F32":
        return values.astype("<f4").tobytes(), values.astype(np.float32)
    if kind == "F16":
        half = values.astype("<f2")
        return half.tobytes(), half.astype(np.float32)
    blocks = values.reshape(-1, 32).astype(np.float32)
    if kind == "Q8_0":
        scale = (np.abs(blocks).max(1) / 127).astype("<f2")
        codes = np.rint(blocks / scale[:, None].astype(np.float32)).clip(-127, 127).astype(np.int8)
        data = b"".join(s.tobytes() + c.tobytes() for s, c in zip(scale, codes, strict=True))
        return data, (codes * scale[:, None].astype(np.float32)).reshape(values.shape)
    if kind == "Q4_0":
        scale = (np.abs(blocks).max(1) / 7).astype("<f2")
        low = scale.astype(np.float32) * -8
    else:
        scale = ((blocks.max(1) - blocks.min(1)) / 15).astype("<f2")
        low = blocks.min(1).astype("<f2").astype(np.float32)
    step = scale.astype(np.float32)
    codes = np.rint((blocks - low[:, None]) / step[:, None]).clip(0, 15).astype(np.uint8)
    halves = codes[:, :16] | (codes[:, 16:] << 4)
    data = b""
    for i in range(len(blocks)):
        data += scale[i].tobytes() + (low[i].astype("<f2").tobytes() if kind == "Q4_1" else b"")
        data += halves[i].tobytes()
    return data, (codes * step[:, None] + low[:, None]).reshape(values.shape)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + np.array(value, "<i4").tobytes()


def write(
    path: Path,
    metadata: dict[str, Any],
    tensors: dict[str, tuple[tuple[int, ...], str, bytes]],
    version: int = 3,
) -> None:
    """Write a GGUF file: metadata in plain Python values, tensors as (row-major shape, type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    head += b"".join(_string(key) + _value(value) for key, value in metadata.items())
    body = b""
    for name, (shape, kind, data) in tensors.items():
        body += b"\0" * (-len(body) % 32)
        head += _string(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}QIQ", *shape[::-1], TYPES[kind], len(body))
        body += data
    path.write_bytes(head + b"\0" * (-len(head) % 32) + body)


def metadata(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The metadata of a model of `config` with the tiny tokenizer; None in `changes` leaves a key out."""
    family = config["model_type"]
    backend = tiny_tokenizer()._tokenizer.backend_tokenizer
    vocab = sorted(backend.get_vocab(), key=backend.get_vocab().get)
    tokens = vocab + [f"[PAD{i}]" for i in range(len(vocab), config["vocab_size"])]
    special = {END: 3, TURN_START: 3, TURN_END: 3}
    entries = {
        "general.architecture": family,
        f"{family}.embedding_length": config["hidden_size"],
        f"{family}.block_count": config["num_hidden_layers"],
        f"{family}.feed_forward_length": config["intermediate_size"],
        f"{family}.attention.head_count": config["num_attention_heads"],
        f"{family}.attention.head_count_kv": config["num_key_value_heads"],
        f"{family}.attention.key_length": config["head_dim"],
        f"{family}.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        f"{family}.rope.freq_base": config["rope_theta"],
        f"{family}.context_length": config["max_position_embeddings"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": [" ".join(merge) for merge in _merges(backend)],
        "tokenizer.ggml.token_type": [special.get(t, 5 if t.startswith("[PAD") else 1) for t in tokens],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": CHATML,
    }
    entries.update({key.replace("__", "."): value for key, value in changes.items()})
    return {key: value for key, value in entries.items() if value is not None}


def _merges(backend: Any) -> list[tuple[str, str]]:
    import json

    return json.loads(backend.to_str())["model"]["merges"]


def write_model(
    path: Path, config: dict[str, Any], weights: dict[str, np.ndarray], kinds: dict[str, str], **changes: Any
) -> dict[str, np.ndarray]:
    """Write a model as a GGUF file.

    Args:
        path: of the file.
        config: of the mlx-lm model.
        weights: under the names of mlx-lm.
        kinds: tensor type by part name (`attn_q`, `token_embd`, ...), `""` for the rest; vectors are F32.
        changes: metadata to override; `__` stands for a dot.

    Returns:
        The values that the file holds, under the names of mlx-lm.
    """
    tensors, held = {}, {}
    for name, values in weights.items():
        module, role = name.rsplit(".", 1)
        prefix, part = "", module
        if module.startswith("model.layers."):
            _, _, layer, part = module.split(".", 3)
            prefix = f"blk.{layer}."
        kind = kinds.get(NAMES[part], kinds[""]) if values.ndim == 2 else "F32"
        data, held[name] = encode(values, kind)
        if config["model_type"] == "llama" and NAMES[part] in ("attn_q", "attn_k"):
            heads = config["num_attention_heads" if NAMES[part] == "attn_q" else "num_key_value_heads"]
            rows = np.frombuffer(data, np.uint8).reshape(heads, 2, -1, len(data) // values.shape[0])
            data = rows.swapaxes(1, 2).tobytes()
        tensors[f"{prefix}{NAMES[part]}.{role}"] = (values.shape, kind, data)
    write(path, metadata(config, **changes), tensors)
    return held

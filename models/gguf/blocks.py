"""The values of a GGUF tensor as MLX arrays; quantized blocks stay quantized.

A block is 32 values of one row. MLX keeps the same numbers as value = scale * code + bias with the
codes packed into 32-bit words, lowest bits first, so nothing is lost or rounded on the way.
"""

from __future__ import annotations

import mlx.core as mx
import numpy as np

from models.gguf.header import Header, Tensor

GROUP = 32
BITS = {"Q4_0": 4, "Q4_1": 4, "Q8_0": 8}


def read_tensor(header: Header, tensor: Tensor) -> dict[str, mx.array]:
    """Read one tensor from the file.

    The file is mapped read-only: it may lie in a folder that the user cannot write.

    Returns:
        `weight` alone for F32 and F16; `weight` (rows, columns * bits / 32) uint32 with `scales` and
        `biases` (rows, columns / 32) float16 for quantized tensors.
    """
    raw = np.memmap(header.path, np.uint8, "r", tensor.offset, (tensor.nbytes,))
    if tensor.type in ("F32", "F16"):
        values = raw.view("<f4" if tensor.type == "F32" else "<f2")
        return {"weight": mx.array(values.reshape(tensor.shape))}
    *rows, columns = tensor.shape
    blocks = raw.reshape(*rows, columns // GROUP, -1)
    scales = blocks[..., 0:2].copy().view("<f2")[..., 0]
    if tensor.type == "Q8_0":
        # Signed codes: shift them to unsigned ones, and the bias back.
        words, biases = (blocks[..., 2:] ^ 0x80), scales * np.float16(-128)
    elif tensor.type == "Q4_0":
        words, biases = _nibbles(blocks[..., 2:]), scales * np.float16(-8)
    else:
        words, biases = _nibbles(blocks[..., 4:]), blocks[..., 2:4].copy().view("<f2")[..., 0]
    packed = np.ascontiguousarray(words).view("<u4").reshape(*rows, -1)
    return {"weight": mx.array(packed), "scales": mx.array(scales), "biases": mx.array(biases)}


def _nibbles(codes: np.ndarray) -> np.ndarray:
    """(..., 16) bytes with values i and i + 16 in byte i, to bytes with values 2i and 2i + 1."""
    values = np.concatenate([codes & 0xF, codes >> 4], axis=-1)
    return values[..., 0::2] | (values[..., 1::2] << 4)

"""The kernel table: which kernel explains a measured curve on which chip."""

from __future__ import annotations

import mlx.nn as nn
import pytest
from tiny import tiny_loaded

from mlx_spec.measuring.device import explain, weights
from mlx_spec.measuring.metal import device, expected


@pytest.mark.parametrize(
    ("architecture", "mlx", "rows", "mode", "bits", "name", "passes"),
    [
        ("applegpu_g13s", "0.32.4", 1, "affine", 4, "qmv", 1),
        ("applegpu_g14s", "0.32.4", 5, "affine", 4, "qmv a row", 5),
        ("applegpu_g14s", "0.32.4", 6, "affine", 4, "tiled qmm", 1),
        ("applegpu_g13d", "0.32.4", 6, "affine", 4, "qmv a row", 6),
        ("applegpu_g13d", "0.32.4", 12, "affine", 4, "tiled qmm", 1),
        ("applegpu_g16s", "0.32.4", 5, "affine", 8, "qmv_wide", 1),
        ("applegpu_g16s", "0.32.4", 6, "affine", 8, "qmv_wide", 2),
        ("applegpu_g16s", "0.31.2", 5, "affine", 4, "qmv a row", 5),
        ("applegpu_g13s", "0.32.4", 5, "mxfp4", 4, "qmv_wide", 1),
        ("applegpu_g17s", "0.32.4", 5, "bfloat16", None, "gemv_wide", 1),
        ("applegpu_g14s", "0.32.4", 5, "bfloat16", None, "gemm", 1),
    ],
)
def test_kernel_by_generation_version_and_rows(
    architecture: str, mlx: str, rows: int, mode: str, bits: int | None, name: str, passes: int
) -> None:
    kernel = expected(device("Apple", architecture, mlx), rows, mode, bits)
    assert kernel is not None
    assert (kernel.name, kernel.passes) == (name, passes)


def test_experts_are_gathered_row_by_row_on_every_chip() -> None:
    kernel = expected(device("Apple M5", "applegpu_g17s", "0.32.4"), 4, "affine", 4, experts=True)
    assert kernel is not None
    assert kernel.passes == 4
    assert "4 times for 4 rows" in kernel.sentence(4)


def test_a_machine_without_metal_has_no_chip_and_no_expectation() -> None:
    here = device("AMD EPYC", "x86_64", "0.32.4")
    assert (here.chip, here.generation) == (None, None)
    assert expected(here, 5, "affine", 4) is None


def test_widths_that_the_table_does_not_know_are_left_open() -> None:
    assert expected(device("Apple M2", "applegpu_g14g", "0.32.4"), 5, "affine", 3) is None


def test_chips_have_their_names() -> None:
    assert device("Apple M4 Pro", "applegpu_g16s", "0.32.4").chip == "M4"
    assert device("Apple M2 Ultra", "applegpu_g14d", "0.32.4").ultra


M2 = device("Apple M2", "applegpu_g14g", "0.32.4")


def test_a_model_is_explained_by_how_its_matrices_are_stored() -> None:
    model = tiny_loaded("llama", hidden_size=64).model
    assert explain(model, 5, M2) == (
        "M2, MLX 0.32.4, float32: gemm is expected, which reads the weights once for 5 rows."
    )
    nn.quantize(model, group_size=32, bits=4)
    assert explain(model, 5, M2) == (
        "M2, MLX 0.32.4, affine 4-bit: qmv a row is expected, which reads the weights 5 times for 5 rows."
    )


def test_a_mixture_of_experts_is_read_row_by_row() -> None:
    model = tiny_loaded("qwen3_moe", num_experts=64, moe_intermediate_size=64).model
    nn.quantize(model, group_size=32, bits=4)
    sentence = explain(model, 3, M2)
    assert sentence is not None
    assert "one gather a row" in sentence


def test_a_model_is_named_by_what_most_of_its_bytes_are_and_not_by_its_largest_matrix() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.QuantizedLinear(256, 192, bits=8)
            self.layers = [nn.QuantizedLinear(256, 128, bits=4) for _ in range(8)]

    assert str(weights(Mixed())) == "affine 4-bit"


def test_without_metal_nothing_is_explained() -> None:
    assert explain(tiny_loaded("llama").model, 5, device("AMD EPYC", "x86_64", "0.32.4")) is None

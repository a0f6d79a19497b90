"""How large a model is: from its files if it is here, or from a name that tells its parameters and bits.

Nothing is loaded and nothing is fetched.
"""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models import builtin
from models.errors import ModelError, ModelMissing
from models.folder import check
from models.reference import Reference
from models.storage import Storage

_LARGEST = 100_000  # billion parameters
_EXPERTS = re.compile(r"\b(experts|switch_mlp|switch_glu|ffn_(up|gate|down)_exps)\b")


class UnknownSize(ModelError):
    """A name that does not tell how large its model is."""


@dataclass(frozen=True)
class Size:
    """What a forward pass of a model moves.

    Attributes:
        name: for people.
        nbytes: bytes of all weights.
        read: bytes of weights that one token reads: less than all for a mixture of experts.
        storage: of most weights.
        how: where these numbers come from, as half a sentence.
        experts: whether it is a mixture of experts.
        kv_bytes: bytes of KV cache a token of context; None if the name does not tell.
    """

    name: str
    nbytes: float
    read: float
    storage: Storage
    how: str
    experts: bool = False
    kv_bytes: float | None = None


def size_of(text: str) -> Size:
    """The size of the model that `text` names.

    Args:
        text: a model that is on this machine (`builtin`, a folder, a .gguf file, a hub repository that
            was fetched before), or a name with parameters and bits: `7B@4bit`, `30B-A3B@4bit`,
            `qwen2.5-7b@8bit`, `org/Qwen2.5-7B-Instruct-4bit`.

    Raises:
        UnknownSize: it is not here, and its name does not tell parameters or bits.
        ModelError: it is here, and damaged or cannot be read.
    """
    try:
        return _of(text)
    except OSError as error:
        place = str(error.filename or text)[:200]
        raise ModelError(
            f"{place} cannot be used ({error.strerror or error}).", "Check the file and its permissions."
        ) from error


def _of(text: str) -> Size:
    name, _, stored = text.rpartition("@")
    if name and Storage.parse(stored):
        return _of_name(text)
    try:
        reference = Reference.parse(text)
    except ModelMissing as missing:
        try:
            return _of_name(text)
        except UnknownSize:
            if "/" in text or text.endswith(".gguf"):
                raise missing from None
            raise
    if reference.kind == "builtin":
        return _of_gguf(builtin.find(), builtin.NAME)
    if reference.path is None:
        return _of_repository(reference)
    if reference.kind == "gguf":
        return _of_gguf(reference.path, reference.path.stem)
    return _of_folder(reference.path, reference.path.resolve().name)


def _of_repository(reference: Reference) -> Size:
    # Only now: the hub's client takes a while to import.
    from models.hub import kept

    assert reference.repository is not None
    folder = kept(reference.repository, reference.revision)
    try:
        if folder is not None:
            return _of_folder(folder, reference.repository.split("/")[1])
    except ModelMissing:  # an earlier download was cut, so the files do not tell
        pass
    return _of_name(reference.repository)


def _of_name(text: str) -> Size:
    name = text.rsplit("/", 1)[-1]
    words = re.split(r"[-@ ]", re.sub(r"(\d)-bit", r"\1bit", name.lower()))
    total = _first(words, r"(\d+(?:\.\d+)?)([bm])")
    active = _first(words, r"a(\d+(?:\.\d+)?)([bm])")
    storage = next((found for word in reversed(words) if (found := Storage.parse(word))), None)
    if total is None or not 0 < total <= _LARGEST or not (active is None or 0 < active <= total):
        raise _untold(text, "how many parameters it has")
    if storage is None:
        raise _untold(text, "how its weights are stored")
    nbytes = total * 1e9 * storage.bits / 8
    return Size(
        name=name,
        nbytes=nbytes,
        read=nbytes if active is None else active * 1e9 * storage.bits / 8,
        storage=storage,
        how=f"{total:g} billion parameters by its name, {storage.bits:g} bits each"
        + ("" if storage.kind == "plain" else " with their scales")
        + (f", of which {active:g} billion are active" if active else ""),
        experts=active is not None,
    )


def _untold(text: str, what: str) -> UnknownSize:
    return UnknownSize(
        f"{text[:80]!r} is not on this machine, and the name does not tell {what}.",
        "Write a size, such as 7B@4bit, 0.5B@bf16 or 30B-A3B@4bit.",
    )


def _first(words: list[str], pattern: str) -> float | None:
    """Billions of parameters in the first word that is nothing else."""
    for word in words:
        if match := re.fullmatch(pattern, word):
            return float(match[1]) / (1000 if match[2] == "m" else 1)
    return None


def _of_gguf(file: Path, name: str) -> Size:
    # Only now: it imports numpy.
    from models.gguf.header import read_header

    header = read_header(file)
    tensors = {each.name: each.nbytes for each in header.tensors.values()}
    kinds: Counter[str] = Counter()
    for each in header.tensors.values():
        kinds[each.type] += each.nbytes
    storage = Storage.parse(kinds.most_common(1)[0][0]) if kinds else None
    if storage is None:
        raise UnknownSize(f"{file} has no weights of a known kind.", "Use a Q4, Q8 or F16 file.")
    architecture = header.text("general.architecture")
    values = {
        key: header.metadata.get(f"{architecture}.{ours}")
        for key, ours in (
            ("layers", "block_count"),
            ("kv_heads", "attention.head_count_kv"),
            ("heads", "attention.head_count"),
            ("width", "embedding_length"),
            ("experts", "expert_count"),
            ("used", "expert_used_count"),
        )
    }
    return _measured(name, tensors, storage, values)


def _of_folder(folder: Path, name: str) -> Size:
    config = check(folder)
    tensors: dict[str, int] = {}
    for file in sorted(folder.glob("model*.safetensors")):
        tensors |= _tensor_bytes(file)
    return size_by(config, tensors, name, "by its files")


def size_by(config: dict[str, Any], tensors: dict[str, int], name: str, how: str) -> Size:
    """The size of a model by its configuration and the bytes of its tensors.

    Raises:
        UnknownSize: the configuration does not tell how the weights are stored.
    """
    text = config.get("text_config") if isinstance(config.get("text_config"), dict) else config
    assert isinstance(text, dict)
    quantization = config.get("quantization")
    if isinstance(quantization, dict) and isinstance(quantization.get("bits"), int):
        mode = quantization.get("mode", "affine")
        storage = Storage.parse(f"{quantization['bits']}bit" if mode == "affine" else str(mode))
    else:
        storage = Storage.parse(str(config.get("torch_dtype") or config.get("dtype") or "bf16"))
    if storage is None:
        raise UnknownSize(f"{name} stores its weights in an unknown way.", "Write a size, such as 7B@4bit.")
    values = {
        "layers": text.get("num_hidden_layers"),
        "kv_heads": text.get("num_key_value_heads", text.get("num_attention_heads")),
        "heads": text.get("num_attention_heads"),
        "width": text.get("hidden_size"),
        "head_dim": text.get("head_dim"),
        "experts": text.get("num_experts", text.get("num_local_experts", text.get("n_routed_experts"))),
        "used": text.get("num_experts_per_tok"),
    }
    return replace(_measured(name, tensors, storage, values), how=how)


def _measured(name: str, tensors: dict[str, int], storage: Storage, values: dict[str, Any]) -> Size:
    def number(key: str) -> int:
        value = values.get(key)
        return value if isinstance(value, int) and value > 0 else 0

    total = sum(tensors.values())
    in_experts = sum(nbytes for tensor, nbytes in tensors.items() if _EXPERTS.search(tensor))
    mixture = bool(in_experts and number("experts") and number("used"))
    read = total - in_experts * (1 - min(1.0, number("used") / number("experts"))) if mixture else total
    head = number("head_dim") or (number("width") // number("heads") if number("heads") else 0)
    kv = 2 * 2 * number("layers") * number("kv_heads") * head  # keys and values of 16 bits
    return Size(name, total, read, storage, "by its files", mixture, kv or None)


def _tensor_bytes(file: Path) -> dict[str, int]:
    """Bytes of each tensor of a safetensors file that was checked."""
    with file.open("rb") as opened:
        header = json.loads(opened.read(struct.unpack("<Q", opened.read(8))[0]))
    header.pop("__metadata__", None)
    return {name: entry["data_offsets"][1] - entry["data_offsets"][0] for name, entry in header.items()}

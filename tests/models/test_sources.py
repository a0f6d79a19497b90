"""What could draft for a target, and for each model that could not, the reason in a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import VOCAB, save_tiny, tiny_config, tiny_loaded

from models.installed import Installed, describe
from models.sources import STAND_DOWN, Source, sources

Make = Callable[..., Installed]
FAMILIES = Path(__file__).parents[2] / "docs" / "families.md"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a tiny model in a folder; with `tokens`, its tokenizer has these as well."""

    def make(name: str, *, layers: int = 1, tokens: tuple[str, ...] = (), **config: Any) -> Installed:
        family = "llama"
        sizes = {key: config.pop(key) for key in ("vocab",) if key in config}
        loaded = tiny_loaded(family, layers=layers, **sizes)
        loaded.tokenizer._tokenizer.add_tokens(list(tokens))
        folder = save_tiny(tmp_path / name, loaded, {**tiny_config(family, layers=layers, **sizes), **config})
        found = describe(str(folder))
        assert found is not None
        return found

    return make


def of(target: Installed, *models: Installed) -> dict[str, Source]:
    return {source.name: source for source in sources(target, models)}


def test_lookup_comes_first_then_the_smallest_model_that_fits_and_last_what_does_not(make: Make) -> None:
    target = make("target", layers=4)
    found = sources(
        target, [make("other", tokens=("<x>",)), make("two", layers=2), make("one", layers=1), target]
    )
    assert [source.name for source in found] == ["lookup", "one", "two", "none", "other"]
    assert [bool(source.reason) for source in found] == [False, False, False, False, True]
    assert found[1].draft.endswith("/one")
    assert found[1].draft.startswith("model:")


def test_a_pair_needs_the_memory_of_both(make: Make) -> None:
    target, draft = make("target", layers=4), make("draft")
    found = of(target, draft)
    assert target.size is not None
    assert draft.size is not None
    assert found["lookup"].need == target.need
    pair = found["draft"].need
    assert pair is not None
    assert pair.weights == target.size.nbytes + draft.size.nbytes


def test_other_tokens_are_a_reason_with_the_first_that_differs(make: Make) -> None:
    reason = of(make("target", layers=4), make("draft", tokens=("<x>",)))["draft"].reason
    assert reason == f"Its tokens are others: id {VOCAB} is None in the target and '<x>' in the draft."


def test_padded_rows_are_no_reason(make: Make) -> None:
    assert (
        of(make("target", layers=4, vocab=VOCAB + 7), make("draft", vocab=VOCAB + 30))["draft"].reason == ""
    )


def test_a_model_that_knows_too_few_tokens_is_named_so(make: Make) -> None:
    reason = of(make("target", layers=4), make("draft", vocab=VOCAB - 10))["draft"].reason
    assert reason == f"It knows {VOCAB - 10} of the target's {VOCAB} tokens."


def test_a_model_as_large_as_the_target_would_only_cost_time(make: Make) -> None:
    found = of(make("target", layers=2), make("same", layers=2), make("larger", layers=3))
    assert "would only cost time" in found["same"].reason
    assert "would only cost time" in found["larger"].reason


def test_a_model_that_runs_code_cannot_draft(make: Make) -> None:
    assert "asks to run the Python file" in of(make("t", layers=4), make("d", model_file="x.py"))["d"].reason


def test_a_model_that_cannot_go_back_cannot_draft_and_is_drafted_for_by_none(make: Make) -> None:
    odd = make("odd", model_type="phi3small")
    target = make("target", layers=4)
    assert of(target, odd)["odd"].reason.startswith("It cannot draft: ")
    found = of(odd, make("draft"))
    assert found["lookup"].reason == found["draft"].reason
    assert found["lookup"].reason.startswith("odd cannot verify drafts: ")
    assert found["none"].reason == ""


def test_the_types_that_stand_down_are_those_of_the_page(make: Make) -> None:
    rows = re.findall(r"^\| `(\w+)` \| stands down", FAMILIES.read_text(), re.MULTILINE)
    assert set(rows) == set(STAND_DOWN)


def test_a_damaged_tokenizer_is_a_reason(make: Make) -> None:
    draft = make("draft")
    assert draft.path is not None
    (draft.path / "tokenizer.json").write_text('{"model": {}}')
    reason = of(make("target", layers=4), draft)["draft"].reason
    assert reason.endswith("holds no table of tokens.")


def test_without_a_table_nothing_is_promised(make: Make) -> None:
    draft = make("draft")
    assert draft.path is not None
    (draft.path / "tokenizer.json").rename(draft.path / "tokenizer.model")
    reason = of(make("target", layers=4), draft)["draft"].reason
    assert reason == "Its files do not tell whether its tokens are the target's."


def test_a_table_of_texts_with_scores_is_read_too(make: Make) -> None:
    target, draft = make("target", layers=4), make("draft")
    for model in (target, draft):
        assert model.path is not None
        file = model.path / "tokenizer.json"
        data = json.loads(file.read_text())
        vocab = data["model"]["vocab"]
        data["model"]["vocab"] = [[token, -1.0] for token in sorted(vocab, key=vocab.get)]
        file.write_text(json.dumps(data))
    assert of(target, draft)["draft"].reason == ""


def test_what_is_predicted_is_what_loading_decides(make: Make) -> None:
    from mlx_spec import drafts
    from mlx_spec.errors import PairMismatch
    from mlx_spec.options import EngineOptions
    from models import load

    target = make("target", layers=4)
    for draft in (make("fits"), make("other", tokens=("<x>",)), make("few", vocab=VOCAB - 10)):
        try:
            drafts.model_source(load(target.ref), load(draft.ref), EngineOptions())
            fits = True
        except PairMismatch:
            fits = False
        assert fits == (of(target, draft)[draft.name].reason == "")

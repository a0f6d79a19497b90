"""`specchat audit` through the command line, on tiny models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from noisy import noisy_target
from readable import READABLE, without_ends
from tiny import tiny_loaded

import models
from app.subcommands import audit
from mlx_spec.caches import CachedModel
from mlx_spec.checks.audit import Audit
from mlx_spec.checks.lawcheck import LawCheck
from mlx_spec.law import acceptance

SELF = ("audit", "--draft", "self", "--k", "3", "--tokens", "12")


@pytest.fixture(autouse=True)
def two_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer built-in prompts, without a template: the tiny vocabulary has letters only."""
    monkeypatch.setattr(audit, "PROMPTS", ("the cat and the dog the cat", "a dog and a cat"))


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The models that can be loaded, by reference."""
    target = without_ends(tiny_loaded("llama", vocab=READABLE, seed=6))
    target.tokenizer.has_chat_template = False
    loaded = {"builtin": target}
    monkeypatch.setattr(models, "load", lambda ref, dtype=None, progress=None: loaded[ref])
    # Every token of these prompts is in the tiny vocabulary.
    monkeypatch.setattr(
        "app.assistant.template.Template.tokens",
        lambda template, messages: [
            3 if c == " " else ord(c) - ord("a") + 4 for c in messages[0].content if c == " " or c.islower()
        ],
    )
    return loaded


def report(specchat: Any, *argv: str, code: int = 0) -> dict[str, Any]:
    outcome = specchat(*argv, "--json")
    assert outcome.code == code, outcome
    (line,) = outcome.out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_table_and_a_sentence_with_the_numbers(specchat: Any, shelf: Any) -> None:
    outcome = specchat(*SELF)
    assert outcome.code == 0
    head, columns, first, second, sentence = outcome.out.splitlines()
    assert head == "tiny llama (float32), draft self, K=3, greedy runs, exactness fast"
    assert columns.split() == ["prompt", "same", "drafted", "accepted", "result"]
    assert first.split()[-4:] == ["12", "9", "9", "identical"]
    assert second.startswith("a dog and a cat ")
    assert sentence.startswith(
        "2 prompts, 24 tokens: identical. 6 rounds drafted 18 tokens, of which 18 stood."
    )
    assert "Rows at M=2 and M=4 differ from single rows by at most" in sentence


def test_json_is_one_object(specchat: Any, shelf: Any) -> None:
    found = report(specchat, *SELF)
    assert (found["bugs"], found["ties"], found["interrupted"], found["law"]) == (0, 0, False, None)
    assert [entry["identical"] for entry in found["prompts"]] == [True, True]
    assert set(found["noise"]) == {"2", "4"}
    assert found["runs"] == "greedy"


def test_sampled_audits_check_the_law_too_and_say_what_it_covers(
    specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Audit.check_law
    monkeypatch.setattr(Audit, "check_law", lambda self: check(self, plays=500))
    found = report(specchat, *SELF, "--temp", "1", "--seed", "3")
    assert found["law"]["rule"] == "block"
    assert found["law"]["fits"]
    assert "would be noticed with 95% probability" in found["sentence"]
    assert "This covers the rule; the runs above cover the caches." in found["sentence"]


def test_a_broken_rule_is_exit_code_1(specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "match", lambda drawn, drafted, xp: (xp.array(len(drafted)), drawn[0]))
    found = report(specchat, *SELF, code=1)
    assert found["bugs"] > 0
    parting = next(entry["divergence"] for entry in found["prompts"] if entry["divergence"])
    assert parting["kind"] == "bug"
    assert parting["plain"]["id"] != parting["speculative"]["id"]
    assert "rounding does not explain" in found["sentence"]


def test_a_broken_rollback_is_exit_code_1(specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = CachedModel.keep

    def spoil(cached: CachedModel, rows: int) -> None:
        surplus = cached.rows > rows > 0
        keep(cached, rows)
        if surplus:  # the last row that stays becomes that of a rejected token
            for layer in cached.layers:
                layer.keys[..., rows - 1, :] = layer.keys[..., rows, :]

    monkeypatch.setattr(CachedModel, "keep", spoil)
    assert report(specchat, *SELF[:1], "--draft", "lookup", "--k", "3", "--tokens", "24", code=1)["bugs"] > 0


def test_a_law_that_does_not_fit_is_exit_code_1(
    specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = LawCheck("block", 2, 500, 8, 1e-9, 0.1, 0.5)
    monkeypatch.setattr(Audit, "check_law", lambda self: wrong)
    outcome = specchat(*SELF, "--temp", "1")
    assert outcome.code == 1
    assert "do not fit: a bug" in outcome.out
    assert "24 tokens: identical" in outcome.out


@pytest.mark.parametrize("exactness", ["fast", "strict"])
def test_a_noisy_backend_has_ties_under_fast_and_none_under_strict(
    specchat: Any, shelf: Any, exactness: str
) -> None:
    shelf["builtin"] = noisy_target()
    found = report(
        specchat, "audit", "--draft", "self", "--k", "4", "--tokens", "96", "--exactness", exactness
    )
    assert found["bugs"] == 0
    assert (found["ties"] > 0) == (exactness == "fast")
    assert ("near-tie inside the band" in found["sentence"]) == (exactness == "fast")


def test_nothing_drafted_is_not_called_proof(
    specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "PROMPTS", ("a",))
    outcome = specchat("audit", "--draft", "lookup", "--tokens", "1")
    assert outcome.code == 0
    assert "Nothing was drafted, so this says nothing about speculation." in outcome.out


def test_ctrl_c_keeps_what_is_done(specchat: Any, shelf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = Audit.compare

    def once(self: Audit, prompt: list[int]) -> Any:
        found = compare(self, prompt)
        self.stop()
        return found

    monkeypatch.setattr(Audit, "compare", once)
    found = report(specchat, *SELF, code=130)
    assert found["interrupted"]
    assert len(found["prompts"]) == 1
    assert found["sentence"].startswith("Interrupted. 1 prompt, 12 tokens: identical.")


@pytest.mark.parametrize(
    "text", ["the dog\n\n  the cat  \n", '{"prompt": "the dog"}\n{"prompt": "the cat", "id": 2}\n']
)
def test_given_prompts_come_after_the_built_in_ones(
    text: str, tmp_path: Path, specchat: Any, shelf: Any
) -> None:
    (tmp_path / "prompts").write_text(text)
    found = report(specchat, *SELF, "--prompts", str(tmp_path / "prompts"))
    assert [entry["prompt"] for entry in found["prompts"]][2:] == ["the dog", "the cat"]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "holds no prompt"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"prompt": "a"}\nplain\n', "entry 2"),
        (b'{"prompt": ""}\n', "entry 1"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_file_of_prompts_is_one_sentence(
    raw: bytes | None, said: str, tmp_path: Path, specchat: Any
) -> None:
    if raw is not None:
        (tmp_path / "prompts").write_bytes(raw)
    outcome = specchat("audit", "--prompts", str(tmp_path / "prompts"))
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize("argv", [("--draft", "none"), ("--k", "0"), ("--tokens", "0"), ("--tokens", "many")])
def test_what_cannot_be_audited_is_wrong_use(argv: tuple[str, str], specchat: Callable[..., Any]) -> None:
    outcome = specchat("audit", *argv)
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 1


def test_options_without_a_use_here_are_named(specchat: Any, shelf: Any, tmp_path: Path) -> None:
    outcome = specchat(*SELF, "--stop", "x")
    assert outcome.code == 0
    assert "audit makes no use of --stop." in outcome.err

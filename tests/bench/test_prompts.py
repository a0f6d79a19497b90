"""The set of prompts, and the loader that users' files go through as well."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import prompts
from bench.prompts import PromptsError, PromptSet, builtin, collect, entry, read
from bench.prompts.entry import Prompt
from mlx_spec.options import Sampling

# A change of the set is a new version: reports of the two must not be compared as if they were one.
PUBLISHED = {"1": "bff17d031f4d599c83977dbce67199dbf2dfc4ecb0cea981c5b78023e0662c63"}
CLASSES = {"chat", "code", "edit", "summary", "reading", "mathematics", "translation", "structured"}


def korean(prompt: Prompt) -> bool:
    return any("가" <= char <= "힣" for _, text in prompt.turns for char in text)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "mine.jsonl") -> Path:
        file = tmp_path / name
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return write


def test_the_set_is_the_published_one() -> None:
    assert builtin().sha256 == PUBLISHED[prompts.VERSION]
    assert builtin().version == prompts.VERSION


def test_the_set_has_every_class_and_is_free() -> None:
    counts = Counter(prompt.group for prompt in builtin().prompts)
    assert set(counts) == CLASSES | {"adversarial", "copy"}
    assert len(builtin().prompts) == 96
    assert min(counts.values()) >= 8
    assert {prompt.licence for prompt in builtin().prompts} == {"CC0-1.0"}


def test_no_two_prompts_are_alike() -> None:
    asked = ["".join(text for _, text in prompt.turns) for prompt in builtin().prompts]
    assert len({" ".join(text.lower().split())[:60] for text in asked}) == len(asked)


def test_the_set_has_turns_korean_and_heat() -> None:
    groups_of_multi = {prompt.group for prompt in builtin().prompts if len(prompt.turns) > 2}
    assert len(groups_of_multi) >= 6
    assert sum(map(korean, builtin().prompts)) >= 10
    assert any(prompt.sampling.get("temperature", 0) > 1 for prompt in builtin().prompts)


def test_prompts_are_short_enough_for_a_small_model() -> None:
    for prompt in builtin().prompts:
        assert sum(len(text) for _, text in prompt.turns) < 1200, prompt.id
        assert prompt.max_tokens is not None
        assert prompt.max_tokens <= 256


def test_the_quick_subset_has_one_short_prompt_a_class() -> None:
    quick = builtin().quick()
    assert Counter(prompt.group for prompt in quick.prompts) == dict.fromkeys(builtin().groups, 1)
    assert all(len(prompt.title) < 350 for prompt in quick.prompts)
    assert quick.sha256 != builtin().sha256


def test_a_report_can_say_which_prompts_it_had() -> None:
    said = builtin().as_object()
    assert (said["name"], said["version"], said["prompts"]) == ("specchat", prompts.VERSION, 96)
    assert sum(said["classes"].values()) == 96
    json.dumps(said)


def test_the_hash_follows_content_and_order_and_nothing_else() -> None:
    two = collect("a", [{"prompt": "x"}, {"prompt": "y"}])
    assert two.sha256 == collect("b", [{"prompt": "x"}, {"prompt": "y", "quick": True}]).sha256
    assert two.sha256 != collect("a", [{"prompt": "y"}, {"prompt": "x"}]).sha256
    assert two.sha256 != collect("a", [{"prompt": "x"}, {"prompt": "y", "max_tokens": 3}]).sha256


def test_plain_text_is_one_prompt_a_line(write: Any) -> None:
    mine = read(write("\ufeffthe dog\n\n  the cat  \r\n", "mine.txt"))
    assert [prompt.title for prompt in mine.prompts] == ["the dog", "the cat"]
    assert [prompt.id for prompt in mine.prompts] == ["1", "2"]
    assert mine.quick() == mine, "nothing is marked, so everything is quick"


def test_json_lines_have_prompts_or_turns_and_keys_that_are_not_ours(write: Any) -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "안녕하세요?"},
    ]
    lines = [{"prompt": "the dog", "source": "me"}, {"id": 7, "class": "talk", "turns": turns}]
    first, second = read(write("\n".join(map(json.dumps, lines)))).prompts
    assert (first.id, first.group, first.messages) == ("1", "own", [{"role": "user", "content": "the dog"}])
    assert (second.id, second.group, second.messages) == ("7", "talk", turns)


def test_toml_states_once_what_holds_for_all(write: Any) -> None:
    file = write('class = "talk"\nmax_tokens = 9\n[[prompts]]\nprompt = "a"\n', "mine.toml")
    (prompt,) = read(file).prompts
    assert (prompt.group, prompt.max_tokens) == ("talk", 9)


def test_turns_of_a_history_make_a_set() -> None:
    chats = ({"id": f"chat-{i}", "turns": [{"role": "user", "content": "Hi"}]} for i in range(2))
    assert collect("history", chats) == PromptSet(
        "history", tuple(Prompt(f"chat-{i}", "own", (("user", "Hi"),)) for i in range(2))
    )


def test_a_prompt_may_want_its_own_sampling() -> None:
    (prompt,) = collect("a", [{"prompt": "x", "sampling": {"temperature": 1.5}}]).prompts
    assert prompt.sampling_over(Sampling(top_p=0.9)) == Sampling(temperature=1.5, top_p=0.9)


@pytest.mark.parametrize("line", ["7" * 5000, "[" * 100_000], ids=["digits", "brackets"])
def test_a_line_that_is_too_much_for_a_json_reader_is_a_prompt(write: Any, line: str) -> None:
    assert [prompt.title for prompt in read(write(line)).prompts] == [line]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no prompt"),
        (b"\xff\xfe", "is not UTF-8"),
        ('{"prompt": "a"}\nplain\n', "entry 2 is no object"),
        ('{"prompt": ""}', 'entry 1 has no text as its "prompt"'),
        ('{"prompt": 3}', 'entry 1 has no text as its "prompt"'),
        ('{"prompt": "\\ud800"}', "entry 1 has half a character"),
        ('{"prompt": "a", "turns": []}', "entry 1 needs either"),
        ('{"text": "a"}', "entry 1 needs either"),
        ('{"turns": []}', 'entry 1 has "turns" that are no list'),
        ('{"turns": "Hi"}', 'entry 1 has "turns" that are no list'),
        ('{"turns": [{"role": "robot", "content": "a"}]}', "entry 1 has a turn without a role"),
        ('{"turns": [{"role": "system", "content": "a"}]}', "entry 1 has turns out of order"),
        ('{"turns": [{"role": "assistant", "content": "a"}]}', "entry 1 has turns out of order"),
        ('{"prompt": "a", "id": 1}\n{"prompt": "b", "id": "1"}', "entry 2 has the id '1' of an earlier one"),
        ('{"prompt": "a", "id": true}', "entry 1 has an id"),
        ('{"prompt": "a", "max_tokens": 0}', "entry 1 has a max_tokens"),
        ('{"prompt": "a", "max_tokens": 1e99}', "entry 1 has a max_tokens"),
        ('{"prompt": "a", "quick": 1}', "neither true nor false"),
        ('{"prompt": "a", "class": "x\\ny"}', "entry 1 needs one line"),
        ('{"prompt": "a", "id": "\\u001b[2J"}', "entry 1 needs one line"),
        ('{"prompt": "a", "class": 1}', 'entry 1 has no text as its "class"'),
        ('{"prompt": "a", "sampling": 1}', "no table of options"),
        ('{"prompt": "a", "sampling": {"heat": 1}}', "unknown sampling option 'heat'"),
        ('{"prompt": "a", "sampling": {"temperature": -1}}', "temperature must be"),
        ('{"prompt": "a", "sampling": {"temperature": "hot"}}', "sampling that cannot be used"),
    ],
)
def test_a_bad_file_is_one_sentence_with_a_next_step(write: Any, content: str | bytes, said: str) -> None:
    with pytest.raises(PromptsError) as caught:
        read(write(content))
    assert said in caught.value.message
    assert caught.value.next_step.endswith((".", "line."))


@pytest.mark.parametrize("content", ["prompts = 3", "[[prompts", "prompts = [1]", "[[prompts]]\nid = 'a'"])
def test_bad_toml_is_a_sentence_too(write: Any, content: str) -> None:
    with pytest.raises(PromptsError):
        read(write(content, "mine.toml"))


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "missing"):
        with pytest.raises(PromptsError, match="cannot be read"):
            read(tmp_path / name)


def test_sizes_are_bounded(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MOST_PROMPTS", 2)
    with pytest.raises(PromptsError, match="more than 2 prompts"):
        read(write("a\nb\nc"))
    monkeypatch.setattr(entry, "LONGEST", 10)
    long = {"turns": [{"role": r, "content": "four"} for r in ("user", "assistant", "user")]}
    with pytest.raises(PromptsError, match="longer than 10"):
        collect("a", [long])
    monkeypatch.setattr(prompts, "LARGEST_FILE", 5)
    with pytest.raises(PromptsError, match="larger than"):
        read(write("123456"))

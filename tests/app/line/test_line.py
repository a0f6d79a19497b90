"""The chat in lines, through the command: a script on stdin, and what is said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from screenplay import PAYING, Scripted, rounds, speculative
from tiny import save_tiny, tiny_config, tiny_loaded

from app.assistant.assistant import Assistant
from app.chats.store import Store
from mlx_spec.errors import PromptTooLong, SpecError
from mlx_spec.metrics import Metrics
from models import locations
from models.errors import ModelError
from models.stock import Stock

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def talk(specchat: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs `specchat --plain` over an assistant, with these lines on stdin."""

    def run(assistant: Scripted | Exception, *lines: str, options: tuple[str, ...] = ()) -> Any:
        def load(settings: Any, progress: Callable[[str], None]) -> Any:
            if isinstance(assistant, Exception):
                raise assistant
            for percent in range(3):
                progress(f"Reading the weights: {percent}%")
            return assistant

        monkeypatch.setattr(Assistant, "load", load)
        return specchat("--plain", *options, stdin="".join(f"{line}\n" for line in lines).encode())

    return run


def test_each_line_is_a_message_and_the_end_of_the_script_is_the_end(talk: Any) -> None:
    done = talk(Scripted([rounds("Hi", " there."), rounds("Two\n", "lines.\n")]), "Hello?", "", "More.")
    assert done.code == 0
    assert done.out == "You: Hello?\nModel: Hi there.\nYou: \nYou: More.\nModel: Two\nlines.\n"


def test_what_goes_on_is_said_in_whole_lines_and_once(talk: Any) -> None:
    assistant = Scripted([rounds("A"), rounds("B")], prefill=[(256, 420), (300, 420), (420, 420)])
    assert talk(assistant, "1", "2").err.splitlines() == [
        "Loading the model.",
        "Reading the weights: 0%.",
        "Ready: SmolLM2-135M-Instruct (4-bit), draft lookup.",
        "Speculation is off: no draft source was chosen.",
        "Reading 420 tokens.",
        "Reading 420 tokens.",
    ]


def test_another_verdict_is_said_after_the_answer(talk: Any) -> None:
    assistant = Scripted([speculative(["a", "b", "c"]), rounds("B")], calls=1, found=PAYING)
    assistant.metrics = Metrics()
    done = talk(assistant, "1", "2")
    assert done.err.count("It pays.") == 1


def test_a_prompt_that_is_read_at_once_is_not_told_of(talk: Any) -> None:
    assert "Reading 40" not in talk(Scripted([rounds("A")], prefill=[(40, 40)]), "1").err


def test_messages_of_several_lines(talk: Any) -> None:
    assistant = Scripted([rounds("A"), rounds("B")])
    done = talk(assistant, "one \\", "two", '"""', "three\\", "", "  four", '"""')
    assert [asked[-1].content for asked in assistant.asked] == ["one \ntwo", "three\\\n\n  four"]
    assert done.out.startswith("You: one \ntwo\nModel: A\n")


def test_a_block_that_the_end_cuts_is_a_message(talk: Any) -> None:
    assistant = Scripted([rounds("A")])
    talk(assistant, '"""', "one", "two")
    assert assistant.asked[0][-1].content == "one\ntwo"


def test_nothing_that_the_model_says_reaches_the_terminal_as_a_command(talk: Any) -> None:
    done = talk(Scripted([rounds("\x1b[31mred", "\x1b]52;c;aGk=\x07", "\r\x9b2J")]), "\x1b[2J?")
    assert "Model: ␛[31mred␛]52;c;aGk=␇␍\\x9b2J\n" in done.out
    assert not {"\x1b", "\x07", "\r", "\x9b"} & {*done.out, *done.err}


def test_thinking_is_one_line_until_it_is_asked_for(talk: Any) -> None:
    thought = [rounds("<think>\n", "Let me", " see.", "\n</think>\n\n", "Yes.") for _ in range(2)]
    done = talk(Scripted(list(thought)), "1", "/thinking", "2", "/thinking")
    folded, unfolded = done.out.split("You: /thinking\n")[:2]
    assert folded == "You: 1\nModel: Yes.\n"
    assert unfolded == (
        "Thinking is read out from now on. Before the last answer:\nLet me see.\n"
        "You: 2\nThinking: Let me see.\nModel: Yes.\n"
    )
    assert done.err.count("Thinking.") == 1


def test_the_same_commands_in_words(talk: Any) -> None:
    assistant = Scripted([speculative(["one", "two", "three", "four", "five", "six"])])
    done = talk(assistant, "Count.", "/tokens", "/rounds", "/timeline", "/why", "/rename Numbers", "/chats")
    said = done.out.split("You: /")
    assert "Of 6 tokens: 4 drafted and accepted (67%), 2 the target's own (33%)." in said[1]
    assert "Answer 1, round 1: 4 drafted, 4 accepted" in said[2]
    assert "rounds in 1 answer" in said[3]
    assert "Speculation is off: no draft source was chosen." in said[4]
    assert "This chat is called “Numbers” now." in said[5]
    assert "Numbers\n" in said[6]
    assert done.code == 0


def test_help_tells_of_everything_but_what_needs_the_screen(talk: Any) -> None:
    done = talk(Scripted(), "/help", "/panel")
    assert "/regenerate: another answer to the last question.\n" in done.out
    assert "\n/panel" not in done.out
    assert "/panel needs the full screen. Start specchat without --plain to have it.\n" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/wy", "There is no command /wy. Did you mean /why?"),
        ("/undo", "There is nothing to undo. Ask something first."),
        ("/stop", "No answer runs. While one does, Ctrl+C stops it."),
        ("/copy", "There is no answer yet. Ask something first."),
        ("/attach /no/such/file", "/no/such/file"),
        ("/chats", "There are no chats yet."),
    ],
)
def test_what_is_refused_says_why_and_the_chat_goes_on(talk: Any, line: str, said: str) -> None:
    done = talk(Scripted([rounds("Here.")]), line, "Still there?")
    assert said in done.err
    assert done.out.endswith("Model: Here.\n")
    assert done.code == 0


def test_undo_redo_branches_and_edits_say_where_one_is(talk: Any) -> None:
    assistant = Scripted([rounds("First."), rounds("Second."), rounds("Third.")])
    done = talk(
        assistant, "Q", "/regenerate", "/branch previous", "/undo", "/redo", "/edit", "P", "/edit", ""
    )
    said = done.out.split("You: /")
    assert said[1].endswith("\nModel: Second.\n")
    assert said[2] == "branch previous\n1 of 2.\nYou: Q\nModel: First.\n"
    assert said[3] == "undo\nTook back “Q”. /redo brings it again.\n"
    assert said[4] == "redo\nYou: Q\nModel: First.\n"
    assert "The question was: Q\n" in said[5]
    assert "Anew: P\nModel: Third.\n" in said[5]
    assert said[6].endswith("Anew: \n")
    assert len(assistant.asked) == 3


def test_an_edit_is_left_with_its_chat(talk: Any) -> None:
    assistant = Scripted([rounds("First."), rounds("Second.")])
    done = talk(assistant, "Q", "/edit", "/new", "P")
    assert done.code == 0
    assert [message.content for message in assistant.asked[1]] == ["P"]
    assert "Anew: P" not in done.out


def test_an_answer_that_was_cut_goes_on(talk: Any) -> None:
    assistant = Scripted([rounds("<think>\nI th", reason="length"), rounds("ink.\n</think>\nSo", " it is.")])
    done = talk(assistant, "Q", "/continue")
    assert "Cut at the length limit. /continue goes on." in done.err
    assert done.out == "You: Q\nYou: /continue\nModel: So it is.\n"


def test_k_and_draft_answer_before_the_next_line_is_read(talk: Any) -> None:
    assistant = Scripted(unfit={"self": SpecError("It does not fit.", "Choose another.")})
    done = talk(assistant, "/k 3", "/draft self", "/k")
    assert assistant.retuned == [(3, "auto")]
    assert "K 3, draft auto.\n" in done.err
    assert "It does not fit. Choose another.\n" in done.err
    assert done.out.endswith("You: /k\nK is 3.\n")


def test_a_benchmark_has_the_machine_for_itself_and_the_chat_goes_on(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = Scripted([rounds("A"), rounds("B")])
    held = []

    def call(argv: tuple[str, ...], env: dict[str, str]) -> int:
        held.append((argv[4:6], assistant.closed))
        return 0

    monkeypatch.setattr("app.desk.handover.subprocess.call", call)
    done = talk(assistant, "1", "/bench", "2")
    assert held == [(("bench", "--quick"), 1)]
    assert "$ specchat bench --quick" in done.out
    assert done.out.endswith("It is done.\nYou: 2\nModel: B\n")


def test_a_chat_is_kept_and_gone_on_with(talk: Any) -> None:
    talk(Scripted([rounds("Kept.")]), "Remember?")
    assistant = Scripted([rounds("Yes.")])
    done = talk(assistant, "And?", options=("-c",))
    assert done.out == "You: Remember?\nModel: Kept.\nYou: And?\nModel: Yes.\n"
    assert [message.content for message in assistant.asked[0]] == ["Remember?", "Kept.", "And?"]
    store = Store.open(locations.chats_file())
    assert [chat.messages for chat in store.chats()] == [4]
    store.close()


def test_what_is_copied_from_a_file_is_told(talk: Any, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("The quick brown fox jumps over the lazy dog and runs away.\n")
    answer = rounds("It says: The quick brown fox jumps over the lazy dog and runs away.")
    done = talk(Scripted([answer]), f"/attach {file}", "What does it say?")
    assert "Copied from notes.txt, line 1.\n" in done.err


def test_a_prompt_that_is_too_long_may_go_without_the_oldest_turns(talk: Any) -> None:
    answers: list[Any] = [rounds("A"), PromptTooLong("Too long.", "Shorten it."), rounds("B")]
    assistant = Scripted(answers)
    done = talk(assistant, "1", "2", "/drop", "2")
    assert "Error: Too long. Shorten it. Or write /drop and ask again" in done.err
    assert assistant.chosen == ["stop", "stop", "drop"]


def test_without_a_model_every_question_is_refused_and_the_code_says_so(talk: Any) -> None:
    done = talk(ModelError("There is no such model.", "Name another."), "Hello?", "/help")
    assert done.code == 3
    assert done.err.count("There is no such model. Name another.") == 1
    assert "There is no model to answer. /model REF loads one, /quit leaves." in done.err
    assert "/quit: leave; the chat is kept." in done.out


def test_models_are_listed_with_what_to_write_for_them(talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.line.calls.Stock", lambda named: Stock(named, memory=64 << 30))
    said = talk(Scripted(), "/model").out.splitlines()
    assert said[1:3] == ["In use: builtin, draft auto.", "On this machine:"]
    assert any(line.startswith("builtin: ") for line in said)
    assert "To download, for 68.7 GB of memory:" in said
    assert any(" to download. " in line and "Write /model " in line for line in said)


def test_a_model_in_a_folder_of_the_persons_own_is_listed_too(talk: Any, tmp_path: Path) -> None:
    folder = str(save_tiny(tmp_path / "mine", tiny_loaded(), tiny_config()))
    said = talk(Scripted(), "/model", options=("--model", folder)).out.splitlines()
    assert any(line.startswith(f"{folder}: ") for line in said)


def test_a_dumb_terminal_gets_lines_and_is_told(
    specchat: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(Assistant, "load", lambda settings, progress: Scripted())
    monkeypatch.setattr("app.cli._is_terminal", lambda stream: True)
    monkeypatch.setenv("TERM", "dumb")
    done = specchat(stdin=b"/quit\n")
    assert done.err.startswith("TERM is dumb: this terminal has no screen, so the chat goes line by line")
    assert (done.code, done.out) == (0, "You: /quit\n")


def test_nothing_of_the_screen_is_loaded() -> None:
    code = (
        "import sys; from screenplay import Scripted, rounds; from app.assistant.assistant import Assistant; "
        "from app.cli import main; Assistant.load = lambda *_: Scripted([rounds('Hi')]); "
        "main(['--plain']); sys.exit(', '.join({'textual', 'rich'} & sys.modules.keys()) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = ['{ROOT}', '{ROOT / 'tests'}']; {code}"],
        input="Hello?\n/why\n/copy\n/chats\n/rounds\n/help\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Model: Hi\n" in done.stdout

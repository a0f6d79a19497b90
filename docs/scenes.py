"""What the gallery shows: questions that are asked, chats that are listed, words above each picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

CODE = "Write a Python function that reverses a string."
SHORT = "What is the capital of France?"
REPEAT = "Repeat this: The quick brown fox jumps over the lazy dog, and the lazy dog sleeps."
QUOTE = "Quote rules 2 and 3 word for word."
FILE = "house.md"
RULES = """\
# House rules

1. The garden gate is closed at nine in the evening, in summer at ten.
2. Bicycles stand in the shed behind the kitchen and never in the hallway.
3. Whoever cooks does not wash up; whoever washes up chooses the music.
4. The cat is fed at seven and at six, and she will tell you otherwise.
"""
NOON = datetime(2026, 11, 30, 12)
SEARCH = "하늘"
# Title, question, answer, pinned. Written for the picture: no model said this.
CHATS = (
    ("Rivers of Europe", "Name three rivers.", "The Danube, the Loire and the Ebro.", False),
    ("하늘은 왜 파란가요?", "하늘은 왜 파란가요?", "공기가 파란 빛을 더 많이 흩뜨리기 때문입니다.", False),
    ("Regular expressions", "Which pattern finds a year?", "`[12]\\d{3}` finds four digits.", False),
    ("날씨", "내일 날씨가 어떨까요?", "저는 모릅니다. 저녁 하늘이 붉으면 맑을 때가 많습니다.", False),
    ("空はなぜ青いの", "空はなぜ青いの", "空気が青い光をよく散らすからです。", False),
    ("House rules", "Who washes up?", "Whoever has not cooked.", True),
    ("A letter to the landlord", "The heating is cold.", "Dear Sir or Madam, the heating is cold.", False),
)


@dataclass(frozen=True)
class Scene:
    """A picture.

    Attributes:
        title: of its place on the page.
        caption: what one sees, and what is not real about it.
        size: columns and rows of the terminal.
    """

    title: str
    caption: str
    size: tuple[int, int] = (100, 30)


SCENES: Mapping[str, Scene] = {
    "chat": Scene(
        "A chat",
        "An answer with code, on a screen of 100 by 30. The status line always says K, speed, acceptance, "
        "time to the first token and context.",
    ),
    "panel": Scene(
        "The panel (F3, or from 120 columns on)",
        "What was measured on this machine: the cost of verifying against the number of rows, acceptance by "
        "position, K over time. Verification is serialized here, so speculation would cost time: the banner "
        "says so, and the chat decodes plainly.",
        (130, 36),
    ),
    "why": Scene("Why (F8)", "The verdict with every number behind it, and what would change it.", (100, 36)),
    "timeline": Scene(
        "The timeline (F7)", "K and the speedup over the session; here parked early.", (100, 24)
    ),
    "copied": Scene(
        "Copied from",
        "A question about an attached file. What stands in the file word for word is marked with file and "
        "lines; what the model made up is not. That says where else the words stand, and [nothing about "
        "truth](provenance.md): the model was asked for two rules.",
        (100, 24),
    ),
    "tokens": Scene(
        "Tokens by origin (F2)",
        "`/k 4` asks for drafts although they do not pay here. Which tokens were drafted and accepted, and "
        "which the target wrote itself.",
        (100, 22),
    ),
    "rounds": Scene(
        "Rounds (F6)",
        "One round: what was drafted, what stood, and what the target preferred, with probabilities.",
        (100, 26),
    ),
    "completion": Scene("Completion", "Commands are completed while one types.", (100, 24)),
    "palette": Scene("The palette (Ctrl+P)", "A command by a part of its name, with its key.", (100, 24)),
    "models": Scene(
        "Models (`/model`)",
        "What is on this machine, and pairs that fit its memory. Nothing is downloaded before one has seen "
        "what it needs.",
        (100, 24),
    ),
    "chats": Scene(
        "Chats (Ctrl+O)",
        "Open, rename, pin, delete, export. These chats were written for the picture.",
        (100, 22),
    ),
    "search": Scene("Search", "Any script, in titles and messages; here 하늘, sky.", (100, 22)),
    "light": Scene("The light theme", "`/theme light`; there are also contrast and terminal.", (100, 26)),
    "narrow": Scene(
        "40 columns, 15 rows", "What there is no room for is left out, the verdict last.", (40, 15)
    ),
    "no-color": Scene("NO_COLOR", "The terminal's own two colours; no meaning is in colour alone.", (80, 24)),
}

_HEAD = """\
# Gallery

Real screens: the terminal UI as `make gallery` drove and photographed it, with the embedded model
(SmolLM2-135M-Instruct, 4-bit) and its own answers, which are those of a very small model. All numbers were
measured while the pictures were made: {date}, {chip}, {cores} cores, {system}, mlx {mlx}. Load was {load} at
the start: where that is more than a half, other programs ran too, and speeds are lower than the machine's.
[Benchmarks](benchmarks.md) has careful measurements.
"""


def page(where: Mapping[str, Any], load: float) -> str:
    """The gallery as Markdown.

    Args:
        where: what `bench.environment` says of the machine.
        load: runnable processes at the start.
    """
    facts = {name: where[name] for name in ("date", "chip", "cores", "system")}
    parts = [_HEAD.format(**facts, mlx=where["versions"]["mlx"], load=load)]
    for name, scene in SCENES.items():
        parts.append(f"## {scene.title}\n\n{scene.caption}\n\n![{scene.title}](gallery/{name}.svg)\n")
    return "\n".join(parts)

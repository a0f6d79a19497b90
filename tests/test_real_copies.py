"""The embedded model, asked over two attached files: what it copies is found and named."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from copies import check, copied_the_long_way

from app.assistant.assistant import Assistant
from app.cli import main
from app.files.prompt import prompt_of
from app.files.provenance import copied
from app.files.reading import read

TALE = (
    "The lighthouse keeper climbed the narrow stairs every evening to light the great lamp.\n"
    "One night a storm tore the roof off the old boat house by the pier.\n"
)
RULES = (
    "Visitors must sign the book at the gate before they enter the garden.\n"
    "Dogs are welcome on a short lead from October to March.\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["Copy the first line of tale.txt.", "What does the lighthouse keeper do? Quote the file."]
)
def test_what_the_embedded_model_copies_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], question: str
) -> None:
    monkeypatch.setattr(Assistant, "measure", lambda self: (_ for _ in ()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    (tmp_path / "tale.txt").write_text(TALE)
    (tmp_path / "rules.txt").write_text(RULES)
    attachments = [read(tmp_path / "tale.txt"), read(tmp_path / "rules.txt")]
    options = ["--json", "--draft", "lookup", "--k", "4", "--max-tokens", "32"]
    assert main(["ask", prompt_of(question, attachments), *options]) == 0
    answer = json.loads(capsys.readouterr().out)

    spans = copied(answer["text"], attachments)
    check(answer["text"], attachments, spans)
    assert [(s.start, s.end) for s in spans] == copied_the_long_way(answer["text"], [TALE, RULES])
    if question.startswith("Copy"):
        assert spans
        # Drafts are no measure of it: in the midst of a copy the target wrote tokens too.
        assert {"target", "draft:lookup"} <= set(answer["origins"])

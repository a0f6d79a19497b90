"""A sweep keeps every sample at once, ends early without harm, and goes on where it was."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from timed import Clock, Script, design, tasks

from bench import journal
from bench.design import Design
from bench.journal import Journal
from bench.measure import Bench
from bench.record import Pace, Record
from bench.sweep import Sweep, duration
from mlx_spec.errors import SpecError

PACE = Pace(True, (1.0, 3), 0.1)


class Table:
    """A sweep of scripts: what a person would have set up."""

    def __init__(self, folder: Path | None = None, record: Record | None = None) -> None:
        self.clock = Clock()
        self.said: list[str] = []
        self.stop_after = 10**9
        self.record = record or Record(design())
        self.steps = 0
        scripts = {way.name: Script(self.clock, name=way.name, before=self.step) for way in design().ways}
        bench = Bench(scripts, clock=self.clock, stopped=lambda: self.steps > self.stop_after)
        self.kept = Journal(folder) if folder else None
        self.sweep = Sweep(self.record, tasks(), bench, PACE, self.clock, self.kept, self.said.append)

    def step(self) -> None:
        self.steps += 1

    def run(self) -> bool:
        """Run the sweep and close its journal, as the program does at its end."""
        done = self.sweep.run()
        if self.kept:
            self.kept.close()
        return done


def restored(folder: Path) -> Record:
    head, *entries = journal.read(folder)
    record = Record(design())
    for entry in [head, *entries]:
        record.take(entry)
    return record


def test_all_blocks_are_run_in_the_order_of_the_design() -> None:
    table = Table()
    assert table.sweep.run()
    assert [(s.block, s.place, s.way) for s in table.record.samples] == [
        (turn.block, turn.place, turn.way) for block in design().blocks() for turn in block
    ]


def test_it_says_beforehand_and_on_the_way_how_long_it_takes() -> None:
    table = Table()
    runs, seconds = table.sweep.left
    assert runs == 5 * 6
    assert seconds == pytest.approx(30 * 3 + 4 * 5, rel=0.5)
    table.sweep.run()
    assert table.said[-1] == "Block 5 of 5; 18 s left"
    assert table.sweep.left == (0, 0)


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_stopped_sweep_keeps_what_is_finished(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.stop_after = 50
    assert not table.run()
    assert len(table.record.samples) == 2
    assert restored(tmp_path).samples == table.record.samples


def test_a_kill_at_any_byte_loses_only_the_run_in_flight(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.stop_after = 50
    table.run()
    file = tmp_path / journal.FILE
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in (1, len(lines[-1]) // 2, len(lines[-1]) - 1):
        file.write_bytes(whole[:-cut])
        assert restored(tmp_path).samples == table.record.samples[:1]
        assert file.read_bytes() == b"".join(lines[:-1])


def test_a_resumed_sweep_runs_what_is_left_in_a_sitting_of_its_own(tmp_path: Path) -> None:
    first = Table(tmp_path)
    first.stop_after = 50
    first.run()
    second = Table(tmp_path, restored(tmp_path))
    assert second.run()
    samples = second.record.samples
    assert samples[:2] == first.record.samples
    assert [sample.session for sample in samples] == [0, 0] + [1] * 28
    assert len({(sample.block, sample.place) for sample in samples}) == 30


def test_no_block_is_begun_that_would_end_after_the_deadline() -> None:
    table = Table()
    assert table.sweep.run(deadline=40.0)
    assert len(table.record.samples) == 2 * 6
    assert table.said[-1] == "The time is up: the blocks that are left stay out."


def test_the_first_block_is_run_however_late_it_is() -> None:
    table = Table()
    assert table.sweep.run(deadline=0.0)
    assert len(table.record.samples) == 6


def test_each_sample_is_on_the_disk_before_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(journal.os, "fsync", lambda number: synced.append(number))
    table = Table(tmp_path)
    before = len(synced)
    table.run()
    assert len(synced) - before == 30


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(tmp_path)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(SpecError, match="No space left"):
        table.run()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_says_what_to_do_however_the_file_is_closed(tmp_path: Path) -> None:
    kept = journal.Journal(tmp_path)
    kept._stream.close()
    kept._stream = io.TextIOWrapper(io.BufferedWriter(io.FileIO("/dev/full", "w")))
    with pytest.raises(SpecError, match=r"go on with --resume"):
        kept.add("sample", {})
    kept.close()


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / journal.FILE).write_text('{"kind": "design"}\n[1]\n')
    with pytest.raises(SpecError, match="Line 2"):
        journal.read(tmp_path)
    with pytest.raises(SpecError, match="cannot be read"):
        journal.read(tmp_path / "nowhere")


def test_two_sweeps_never_write_to_one_folder(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept.add("design", design().as_json())
    for open_it in (Journal, journal.read):
        with pytest.raises(SpecError, match="Another sweep is writing"):
            open_it(tmp_path)
    kept.close()
    assert len(journal.read(tmp_path)) == 1


def test_a_run_that_is_there_twice_is_damage(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.run()
    file = tmp_path / journal.FILE
    file.write_bytes(file.read_bytes() + file.read_bytes())
    with pytest.raises(KeyError, match="already"):
        restored(tmp_path)


def test_no_token_of_an_answer_is_kept(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.run()
    entry = next(each for each in journal.read(tmp_path) if each["kind"] == "sample")
    assert set(entry) >= {"digest", "arrivals", "emitted"}
    assert "tokens" not in entry
    assert "7, 7" not in json.dumps(entry)


def test_a_design_on_disk_is_the_same_design(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept.add("design", design().as_json())
    kept.close()
    (head,) = journal.read(tmp_path)
    del head["kind"]
    assert Design.from_json(head) == design()

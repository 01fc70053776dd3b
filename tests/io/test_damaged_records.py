"""Records damaged between a run and its continuation are reported, and the run does not continue."""

import re
from argparse import Namespace
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from airshed.core.errors import OutputError
from airshed.io.results import open_run
from airshed.io.strategies.journal import JOURNAL, Entry
from airshed.parallel.communicator import SingleRank

simulate = run_path(str(Path(__file__).with_name("ranks_run.py")))["simulate"]
STRATEGIES = ("gather", "files", "mpiio", "zarr")
RESTART = r".*; restart the run without --resume$"


def run(folder, strategy, *, hours=8, resume=False):
    options = Namespace(
        compression="none", restarts="gather", resume=resume, forget=False, hours=hours, kill=None, limit_at=None,
        victim=0, careless=False, pause=0.0, statistic="point",
    )  # fmt: skip
    simulate(options, strategy, folder, SingleRank())


@pytest.fixture(params=STRATEGIES)
def unfinished(request, tmp_path):
    """Return a run that was stopped at 5 of 8 hours, and its strategy; its newest restart is of 5 hours."""
    run(tmp_path, request.param, hours=5)
    return tmp_path, request.param


def data_file(folder, strategy):
    names = {
        "gather": "records.nc", "mpiio": "records.nc", "zarr": "records.zarr/NO2/c/2/0/0/0",
        "files": "000002.0-10-0-18.npz",
    }  # fmt: skip
    return folder / "records" / "output" / names[strategy]


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_a_flipped_bit_of_a_record_is_refused(unfinished):
    folder, strategy = unfinished
    path = data_file(folder, strategy)
    flip(path, path.stat().st_size // 2)
    named = folder / "records" / "output" / ("records.zarr" if strategy == "zarr" else path.name)
    with pytest.raises(OutputError, match=re.escape(f"{named} is damaged") + RESTART):
        run(folder, strategy, resume=True)


def test_an_untouched_run_goes_on_to_the_same_bits(unfinished, tmp_path_factory):
    """Negative control."""
    folder, strategy = unfinished
    run(folder, strategy, resume=True)
    run(tmp_path_factory.mktemp("whole") / "run", strategy)
    whole = tmp_path_factory.getbasetemp() / "whole0" / "run"
    with open_run(folder) as found, open_run(whole) as expected:
        assert found.load().identical(expected.load())


@pytest.fixture
def gathered(tmp_path):
    run(tmp_path, "gather", hours=5)
    return tmp_path, tmp_path / "records" / "output" / JOURNAL


def test_records_without_checksums_are_refused(gathered):
    folder, journal = gathered
    journal.unlink()
    with pytest.raises(OutputError, match=re.escape(f"{journal} is damaged: it lacks the record 000000") + RESTART):
        run(folder, "gather", resume=True)


def test_a_line_of_a_record_that_was_being_written_does_not_count(gathered):
    folder, journal = gathered
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines) + lines[0][: len(lines[0]) // 2])
    run(folder, "gather", resume=True)
    assert not journal.exists()  # the run has ended


def test_a_shard_that_is_gone_is_refused(tmp_path):
    run(tmp_path, "zarr", hours=5)
    shard = data_file(tmp_path, "zarr")
    shard.unlink()
    with pytest.raises(OutputError, match=re.escape(f"{shard} is missing") + RESTART):
        run(tmp_path, "zarr", resume=True)


def test_a_shard_that_goes_while_the_run_goes_makes_no_result(tmp_path, monkeypatch):
    from airshed.io.strategies.zarr_store import Shards

    name = Shards._make

    def losing(store, path, *, complete):
        data_file(tmp_path, "zarr").unlink()
        name(store, path, complete=complete)

    monkeypatch.setattr(Shards, "_make", losing)
    with pytest.raises(OutputError, match=r"NO2/c/2/0/0/0 is missing"):
        run(tmp_path, "zarr")
    assert not (tmp_path / "output.zarr").exists()


def test_a_line_knows_when_it_is_damaged(gathered):
    _, journal = gathered
    line = journal.read_text().splitlines()[1]
    assert Entry.of(line).record == 1
    for at in range(len(line)):
        assert Entry.of(line[:at] + chr(ord(line[at]) ^ 1) + line[at + 1 :]) is None
        assert Entry.of(line[:at]) is None


def test_gathered_checksums_are_those_of_each_part(gathered):
    _, journal = gathered
    entries = [Entry.of(line) for line in journal.read_text().splitlines()]
    assert [entry.seconds for entry in entries] == list(3600.0 * np.arange(6))
    assert len({entry.parts for entry in entries}) == 6

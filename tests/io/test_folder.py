"""Run folders: permission to write, replacement of an earlier run, and resumption."""

import json
import time

import pytest

from airshed.core.errors import CaseError, OutputError
from airshed.io.folder import RunFolder
from airshed.io.results import open_run
from airshed.io.run_state import first_difference, read_state

CASE = '[time]\nstep = "120 s"\n'


def test_states_of_a_run(tmp_path, start_run, values):
    assert read_state(tmp_path / "run") is None
    run = start_run(tmp_path / "run")
    with run.folder:
        assert read_state(run.path).state == "running"
        run.writer.write(0, values(0))
        run.writer.finish()
        run.folder.finish()
    state = read_state(run.path)
    assert (state.state, state.outputs, state.case) == ("finished", ("output",), CASE)
    assert sorted(path.name for path in run.path.iterdir()) == [".lock", "output.nc", "run.json"]


def test_the_summary_comes_behind_all_that_is_on_its_way(tmp_path):
    """The writer thread and the caller share one channel to other ranks, and must not use it simultaneously."""
    done = []
    with RunFolder(tmp_path / "run", CASE) as folder:
        folder.submit(lambda: (time.sleep(0.1), done.append("restart")), 0, asynchronous=True)
        assert done == []
        folder.write_summary("text", {})
        assert done == ["restart"]


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"holds other files \(thesis.txt\)"):
        RunFolder(tmp_path, CASE)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "run").write_text("a file")
    for path in (tmp_path / "run", tmp_path / "run" / "deeper"):
        with pytest.raises(OutputError, match=r"cannot write .*run.*: .*file"):
            RunFolder(path, CASE)


def test_a_folder_without_write_permission_is_refused_at_the_start(sealed):
    with pytest.raises(OutputError, match=r"no permission to write there; choose another folder"):
        RunFolder(sealed, CASE)


def test_two_runs_cannot_share_a_folder(tmp_path):
    with RunFolder(tmp_path / "run", CASE), pytest.raises(OutputError, match="another run is writing"):
        RunFolder(tmp_path / "run", CASE)
    RunFolder(tmp_path / "run", CASE).close()


def test_a_new_run_sets_the_old_result_aside_until_it_is_whole(tmp_path, write_run, start_run, values):
    path = write_run(tmp_path / "run", hours=2)
    run = start_run(path, case="[time]\nstep = 1\n")
    with run.folder:
        assert not (path / "output.nc").exists()
        with open_run(path / "previous" / "output.nc") as old:
            assert old.sizes["time"] == 2
        run.writer.write(0, values(0))
        run.writer.finish()
        run.folder.finish()
    assert not (path / "previous").exists()
    with open_run(path) as result:
        assert result.sizes["time"] == 1


@pytest.mark.parametrize("word", ["time", "120", "running"])
def test_a_damaged_state_is_refused(tmp_path, start_run, word):
    start_run(tmp_path / "run").folder.close()
    path = tmp_path / "run" / "run.json"
    content = path.read_bytes()
    at = content.index(word.encode())
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(OutputError, match=r"run\.json cannot be read .*; remove that folder and run the case again$"):
        read_state(tmp_path / "run")


def test_pictures_of_an_older_result_do_not_lie_beside_a_new_one(tmp_path, write_run):
    path = write_run(tmp_path / "run", hours=2)
    (path / "maps").mkdir()
    drawn = b"\x89PNG\r\n ... Software\0Airshed 0.1 ..."
    (path / "maps" / "O3.png").write_bytes(drawn)
    (path / "maps" / "of-mine.png").write_bytes(b"\x89PNG\r\n ... Software\0GIMP ...")
    (path / "evaluation").mkdir()
    (path / "evaluation" / "statistics.json").write_text("{}")
    with RunFolder(path, CASE) as folder:
        assert [each.name for each in (path / "maps").iterdir()] == ["of-mine.png"]
        assert not (path / "evaluation").exists()
        assert (path / "previous" / "maps" / "O3.png").read_bytes() == drawn
        folder.finish()
    assert not (path / "previous").exists()
    assert (path / "maps" / "of-mine.png").exists()


def test_an_unfinished_run_goes_on_with_its_records(tmp_path, start_run, values, write_run):
    path = tmp_path / "run"
    with (run := start_run(path)).folder:
        run.writer.write(0, values(0))
        run.writer.write(3600, values(3600))
    run = start_run(path, resume=True, resume_from=3600.0)
    with run.folder:
        assert run.folder.resumed
        run.writer.write(7200, values(7200))
        run.writer.finish()
        run.folder.finish()
    undisturbed = write_run(tmp_path / "undisturbed", hours=3)
    assert (path / "output.nc").read_bytes() == (undisturbed / "output.nc").read_bytes()


def test_a_run_anew_forgets_the_records_of_an_unfinished_one(tmp_path, start_run, values):
    path = tmp_path / "run"
    with (run := start_run(path)).folder:
        run.writer.write(0, values(0))
    with (run := start_run(path)).folder:
        run.writer.finish()
    with open_run(path) as result:
        assert result.sizes["time"] == 0


def test_resuming_begins_where_there_is_no_run_yet(tmp_path):
    with RunFolder(tmp_path / "new", CASE, resume=True) as run:
        assert not run.resumed


def test_resuming_a_finished_run_is_refused(tmp_path, write_run, start_run):
    path = write_run(tmp_path / "run")
    with pytest.raises(OutputError, match="is finished; there is nothing to resume"):
        start_run(path, resume=True)
    assert (path / "output.nc").exists()


def test_resuming_another_case_names_the_difference(tmp_path):
    RunFolder(tmp_path, CASE).close()
    with pytest.raises(CaseError, match=r"time\.step was '120 s', now is '60 s'"):
        RunFolder(tmp_path, '[time]\nstep = "60 s"\n', resume=True)
    RunFolder(tmp_path, '[time]\nstep = "60 s"\n', resume=True, may_differ={"time.step"}).close()


def test_resuming_with_another_version_is_refused(tmp_path):
    RunFolder(tmp_path, CASE).close()
    state = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**state, "airshed": "0.0.1"}))
    with pytest.raises(OutputError, match=r"made by Airshed 0\.0\.1"):
        RunFolder(tmp_path, CASE, resume=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": "running"}'])
def test_an_unreadable_state_is_an_error_with_advice(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(OutputError, match="cannot be read"):
        RunFolder(tmp_path, CASE)


@pytest.mark.parametrize(
    ("saved", "given", "difference"),
    [
        ("a = 1", "a = 1", None),
        ("a = 1\nb = 2", "b = 2\na = 1", None),
        ("a = 1", "a = 2", "a was 1, now is 2"),
        ("[t]\na = 1", "[t]\na = 1\nb = 2", "t.b was not set, now is 2"),
        ("[t]\na = 1\nb = 2", "[t]\na = 1", "t.b was 2, now is not set"),
        ("[[o]]\nn = 'x'\n[[o]]\nn = 'y'", "[[o]]\nn = 'x'\n[[o]]\nn = 'z'", "o.1.n was 'y', now is 'z'"),
        ("[run]\nthreads = 1", "[run]\nthreads = 2", None),
        ("[runs]\nthreads = 1", "[runs]\nthreads = 2", "runs.threads was 1, now is 2"),
    ],
)
def test_the_first_difference_between_cases(saved, given, difference):
    assert first_difference(saved, given, {"run"}) == difference

"""An earlier run in the folder: a resumed run never restarts silently, and other results never replace it."""

import json
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.test_run_folder import CASE
from typer.testing import CliRunner

import airshed
from airshed.case.toml import write_toml
from airshed.cli.program import app
from airshed.core.errors import CaseError, OutputError
from airshed.core.files import resource
from airshed.io import folder
from airshed.io.strategies.journal import Store

OFTEN = {"every": "10 min"}


def case_of(**sections: Any) -> airshed.Case:
    return airshed.Case.from_dict({**CASE, "output": [OFTEN], "restart": OFTEN, **sections})


def run(case: airshed.Case, folder: Path, until: str | None = None, **options: Any) -> list[str]:
    """Run a case up to a time, as a kill leaves it where that is not the end; return its notices."""
    with airshed.Simulation(case, output=folder, **options) as simulation:
        simulation.run(until=until)
    return simulation.notices


def flip(path: Path) -> None:
    """Flip a bit within a restart, or of each file of one."""
    for each in [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]:
        content = bytearray(each.read_bytes())
        content[2 * len(content) // 5] ^= 16  # not in a header of the archive
        each.write_bytes(content)


def states(folder: Path) -> list[Path]:
    return sorted((folder / "restart").iterdir(), key=lambda path: float(path.stem))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("strategy", ["gather:sync", "files:sync"])
def test_where_no_restart_is_whole_the_records_stay(tmp_path: Path, strategy: str) -> None:
    case = case_of(restart={"every": "10 min", "strategy": strategy})
    run(case, tmp_path / "run", "40 min")
    for path in states(tmp_path / "run"):
        flip(path)
    before = contents(tmp_path / "run" / "records")
    with pytest.raises(OutputError, match="no restart in") as refused:
        run(case, tmp_path / "run", resume=True)
    assert all(path.name in str(refused.value) for path in states(tmp_path / "run"))
    assert contents(tmp_path / "run" / "records") == before
    assert any(before.values())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not an archive"])
def test_other_damage_is_refused_too(tmp_path: Path, content: bytes) -> None:
    run(case_of(), tmp_path / "run", "40 min")
    for path in states(tmp_path / "run"):
        path.write_bytes(content)
    with pytest.raises(OutputError, match="no restart in"):
        run(case_of(), tmp_path / "run", resume=True)


def test_restarts_that_are_gone_are_refused(tmp_path: Path) -> None:
    run(case_of(), tmp_path / "run", "40 min")
    shutil.rmtree(tmp_path / "run" / "restart")
    before = contents(tmp_path / "run" / "records")
    with pytest.raises(OutputError, match=r"extend to 30 min, and there is no restart"):
        run(case_of(), tmp_path / "run", resume=True)
    assert contents(tmp_path / "run" / "records") == before


def test_of_two_restarts_the_damaged_one_is_told_with_what_it_costs(tmp_path: Path) -> None:
    run(case_of(), tmp_path / "run", "40 min")
    flip(states(tmp_path / "run")[-1])
    notices = run(case_of(), tmp_path / "run", resume=True)
    assert any("2400.0.npz" in each and "later steps are repeated" in each for each in notices)
    run(case_of(), tmp_path / "whole")
    assert (tmp_path / "run" / "output.nc").read_bytes() == (tmp_path / "whole" / "output.nc").read_bytes()


def test_a_run_that_ended_before_its_first_restart_is_told_also_when_quiet(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(write_toml(case_of(restart={"every": "40 min"}).to_dict()))
    case = airshed.load_case(tmp_path / "case.toml")
    run(case, tmp_path / "run", "20 min")
    shutil.rmtree(tmp_path / "run" / "restart")
    command = ["run", str(tmp_path / "case.toml"), "-q", "--resume", "--output", str(tmp_path / "run")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert "ended before its first restart; it begins at its start" in done.stderr


@pytest.mark.parametrize("strategy", ["gather", "mpiio", "files", "zarr"])
def test_a_longer_title_does_not_move_records(tmp_path: Path, strategy: str) -> None:
    output = [{"every": "10 min", "strategy": strategy}]
    run(case_of(output=output), tmp_path / "run", "40 min")
    run(case_of(output=output, title="long " * 2000), tmp_path / "run", resume=True)
    with airshed.open_run(tmp_path / "run") as result:
        times = result["time"].size
    assert times == 7


OTHERS: dict[str, dict[str, Any]] = {
    "a setting": {"meteorology": {"kind": "uniform", "eastward": "3 m/s"}},
    "another length": {"time": {**CASE["time"], "length": "30 min"}},
    "another output": {"output": [{"every": "20 min"}]},
}


@pytest.mark.parametrize("until", [None, "20 min"])
@pytest.mark.parametrize("other", OTHERS)
def test_another_case_does_not_replace_a_run(tmp_path: Path, other: str, until: str | None) -> None:
    run(case_of(), tmp_path / "run", until)
    before = contents(tmp_path / "run")
    with pytest.raises(OutputError, match=r"holds another run \(.* was .*, now is .*--force .*overwrite=True"):
        run(case_of(**OTHERS[other]), tmp_path / "run")
    assert contents(tmp_path / "run") == before
    run(case_of(**OTHERS[other]), tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "output.nc").exists()


@pytest.mark.parametrize("same", [{}, {"title": "Again"}, {"run": {"threads": 2}}])
def test_the_same_case_runs_again_in_its_folder(tmp_path: Path, same: dict[str, Any]) -> None:
    run(case_of(), tmp_path / "run")
    run(case_of(**same), tmp_path / "run")
    assert (tmp_path / "run" / "output.nc").exists()


def test_a_changed_input_is_another_run(tmp_path: Path) -> None:
    file = tmp_path / "tracer.def"
    shutil.copy(resource("mechanisms") / "tracer.def", file)
    case = case_of(chemistry={"mechanism": str(file)})
    run(case, tmp_path / "run")
    run(case, tmp_path / "run")
    file.write_text(f"{file.read_text()}\n// more\n")
    with pytest.raises(OutputError, match=r"tracer\.def has changed"):
        run(case, tmp_path / "run")


def test_the_program_refuses_and_is_forced(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(write_toml(case_of().to_dict()))
    command = ["run", str(tmp_path / "case.toml"), "-q", "--output", str(tmp_path / "run")]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert CliRunner().invoke(app, command).exit_code == 0
    shorter = [*command, "--set", "time.length=30 min"]
    refused = CliRunner().invoke(app, shorter)
    assert refused.exit_code == 2
    assert "time.length was '1 h', now is '30 min'" in refused.stderr
    assert CliRunner().invoke(app, [*shorter, "--force"]).exit_code == 0


@pytest.mark.parametrize("strategy", ["gather:async", "files:async", "zarr:async", "mpiio:async"])
def test_a_full_disk_leaves_no_parts(tmp_path: Path, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = Store.write, []

    def full(store: Store, index: int, *given: Any) -> None:
        written.append(index)
        if index == 2:
            time.sleep(0.3)  # meanwhile restarts are handed over
            raise OutputError("the disk is full")
        write(store, index, *given)

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(OutputError, match="the disk is full"):
        run(case_of(output=[{"every": "10 min", "strategy": strategy}]), tmp_path / "run")
    assert written == [0, 1, 2]
    assert [path.name for path in (tmp_path / "run").rglob("*.part")] == []


def test_without_the_removal_a_part_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    monkeypatch.setattr(folder, "remove_parts", lambda path: None)
    with pytest.raises(AssertionError):
        test_a_full_disk_leaves_no_parts(tmp_path, "zarr:async", monkeypatch)


MARKS = ['{"m.def": 3}', '{"m.def": {}}', '{"m.def": {"bytes": "1", "sha256": "x"}}', "[1]", "3"]


@pytest.mark.parametrize("inputs", MARKS)
def test_a_state_of_a_run_that_was_tampered_with_is_refused(tmp_path: Path, inputs: str) -> None:
    run(case_of(), tmp_path / "run", "20 min")
    state = tmp_path / "run" / "run.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "inputs": json.loads(inputs)}))
    with pytest.raises(OutputError, match=r"run\.json cannot be read"):
        run(case_of(), tmp_path / "run", resume=True)


def test_a_restart_of_another_model_is_refused(tmp_path: Path) -> None:
    run(case_of(), tmp_path / "run", "20 min")
    for path in states(tmp_path / "run"):
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(name) for name in archive.namelist() if name != "q.npy"}
        metadata = json.loads(contents["metadata.json"])
        metadata.pop("steps")
        contents["metadata.json"] = json.dumps(metadata).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    with pytest.raises(OutputError):
        run(case_of(), tmp_path / "run", resume=True)


def longer(length: str, **sections: Any) -> airshed.Case:
    return case_of(time={**CASE["time"], "length": length}, **sections)


@pytest.mark.parametrize(("output", "until"), [
    ({"strategy": "gather:sync"}, None), ({"compression": "zlib"}, None), ({"strategy": "files"}, None),
    ({"strategy": "zarr"}, None), ({"statistic": "mean"}, None), ({"strategy": "mpiio"}, "20 min"),
], ids=str)  # fmt: skip
def test_a_run_is_made_longer_with_the_same_bits(tmp_path: Path, output: dict[str, Any], until: str | None) -> None:
    outputs = [{"every": "20 min", **output}]
    run(case_of(output=outputs), tmp_path / "run", until)
    notices = run(longer("2 h", output=outputs), tmp_path / "run", resume=True)
    assert f"resumed at {1 if until is None else 1 / 3:g} h of the case" in notices
    run(longer("2 h", output=outputs), tmp_path / "whole")
    found, expected = (
        {path.name: path.read_bytes() for each in (folder, folder / "restart") for path in each.rglob("*")
         if path.is_file() and not path.name.startswith(("summary", "run.json", "."))}
        for folder in (tmp_path / "run", tmp_path / "whole")
    )  # fmt: skip
    assert len(found) >= 3
    assert {name for name in {*found, *expected} if found.get(name) != expected.get(name)} == set()


def test_a_run_whose_end_has_set_its_steps_is_made_longer_from_an_earlier_restart(tmp_path: Path) -> None:
    """The restart at 65 min has a step of 5 min that the longer run does not take; the other one is too new, too."""
    for length, notice in (("65 min", "resumed at 1 h"), ("125 min", "depend on the end of the earlier run")):
        folder = tmp_path / length.replace(" ", "")
        often = {"every": "60 min" if length == "65 min" else "10 min"}
        run(longer(length, output=[{"every": "5 h"}], restart=often), folder)
        if length == "125 min":
            for path in states(folder)[:-1]:
                path.unlink()
        notices = run(longer("3 h", output=[{"every": "5 h"}], restart=often), folder, resume=True)
        assert any(notice in each for each in notices)
    run(longer("3 h", output=[{"every": "5 h"}], restart={"every": "60 min"}), tmp_path / "whole")
    newest = [states(tmp_path / name)[-1].read_bytes() for name in ("65min", "whole")]
    assert newest[0] == newest[1]


def test_a_longer_run_that_is_killed_while_records_are_copied_copies_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(case_of(), tmp_path / "run")
    write, calls = Store.write, []

    def killed(self: Store, *arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        write(self, *arguments)

    monkeypatch.setattr(Store, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        run(longer("2 h"), tmp_path / "run", resume=True)
    monkeypatch.undo()
    run(longer("2 h"), tmp_path / "run", resume=True)
    run(longer("2 h"), tmp_path / "whole")
    assert (tmp_path / "run" / "output.nc").read_bytes() == (tmp_path / "whole" / "output.nc").read_bytes()


def test_a_shorter_run_and_one_with_other_steps_are_not_resumed(tmp_path: Path) -> None:
    run(case_of(), tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(CaseError, match=r"time\.length was .*, now is '30 min'"):
        run(longer("30 min"), tmp_path / "run", resume=True)
    with pytest.raises(CaseError, match=r"time\.step was .*undo that$"):
        run(case_of(time={**CASE["time"], "length": "3 h", "step": "7 s"}), tmp_path / "run", resume=True)
    assert contents(tmp_path / "run") == before

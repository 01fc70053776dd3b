"""The default folder of a run: a finished run is neither repeated nor replaced, and changed settings get their own."""

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.test_run_folder import CASE
from typer.testing import CliRunner, Result

import airshed
from airshed.case.toml import write_toml
from airshed.cli.program import app
from airshed.io.run_state import FinishedRunError
from airshed.runtime.destination import check_unfinished, default_folder

HALF = ("--set", "time.length=30 min")


@pytest.fixture
def case_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a small case named "small"; the working folder is empty."""
    folder = tmp_path / "cases" / "small"
    folder.mkdir(parents=True)
    (folder / "case.toml").write_text(write_toml(case_of().to_dict()))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return folder / "case.toml"


def case_of(**sections: Any) -> airshed.Case:
    return airshed.Case.from_dict({**CASE, "output": [{"every": "10 min"}], **sections})


def run(case_file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", str(case_file), *arguments])


def marked(folder: str) -> Path:
    """Add a picture by hand to a run; it disappears where the run is replaced."""
    picture = Path(folder) / "maps" / "O3.png"
    picture.parent.mkdir()
    picture.write_bytes(b"\x89PNG" + b"Software\0Airshed 0")
    return picture


def test_a_finished_run_is_not_repeated_without_force(case_file: Path) -> None:
    assert run(case_file).exit_code == 0
    picture = marked("runs/small")
    again = run(case_file)
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr == (
        "airshed: runs/small holds the finished run of this case with these settings; give --force to run it again\n"
    )
    assert picture.exists()
    assert run(case_file, "--output", "runs/small").stderr == again.stderr
    assert run(case_file, "-q").output == ""
    forced = run(case_file, "--force")
    assert (forced.exit_code, picture.exists()) == (0, False)
    assert [path.name for path in Path("runs").iterdir()] == ["small"]


def test_changed_settings_get_a_folder_of_their_own(case_file: Path) -> None:
    run(case_file)
    before = Path("runs/small/output.nc").read_bytes()
    shorter = run(case_file, *HALF)
    assert shorter.exit_code == 0
    assert shorter.stderr.startswith(
        "airshed: results go to runs/small-2; runs/small holds another run (time.length was '1 h', now is '30 min')\n"
    )
    assert Path("runs/small/output.nc").read_bytes() == before
    assert Path("runs/small-2/output.nc").exists()
    assert "runs/small-2 holds the finished run" in run(case_file, *HALF).stderr
    run(case_file, "--set", "time.length=20 min", "-q")
    assert sorted(path.name for path in Path("runs").iterdir()) == ["small", "small-2", "small-3"]


def test_the_same_settings_in_other_units_are_the_same_run(case_file: Path) -> None:
    run(case_file, "-q")
    again = ("--set", "time.length=60 minutes", "--set", "output.0.every=600 s")
    assert "runs/small holds the finished run" in run(case_file, *again).stderr
    changed = run(case_file, *again, "--set", "time.courant=0.3")
    assert "runs/small holds another run (time.courant was 0.4, now is 0.3)" in changed.stderr


def test_another_folder_is_announced_only_for_a_run_that_begins(case_file: Path) -> None:
    run(case_file, "-q")
    wrong = ("--set", 'emissions.gridded=["none.nc"]')
    refused = run(case_file, *HALF, *wrong)
    assert (refused.exit_code, "results go to" in refused.stderr) == (2, False)
    assert "results go to runs/small-2" in run(case_file, *HALF).stderr


def test_forced_and_resumed_runs_take_the_folder_of_the_same_settings(case_file: Path) -> None:
    run(case_file, "-q")
    run(case_file, *HALF, "-q")
    assert run(case_file, *HALF, "--force").exit_code == 0
    assert "runs/small-2 is finished; there is nothing to resume" in run(case_file, *HALF, "--resume").stderr
    assert sorted(path.name for path in Path("runs").iterdir()) == ["small", "small-2"]


def test_a_chosen_folder_with_another_run_is_refused(case_file: Path) -> None:
    run(case_file, "-q", "--output", "here")
    before = Path("here/output.nc").read_bytes()
    refused = run(case_file, *HALF, "--output", "here")
    assert refused.exit_code == 2
    assert "here holds another run (time.length was '1 h', now is '30 min'), which would be lost" in refused.stderr
    assert Path("here/output.nc").read_bytes() == before


def test_threads_and_ranks_do_not_make_another_run(case_file: Path) -> None:
    run(case_file, "-q", "--threads", "1")
    case = airshed.load_case(case_file, ["run.threads=2", "parallel.tiles=[2, 1]"])
    assert default_folder(case) == Path("runs/small")
    with pytest.raises(FinishedRunError):
        check_unfinished(case, Path("runs/small"))
    other = airshed.load_case(case_file, ["time.step=300 s"])  # the control
    assert default_folder(other) == Path("runs/small-2")
    check_unfinished(other, Path("runs/small"))


def test_folders_of_other_files_are_passed_over(case_file: Path) -> None:
    case = airshed.load_case(case_file)
    Path("runs/small").mkdir(parents=True)
    assert default_folder(case) == Path("runs/small")
    Path("runs/small/notes.txt").touch()
    Path("runs/small-3").mkdir()
    Path("runs/small-north").mkdir()
    assert default_folder(case) == Path("runs/small-2")
    assert default_folder(case, begin=False) == Path("runs/small")

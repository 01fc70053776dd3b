"""Rules of tests/conftest.py: tests that may be skipped, the order of tests, and the list of the longest files."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent

TESTS = """
import pytest

@pytest.mark.skip(reason="OpenMPI is not installed: apt install openmpi-bin")
@pytest.mark.parametrize("which", ["a b", "c"])
def test_of_openmpi(which):
    pass

@pytest.mark.skip(reason="no station files of Queensland (qld_stations)")
def test_of_data_that_cannot_ship():
    pass

@pytest.mark.skip(reason="needs the package musica")
def test_of_musica():
    pass
"""


def run(
    folder: Path, *options: str | Path, longest: str = "", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a folder under this conftest.py."""
    shutil.copy(HERE / "conftest.py", folder)
    (folder / "longest.txt").write_text(longest)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options, folder]
    variables = {**os.environ, "PYTHONPATH": str(HERE.parent), **environment}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_a_test_may_be_skipped_for_a_reason_on_the_list_alone(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    done = run(tmp_path, "-n", "1", AIRSHED_SKIPPED=str(tmp_path / "skipped"))
    names = [f"test_some.py::{name}" for name in ("test_of_musica", "test_of_openmpi[a b]", "test_of_openmpi[c]")]
    assert (tmp_path / "skipped").read_text().splitlines() == names
    messages = [line for line in done.stdout.splitlines() if line.startswith("not to be skipped")]
    assert messages == [
        f"not to be skipped for this reason, see tests/conftest.py: {names[0]}: needs the package musica"
    ]
    assert done.returncode == 1


def test_the_longest_come_first_and_are_standard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A deadline leaves the order unchanged."""
    (tmp_path / "longest.txt").write_text("  9.1 1 test_c.py\n 9.0 300 test_d.py\n  1.5 9 test_b.py\n")
    conftest = runpy.run_path(shutil.copy(HERE / "conftest.py", tmp_path))
    marked: list[str] = []
    paths = [tmp_path / f"test_{name}.py" for name in "abcd"]
    items = [SimpleNamespace(path=path, add_marker=lambda mark, path=path: marked.append(path.stem)) for path in paths]
    monkeypatch.setenv("AIRSHED_DEADLINE", "0")
    conftest["pytest_collection_modifyitems"](items)
    assert [each.path.stem[-1] for each in items] == ["a", "b", "c", "d"]
    assert marked == ["test_b", "test_c"]
    monkeypatch.delenv("AIRSHED_DEADLINE")
    conftest["pytest_collection_modifyitems"](items)
    assert [each.path.stem[-1] for each in items] == ["c", "d", "b", "a"]


def test_no_test_starts_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = runpy.run_path(str(HERE / "conftest.py"))["pytest_runtest_setup"]
    for deadline in ("inf", "4e9"):
        monkeypatch.setenv("AIRSHED_DEADLINE", deadline)
        setup()
    monkeypatch.setenv("AIRSHED_DEADLINE", "1")
    with pytest.raises(pytest.skip.Exception, match="no time left"):
        setup()


BUSY = """
import subprocess, sys

BUSY = "import time\\nwhile time.process_time() < 1.2: pass"

def test_in_a_process_of_its_own():
    subprocess.run([sys.executable, "-c", BUSY], check=True)

def test_asleep():
    pass
"""


@pytest.mark.standard
def test_the_list_of_the_longest_counts_child_processes(tmp_path: Path) -> None:
    """A file whose tests only wait is not in the list."""
    (tmp_path / "test_busy.py").write_text(BUSY)
    (tmp_path / "test_waiting.py").write_text("import time\n\ndef test_waiting():\n    time.sleep(1.2)\n")
    assert run(tmp_path, "-n", "2", AIRSHED_SECONDS=str(tmp_path / "found")).returncode == 0
    ((seconds, tests, name),) = [line.split() for line in (tmp_path / "found").read_text().splitlines()]
    assert (tests, name) == ("2", "test_busy.py")
    assert float(seconds) >= 1.2


def test_the_list_of_the_longest_names_files_that_exist() -> None:
    conftest = runpy.run_path(str(HERE / "conftest.py"))
    assert [path for path in conftest["LONGEST"] if not path.is_file()] == []

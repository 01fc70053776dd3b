"""What tests/conftest.py does with a run: which tests may be skipped, which come first, which are quick."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = """
import pytest

@pytest.mark.skip(reason="OpenMPI is not installed: apt install openmpi-bin")
@pytest.mark.parametrize("which", ["a b", "c"])
def test_of_openmpi(which):
    pass

@pytest.mark.skip(reason="station files of Queensland are not there: qld_stations")
def test_of_data_that_cannot_ship():
    pass

@pytest.mark.skip(reason="needs the package musica")
def test_of_musica():
    pass
"""


def test_a_test_may_be_skipped_for_a_reason_on_the_list_alone(tmp_path: Path) -> None:
    for name in ("conftest.py", "longest.txt"):
        shutil.copy(Path(__file__).with_name(name), tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "1", str(tmp_path)], cwd=tmp_path,
        env={**os.environ, "AIRSHED_SKIPPED": str(tmp_path / "skipped")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = [f"test_some.py::{name}" for name in ("test_of_musica", "test_of_openmpi[a b]", "test_of_openmpi[c]")]
    assert (tmp_path / "skipped").read_text().splitlines() == names
    told = [line for line in done.stdout.splitlines() if line.startswith("not to be skipped")]
    assert told == [f"not to be skipped for this reason, see tests/conftest.py: {names[0]}: needs the package musica"]
    assert done.returncode == 1


def test_the_longest_come_first_and_are_not_among_the_quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "longest.txt").write_text("  9.1 1 test_c.py\n 9.0 300 test_d.py\n  1.5 9 test_b.py\n")
    conftest = runpy.run_path(shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path))
    paths = [tmp_path / f"test_{name}.py" for name in "abcd"]
    items = [SimpleNamespace(path=path) for path in paths]
    conftest["pytest_collection_modifyitems"](items)
    assert [each.path.name for each in items] == ["test_c.py", "test_d.py", "test_b.py", "test_a.py"]
    for quick, ignored in (("", [None] * 4), ("1", [None, True, True, None])):
        monkeypatch.setenv("AIRSHED_QUICK", quick)
        assert [conftest["pytest_ignore_collect"](path) for path in paths] == ignored


BUSY = """
import subprocess, sys

BUSY = "import time\\nwhile time.process_time() < 1.2: pass"

def test_in_a_process_of_its_own():
    subprocess.run([sys.executable, "-c", BUSY], check=True)

def test_asleep():
    pass
"""


def test_the_list_of_the_longest_is_what_they_and_all_that_they_start_compute(tmp_path: Path) -> None:
    """A file whose tests wait has no place in it."""
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "longest.txt").write_text("")
    (tmp_path / "test_busy.py").write_text(BUSY)
    (tmp_path / "test_waiting.py").write_text("import time\n\ndef test_waiting():\n    time.sleep(1.2)\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("AIRSHED_QUICK", "PYTHONPATH")}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path, check=True, capture_output=True, env={**environment, "AIRSHED_SECONDS": str(tmp_path / "found")},
    )  # fmt: skip
    ((seconds, tests, name),) = [line.split() for line in (tmp_path / "found").read_text().splitlines()]
    assert (tests, name) == ("2", "test_busy.py")
    assert float(seconds) >= 1.2


def test_the_list_of_the_longest_names_files_that_there_are_and_leaves_a_minute_of_quick_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRSHED_QUICK", "1")
    here = Path(__file__).parent
    conftest = runpy.run_path(str(here / "conftest.py"))
    assert [path.name for path in conftest["LONGEST"] if not path.is_file()] == []
    quick = [path for path in conftest["LONGEST"] if not conftest["pytest_ignore_collect"](path)]
    assert sum(conftest["LONGEST"][path][0] for path in quick) < 40.0

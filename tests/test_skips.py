"""Which tests a machine may skip: what tests/conftest.py writes down, and when it fails a run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest

@pytest.mark.skip(reason="OpenMPI is not installed: apt install openmpi-bin")
@pytest.mark.parametrize("which", ["a b", "c"])
def test_of_openmpi(which):
    pass

@pytest.mark.skip(reason="needs the package musica")
def test_of_musica():
    pass
"""


def test_a_test_may_be_skipped_for_a_reason_on_the_list_alone(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
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

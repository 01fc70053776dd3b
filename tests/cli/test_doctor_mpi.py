"""Checks of MPI by ``airshed doctor``: found, mixed up, or missing."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from airshed.cli.doctor import Check, mpi_checks, world_of
from airshed.parallel.mpiexec import Mpiexec, find_mpiexec

VARIABLES = ("AIRSHED_MPIEXEC", "MPI4PY_MPIABI", "MPI4PY_LIBMPI")


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def by_name() -> dict[str, Check]:
    return {check.name: check for check in mpi_checks()}


@pytest.fixture(scope="module")
def checks() -> dict[str, Check]:
    """Return the checks without variables that select an MPI."""
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        return by_name()


def test_library_and_mpiexec_of_the_packages_belong_together(checks: dict[str, Check]) -> None:
    assert [check.status for check in checks.values()] == ["ok"] * 3 + ["warning"] * 2, checks
    assert "MPICH" in checks["MPI"].detail
    assert str(Path(sys.executable).parent / "mpiexec") in checks["mpiexec"].detail
    assert checks["ranks"].detail == "2 started, and found each other"
    for check in (checks["PnetCDF"], checks["parallel netCDF-4"]):
        wrong = r"is not installed|speaks OpenMPI, but the ranks speak MPICH \(/\S+\)"
        remedy = r"optional; (apt install openmpi-bin lib\S+|run with MPI4PY_MPIABI=openmpi), or name .* in AIRSHED_\w+"
        assert re.fullmatch(wrong, check.detail), check
        assert re.fullmatch(remedy, check.advice), check


def test_lines_that_libraries_print_are_no_answer(
    checks: dict[str, Check], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without /sys the libraries of MPI print errors of theirs to where the answer goes."""
    say = "os.write(1, b'tcp_iface.c:984 UCX ERROR scandir\\n')"
    (tmp_path / "sitecustomize.py").write_text(f"import atexit, os\n{say}\natexit.register(lambda: {say})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert by_name() == checks


def test_without_any_mpiexec_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airshed.parallel.mpiexec._mpich_places", list)
    check = by_name()["mpiexec"]
    assert (check.status, "pip install mpich" in check.advice) == ("warning", True)


def test_a_program_that_is_no_mpiexec_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRSHED_MPIEXEC", "no-such-program")
    assert "AIRSHED_MPIEXEC=no-such-program" in by_name()["mpiexec"].detail


def test_an_mpiexec_of_another_mpi_is_found_out(tmp_path: Path) -> None:
    """It starts as many processes as it should, and none hears of the others."""
    program = tmp_path / "mpiexec"
    program.write_text('#!/bin/sh\nshift 2\n"$@"\n')
    program.chmod(0o755)
    check = world_of(2, Mpiexec(str(program), "mpich"))
    assert check.status == "warning"
    assert "2 ranks were started, but each sees a world of 1" in check.detail
    assert check.advice


@pytest.mark.skipif(shutil.which("mpiexec.openmpi") is None, reason="OpenMPI is not installed: apt install openmpi-bin")
def test_openmpi_is_taken_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    assert find_mpiexec().family == "openmpi"
    checks = by_name()
    assert "Open MPI" in checks["MPI"].detail
    assert checks["ranks"].status == "ok", checks

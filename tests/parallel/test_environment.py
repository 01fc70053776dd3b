"""Ranks of a process by its environment variables, and the division of cores."""

import os
from pathlib import Path

import pytest

from airshed.core.errors import AirshedError
from airshed.parallel.binding import in_order, shares
from airshed.parallel.environment import choose_library, launched, launched_rank, requested_ranks
from airshed.parallel.launch import must_launch

NAMES = ("AIRSHED_RANKS", "PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
OTHERS = ("MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS", "MPI4PY_MPIABI", "MPI4PY_LIBMPI")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {name: os.environ[name] for name in os.environ if name not in (*NAMES, *OTHERS)})


def test_a_process_alone_launches_what_is_asked_for() -> None:
    assert (launched(), launched_rank(), requested_ranks()) == (False, None, 0)
    assert (must_launch(None), must_launch(1), must_launch(2)) == (False, False, True)


@pytest.mark.parametrize("name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "AIRSHED_RANKS"])
def test_one_of_several_launches_none_and_refuses_another_number(name: str) -> None:
    os.environ[name] = "3"
    assert (launched(), requested_ranks()) == (True, 3)
    assert (must_launch(None), must_launch(3)) == (False, False)
    with pytest.raises(AirshedError, match="-n 2, but mpiexec has started 3 ranks"):
        must_launch(2)


def test_tasks_of_slurm_without_mpi_are_refused() -> None:
    os.environ["SLURM_STEP_NUM_TASKS"] = "4"
    with pytest.raises(AirshedError, match="srun started 4 tasks without MPI"):
        launched()
    os.environ["PMI_SIZE"] = "4"
    assert launched()


def test_openmpis_launcher_brings_its_library_unless_another_is_named() -> None:
    choose_library()
    assert "MPI4PY_MPIABI" not in os.environ
    os.environ["OMPI_COMM_WORLD_SIZE"] = "2"
    choose_library()
    assert os.environ.pop("MPI4PY_MPIABI") == "openmpi"
    os.environ["MPI4PY_LIBMPI"] = "/opt/libmpi.so"
    choose_library()
    assert "MPI4PY_MPIABI" not in os.environ


def test_pmix_of_slurm_goes_with_openmpi() -> None:
    os.environ |= {"PMIX_RANK": "1", "PMI_SIZE": "2"}
    choose_library()
    assert "MPI4PY_MPIABI" not in os.environ
    del os.environ["PMI_SIZE"]
    choose_library()
    assert os.environ.pop("MPI4PY_MPIABI") == "openmpi"


def test_threads_of_one_core_come_together(tmp_path: Path) -> None:
    """Two sockets of two cores with two threads each, in the order of Linux: all first threads before all second
    ones.
    """
    for number in range(8):
        folder = tmp_path / f"cpu{number}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{number // 2 % 2}\n")
        (folder / "core_id").write_text(f"{number % 2}\n")
    cores = in_order(range(8), tmp_path)
    assert cores == [0, 4, 1, 5, 2, 6, 3, 7]
    assert shares(cores, 3) == [{0, 4, 1}, {5, 2, 6}, {3, 7}]
    assert in_order([3, 1, 2], tmp_path / "nowhere") == [1, 2, 3]

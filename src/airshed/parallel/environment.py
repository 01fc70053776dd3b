"""Launch parameters of this process from the environment, without loading MPI."""

import os
from typing import Final

from airshed.core.errors import AirshedError

REQUESTED_RANKS: Final = "AIRSHED_RANKS"
"""Requested number of ranks, which the MPI world must have."""

LIBRARY: Final = "MPI4PY_MPIABI"
"""MPI library of mpi4py: mpich or openmpi."""

_SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
"""Variables in which MPI launchers (Hydra and Slurm, OpenMPI) pass the number of ranks."""

_RANKS: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")

_OTHERS: Final = ("PMIX_RANK", "MPI_LOCALNRANKS")
"""Variables of launchers (PRRTE, Slurm with PMIx) that only indicate several ranks."""

_TASKS: Final = "SLURM_STEP_NUM_TASKS"


def launched() -> bool:
    """Return whether an MPI launcher started this process.

    Raises AirshedError if Slurm started several processes without MPI: each would perform the whole run.
    """
    if requested_ranks() or any(name in os.environ for name in _OTHERS):
        return True
    if _number(_TASKS) > 1:
        raise AirshedError(
            f"srun started {os.environ[_TASKS]} tasks without MPI; use srun --mpi=pmi2 "
            "(--mpi=pmix for OpenMPI), or airshed run CASE -n N inside the allocation"
        )
    return False


def requested_ranks() -> int:
    """Return the number of ranks from the launcher's variables; 0 without a launcher, or if it sets none."""
    return _number(REQUESTED_RANKS) or next((_number(name) for name in _SIZES if name in os.environ), 0)


def launched_rank() -> int | None:
    """Return this rank's number from the launcher's variables, before MPI is loaded; None without a launcher."""
    return next((_number(name) for name in _RANKS if name in os.environ), None)


def choose_library() -> None:
    """Select the MPI library of the launcher for mpi4py: under OpenMPI's launcher it would otherwise load MPICH.

    srun --mpi=pmix does not name an MPI, but the MPICH of the package mpich does not support PMIx and would abort. A
    setting of mpi4py in the environment takes precedence. Call this before the import of mpi4py.MPI.
    """
    pmix = "PMIX_RANK" in os.environ and "PMI_SIZE" not in os.environ
    if ("OMPI_COMM_WORLD_SIZE" in os.environ or pmix) and "MPI4PY_LIBMPI" not in os.environ:
        os.environ.setdefault(LIBRARY, "openmpi")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0

"""Reads from the environment how a launcher started this process; loads no MPI."""

import os
from typing import Final

from airshed.core.errors import AirshedError

REQUESTED_RANKS: Final = "AIRSHED_RANKS"
"""The number of ranks that was asked for; the world must have it."""

LIBRARY: Final = "MPI4PY_MPIABI"
"""The MPI that mpi4py uses: mpich or openmpi."""

_SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
"""Variables in which MPI launchers (Hydra and Slurm, OpenMPI) give each process the number of ranks."""

_RANKS: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")

_OTHERS: Final = ("PMIX_RANK", "MPI_LOCALNRANKS")
"""Variables of launchers (PRRTE, Slurm with PMIx) that only show that there are several ranks."""

_TASKS: Final = "SLURM_STEP_NUM_TASKS"


def launched() -> bool:
    """Return whether an MPI launcher started this process.

    Raises AirshedError if Slurm started several without MPI: each would do the whole run.
    """
    if requested_ranks() or any(name in os.environ for name in _OTHERS):
        return True
    if _number(_TASKS) > 1:
        raise AirshedError(
            f"srun started {os.environ[_TASKS]} tasks that no MPI connects; take srun --mpi=pmi2 "
            "(--mpi=pmix for OpenMPI), or airshed run CASE -n N inside the allocation"
        )
    return False


def requested_ranks() -> int:
    """Return the number of ranks by the launcher's variables; 0 if it sets none, or there is no launcher."""
    return _number(REQUESTED_RANKS) or next((_number(name) for name in _SIZES if name in os.environ), 0)


def launched_rank() -> int | None:
    """Return the number of this rank by the launcher's variables, before MPI is loaded; None without one."""
    return next((_number(name) for name in _RANKS if name in os.environ), None)


def choose_library() -> None:
    """Let mpi4py load the MPI of the launcher: under OpenMPI's it would otherwise load the MPICH of the environment.

    srun --mpi=pmix names no MPI, but the MPICH of the package mpich does not speak PMIx and would abort.
    A setting of mpi4py in the environment takes precedence. To be called before mpi4py.MPI is imported.
    """
    pmix = "PMIX_RANK" in os.environ and "PMI_SIZE" not in os.environ
    if ("OMPI_COMM_WORLD_SIZE" in os.environ or pmix) and "MPI4PY_LIBMPI" not in os.environ:
        os.environ.setdefault(LIBRARY, "openmpi")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0

"""What the variables of its environment tell a process about the ranks that it was started with; loads no MPI."""

import os
from typing import Final

from airshed.core.errors import AirshedError

ASKED_FOR: Final = "AIRSHED_RANKS"
"""The number of ranks that whoever launched them asked for; the world must have it."""

LIBRARY: Final = "MPI4PY_MPIABI"
"""Which MPI mpi4py speaks to: mpich or openmpi."""

_SIZES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
"""Variables in which MPI launchers (Hydra and Slurm, OpenMPI) tell each process how many there are."""

_RANKS: Final = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")

_OTHERS: Final = ("PMIX_RANK", "MPI_LOCALNRANKS")
"""Variables of launchers (PRRTE, Slurm with PMIx) that tell only that there are several."""

_TASKS: Final = "SLURM_STEP_NUM_TASKS"


def launched() -> bool:
    """Tell whether an MPI launcher started this process.

    Raises AirshedError where Slurm started several that no MPI connects: each would do the whole run.
    """
    if ranks_asked_for() or any(name in os.environ for name in _OTHERS):
        return True
    if _number(_TASKS) > 1:
        raise AirshedError(
            f"srun started {os.environ[_TASKS]} tasks that no MPI connects; take srun --mpi=pmi2 "
            "(--mpi=pmix for OpenMPI), or airshed run CASE -n N inside the allocation"
        )
    return False


def ranks_asked_for() -> int:
    """Return the number of ranks in the launcher's words; 0 where it does not tell, or there is none."""
    return _number(ASKED_FOR) or next((_number(name) for name in _SIZES if name in os.environ), 0)


def launched_rank() -> int | None:
    """Return the number of this rank in the launcher's words, which holds before MPI is there; None without one."""
    return next((_number(name) for name in _RANKS if name in os.environ), None)


def choose_library() -> None:
    """Let mpi4py take the MPI of the launcher: under OpenMPI's it would otherwise take the MPICH beside it.

    srun --mpi=pmix names no MPI, but the MPICH of the package mpich does not speak PMIx and would abort.
    What the environment says about mpi4py holds. To be called before mpi4py.MPI is imported.
    """
    pmix = "PMIX_RANK" in os.environ and "PMI_SIZE" not in os.environ
    if ("OMPI_COMM_WORLD_SIZE" in os.environ or pmix) and "MPI4PY_LIBMPI" not in os.environ:
        os.environ.setdefault(LIBRARY, "openmpi")


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0

"""Location of the mpiexec of the MPI in use, and its environment."""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, Self

from airshed.core.errors import AirshedError
from airshed.parallel.environment import LIBRARY

Family = Literal["mpich", "openmpi"]

PROGRAM: Final = "AIRSHED_MPIEXEC"
"""Variable with the mpiexec to use."""

_YIELDING: Final[dict[Family, str]] = {
    "mpich": "MPIR_CVAR_ENABLE_HEAVY_YIELD",
    "openmpi": "OMPI_MCA_mpi_yield_when_idle",
}
"""Settings that let waiting ranks yield their core: a sum over six MPICH ranks on two cores then takes 1 ms, not 20
ms.
"""

_OPENMPI_NAMES: Final = ("mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun")


@dataclass(frozen=True)
class Mpiexec:
    """Program that starts ranks, and its MPI."""

    path: str
    family: Family

    @classmethod
    def at(cls, path: str) -> Self:
        """Return the mpiexec at a path; raise AirshedError if it does not run."""
        return cls(path, _family(path))

    def command(self, ranks: int) -> list[str]:
        """Return the start of a command line; Airshed binds its ranks to cores itself, see ``binding``."""
        binding = ["--bind-to", "none"] if self.family == "openmpi" else []
        return [self.path, *binding, "-n", str(ranks)]

    def environment(self, *, crowded: bool = False) -> dict[str, str]:
        """Return the required variables: the MPI of the ranks, and OpenMPI's permission to run as root or
        oversubscribed.

        crowded  ranks outnumber cores: waiting ranks yield their core instead of polling
        MPICH's ranks find their library by themselves; a library named in the environment is used.
        """
        yielding = {name: os.environ.get(name, "1") for name in (_YIELDING[self.family],) if crowded}
        if self.family == "mpich":
            return yielding
        library = {} if "MPI4PY_LIBMPI" in os.environ else {LIBRARY: os.environ.get(LIBRARY, "openmpi")}
        return {
            **library,
            **yielding,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        }


def find_mpiexec() -> Mpiexec:
    """Return the mpiexec of AIRSHED_MPIEXEC, else of the MPI in MPI4PY_MPIABI, else the one next to Python.

    Raises AirshedError if there is none, or if the named one does not run.
    """
    named = os.environ.get(PROGRAM)
    if named:
        found = shutil.which(named)
        if found is None:
            raise AirshedError(f"{PROGRAM}={named} is not a program; set it to the mpiexec to use, or unset it")
        return Mpiexec.at(found)
    wanted: Family = "openmpi" if os.environ.get(LIBRARY, "").lower().startswith("openmpi") else "mpich"
    of_openmpi = [path for path in map(shutil.which, _OPENMPI_NAMES) if path]
    for path in of_openmpi if wanted == "openmpi" else _mpich_places():
        if _family(path) == wanted:
            return Mpiexec(path, wanted)
    packages = "apt install openmpi-bin" if wanted == "openmpi" else "pip install mpich"
    raise AirshedError(f"there is no mpiexec of {wanted}; {packages}, or set {PROGRAM}")


def _mpich_places() -> list[str]:
    """Return the candidate paths; the scripts of this Python come first, as the PATH may have another MPI's."""
    beside = [Path(sys.executable).parent / "mpiexec", Path(sysconfig.get_path("scripts")) / "mpiexec"]
    places = [str(path) for path in beside if path.is_file()]
    on_path = shutil.which("mpiexec")
    return list(dict.fromkeys([*places, *([on_path] if on_path else [])]))


@lru_cache
def _family(path: str) -> Family:
    """Return the MPI of an mpiexec, by its version text; raise AirshedError if it does not run."""
    return "openmpi" if any(word in version(path) for word in ("Open MPI", "OpenRTE", "PRRTE", "prte")) else "mpich"


@lru_cache
def version(path: str) -> str:
    """Return the version text of an mpiexec."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AirshedError(f"{path} does not run: {error}") from error
    return done.stdout + done.stderr

"""What `airshed doctor` says of ranks: the MPI library, its mpiexec, a world of two, and the libraries of one file."""

import json
import os
import shutil
import subprocess
import sys
from typing import Final

from airshed.cli.doctor_check import Check
from airshed.core.errors import AirshedError
from airshed.io.libraries import NETCDF4, PNETCDF
from airshed.parallel.environment import ASKED_FOR
from airshed.parallel.mpiexec import PROGRAM, Mpiexec, find_mpiexec, version

_SECONDS: Final = 60

# MPI's libraries print lines of their own, before and after: what is ours stands behind this mark.
_MARK: Final = "airshed-answer:"

_LIBRARY: Final = f"""
from mpi4py import MPI
print("{_MARK}", MPI.Get_library_version().strip("\\0 \\n").splitlines()[0])
"""

_WORLD: Final = f"""
from airshed.core.errors import AirshedError
from airshed.parallel.communicator import world
try:
    ranks = world()
except AirshedError as error:
    print("{_MARK}", error)
    raise SystemExit(1)
ranks.barrier()
"""

_FILES: Final = f"""
import json
from airshed.io.libraries import NETCDF4, PNETCDF
print("{_MARK}", json.dumps([library.reason_against() for library in (PNETCDF, NETCDF4)]))
"""


def mpi_checks() -> list[Check]:
    """Look at MPI, each part in a process of its own: a library at odds with another may end the process it is in."""
    try:
        mpiexec = find_mpiexec()
    except AirshedError as error:
        advice = "runs on one rank need none; pip install mpich"
        return [_library({}), Check("mpiexec", "warning", str(error), advice), *_files({})]
    environment = mpiexec.environment()
    return [_library(environment), _mpiexec(mpiexec), world_of(2, mpiexec), *_files(environment)]


def _library(environment: dict[str, str]) -> Check:
    code, text = _answer([sys.executable, "-c", _LIBRARY], environment)
    first = (text.splitlines() or ["no answer"])[-1 if code else 0]
    if code:
        advice = "runs on one rank need none; pip install mpi4py mpich, or unset MPI4PY_MPIABI and MPI4PY_LIBMPI"
        return Check("MPI", "warning", first, advice)
    return Check("MPI", "ok", " ".join(first.split()))


def _mpiexec(mpiexec: Mpiexec) -> Check:
    """Name the mpiexec that is taken, and another that a shell would take."""
    release = next((word for word in version(mpiexec.path).split() if word[:1].isdigit()), "of unknown version")
    name = "OpenMPI" if mpiexec.family == "openmpi" else "MPICH"
    detail = f"{mpiexec.path} ({name} {release})"
    on_path = shutil.which("mpiexec")
    if on_path and Mpiexec.at(on_path).family != mpiexec.family:
        detail += f"; mpiexec on the PATH is another MPI's: {on_path}"
    return Check("mpiexec", "ok", detail)


def world_of(ranks: int, mpiexec: Mpiexec) -> Check:
    """Start ranks, and see that they find each other."""
    code, text = _answer(
        [*mpiexec.command(ranks), sys.executable, "-c", _WORLD], {**mpiexec.environment(), ASKED_FOR: str(ranks)}
    )
    if code == 0:
        return Check("ranks", "ok", f"{ranks} started, and found each other")
    said = next((line for line in text.splitlines() if line.strip(" -=")), f"they ended with code {code}")
    return Check("ranks", "warning", said, f"unset {PROGRAM} and MPI4PY_MPIABI, or let both name one MPI")


def _files(environment: dict[str, str]) -> list[Check]:
    """Look at the libraries by which ranks write one file; no more than a warning, as other strategies need none."""
    code, text = _answer([sys.executable, "-c", _FILES], environment)
    found = json.loads(text) if code == 0 else ["cannot be looked at without MPI"] * 2
    return [_file_library(library.title, why) for library, why in zip((PNETCDF, NETCDF4), found, strict=True)]


def _file_library(title: str, reason: str | None) -> Check:
    """Say what is to say of a library; its reason tells what is wrong and where, and after a semicolon what to do."""
    if reason is None:
        return Check(title, "ok", "found, and speaks the same MPI")
    wrong, _, remedy = reason.removeprefix(f"{title} ").partition("; ")
    return Check(title, "warning", wrong, f"optional; {remedy}".removesuffix("; "))


def _answer(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Return exit code and answer of a command: the line behind the mark, or all that it said where no line has one.

    A world that a launcher of this process set up is no part of it.
    """
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI_COMM", "MPI_LOCAL"))}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env={**mine, **environment}, timeout=_SECONDS,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    marked = [line.partition(_MARK)[2].strip() for line in done.stdout.splitlines() if _MARK in line]
    return done.returncode, marked[0] if marked else (done.stdout or done.stderr).strip("\0 \n")

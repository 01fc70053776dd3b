"""Checks of the requirements of Airshed on this machine, with advice on missing ones."""

import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.table import Table
from rich.text import Text

from airshed.core.errors import AirshedError, KernelError
from airshed.core.files import resource
from airshed.core.version import __version__
from airshed.io.libraries import NETCDF4, PNETCDF
from airshed.kernels.backend import gpus
from airshed.kernels.cache import VARIABLE as CACHE_VARIABLE
from airshed.kernels.cache import cache_folder, check_trusted, write_problem
from airshed.kernels.host import processor, usable_cores
from airshed.kernels.toolchain import ADVICE, build, find_toolchain, has_zig, load
from airshed.parallel.environment import REQUESTED_RANKS
from airshed.parallel.mpiexec import PROGRAM, Mpiexec, find_mpiexec, version

Status = Literal["ok", "warning", "missing"]


@dataclass(frozen=True)
class Check:
    """Check of a requirement: its status, details, and advice."""

    name: str
    status: Status
    detail: str
    advice: str = ""


_GIB: Final = 2**30
_ENOUGH_MEMORY: Final = 1 * _GIB
_ENOUGH_DISK: Final = 1 * _GIB
_COLOUR: Final[dict[Status, str]] = {"ok": "green", "warning": "yellow", "missing": "red"}
# Kernels need vector types and this shuffle of their lanes; the comment is shown with the compiler's message.
_PROBE: Final = """#include <cmath>
typedef double pack __attribute__((vector_size(64)));
extern "C" void airshed_probe(pack* x) {
    *x = __builtin_shufflevector(*x, *x, 1, 2, 3, 4, 5, 6, 7, 8) * std::exp((*x)[0]); // needs g++ 12, clang 14 or newer
}
"""


def collect() -> list[Check]:
    """Check interpreter, packages, compiler, cache, processor, memory, disk, time zones, shipped files and MPI."""
    return [*_packages(), *_compilation(), *_machine(), _gpu(), *_files(), *mpi_checks(), _zarr()]


def healthy(checks: Iterable[Check]) -> bool:
    """Return whether all requirements of a run are met."""
    return all(check.status != "missing" for check in checks)


def as_table(checks: Iterable[Check]) -> Table:
    """Return the checks as a table for a terminal."""
    table = Table("", "", "", show_header=False, box=None, pad_edge=False)
    for check in checks:
        advice = Text(f"\n{check.advice}" if check.advice else "", style="bold")
        table.add_row(Text(check.status, style=_COLOUR[check.status]), check.name, Text(check.detail) + advice)
    return table


def as_dict(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the checks as plain values, ready for JSON."""
    return {"airshed": __version__, "healthy": healthy(checks), "checks": [asdict(check) for check in checks]}


def _packages() -> Iterator[Check]:
    yield Check("Python", "ok", f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}")
    needed = required_packages(importlib.metadata.requires("airshed") or [])
    absent = [name for name in needed if _version(name) is None]
    if absent:
        yield Check("packages", "missing", f"not installed: {', '.join(absent)}", f"pip install {' '.join(absent)}")
    else:
        yield Check("packages", "ok", ", ".join(f"{name} {_version(name)}" for name in needed))


def required_packages(requirements: Iterable[str]) -> list[str]:
    """Return the names in a list of requirements, without those of extras."""
    plain = (text for text in requirements if "extra ==" not in text)
    return [match[0] for match in (re.match(r"[\w.-]+", text) for text in plain) if match]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compilation() -> Iterator[Check]:
    # Compile and load a function: a compiler with an answer to --version may still lack its libraries.
    try:
        toolchain = find_toolchain()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about the cache folder, which has a check of its own
            load(build(_PROBE, name="doctor", toolchain=toolchain))
        yield Check("C++ compiler", "ok", f"{toolchain.version} ({' '.join(toolchain.command)})")
    except KernelError as error:
        yield Check("C++ compiler", "missing", str(error).removesuffix(f"; {ADVICE}"), ADVICE)
    if has_zig():
        detail = f"{_version('ziglang')}, used where there is no other compiler; slow at first use"
        yield Check("ziglang", "ok", detail)
    # The cache of compiled kernels.
    folder, mend = cache_folder(), f"set {CACHE_VARIABLE} to a folder that you own"
    if problem := write_problem(folder):
        yield Check("kernel cache", "warning", f"{folder}: {problem}", mend)
        return
    try:
        check_trusted(folder)
    except AirshedError as error:
        yield Check("kernel cache", "missing", str(error), mend)
        return
    sizes = [path.stat().st_size for path in folder.glob("*.so")]
    detail = f"{folder}: {len(sizes)} libraries, {sum(sizes) / 1e6:.1f} MB; can be deleted at any time"
    yield Check("kernel cache", "ok", detail)


def _machine() -> Iterator[Check]:
    # Processor and cores.
    cpu, cores, there = processor(), usable_cores(), os.cpu_count() or 1
    sets = [name for name in ("avx512f", "avx2", "fma", "sve", "asimd") if name in cpu.features]
    detail = f"{cpu.model} ({cpu.architecture}; {', '.join(sets) or 'vector instructions unknown'})"
    slow = cpu.architecture == "x86_64" and "avx2" not in cpu.features
    yield _warning_if(slow, "processor", detail, "kernels run without AVX2, at a fraction of their speed")
    of = f" of {there}" if there != cores else ""
    yield Check("cores", "ok", f"{cores}{of} usable: as many threads on one rank, a share of them on each of several")
    # Memory and disk.
    available, free = available_memory(), shutil.disk_usage(Path.cwd()).free
    detail = "unknown on this system" if available is None else f"{available / _GIB:.1f} GiB available"
    little = available is not None and available < _ENOUGH_MEMORY
    yield _warning_if(
        little, "memory", detail, "airshed show CASE estimates the memory of a case; close other programs"
    )
    detail = f"{free / _GIB:.1f} GiB free in {Path.cwd()}"
    yield _warning_if(free < _ENOUGH_DISK, "disk", detail, "write results elsewhere: airshed run CASE --output DIR")


def _gpu() -> Check:
    """Check whether steps can run on GPUs (``run.device``), and list them."""
    try:
        cards = gpus()
    except KernelError as error:
        if Path("/dev/nvidiactl").exists():
            return Check("GPU", "warning", f"not usable: {error}", "steps run on the CPU until this is corrected")
        return Check("GPU", "ok", "none: steps run on the CPU")
    if len(cards) == 1:
        return Check("GPU", "ok", f'{cards[0]}; set run.device = "cuda" to use it')
    names = ", ".join(f"{card} ({number})" for number, card in enumerate(cards))
    return Check("GPU", "ok", f'{names}; set run.device = "cuda", and take {len(cards)} ranks to use all')


def _warning_if(unwell: bool, name: str, detail: str, advice: str) -> Check:
    return Check(name, "warning", detail, advice) if unwell else Check(name, "ok", detail)


def available_memory() -> int | None:
    """Return the available memory [bytes] by Linux's estimate; None on other systems."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _files() -> Iterator[Check]:
    try:
        ZoneInfo("Europe/Paris")
        yield Check("time zones", "ok", "present")
    except ZoneInfoNotFoundError:
        yield Check("time zones", "missing", "no time zone data; emissions follow local time", "pip install tzdata")
    try:
        yield Check("shipped files", "ok", ", ".join(str(resource(name)) for name in ("mechanisms", "cases")))
    except AirshedError as error:
        yield Check("shipped files", "missing", str(error), "install Airshed again from a complete checkout or wheel")


def _zarr() -> Check:
    detail = _version("zarr") or "not installed; the output strategy zarr needs it"
    return _warning_if(_version("zarr") is None, "zarr", detail, "pip install zarr")


_SECONDS: Final = 60

# MPI's libraries print lines of their own before and after the answer, which has this mark.
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
print("{_MARK}", json.dumps([library.unavailable_reason() for library in (PNETCDF, NETCDF4)]))
"""


def mpi_checks() -> list[Check]:
    """Check MPI, each part in a separate process: incompatible libraries may end a process."""
    try:
        mpiexec = find_mpiexec()
    except AirshedError as error:
        advice = "runs on one rank need none; pip install mpich"
        return [_library({}), Check("mpiexec", "warning", str(error), advice), *_file_libraries({})]
    environment = mpiexec.environment()
    return [_library(environment), _mpiexec(mpiexec), world_of(2, mpiexec), *_file_libraries(environment)]


def _library(environment: dict[str, str]) -> Check:
    code, text = _answer([sys.executable, "-c", _LIBRARY], environment)
    first = (text.splitlines() or ["no answer"])[-1 if code else 0]
    if code:
        advice = "runs on one rank need none; pip install mpi4py mpich, or unset MPI4PY_MPIABI and MPI4PY_LIBMPI"
        return Check("MPI", "warning", first, advice)
    return Check("MPI", "ok", " ".join(first.split()))


def _mpiexec(mpiexec: Mpiexec) -> Check:
    """Return the mpiexec that is used, and another one on the PATH."""
    release = next((word for word in version(mpiexec.path).split() if word[:1].isdigit()), "of unknown version")
    name = "OpenMPI" if mpiexec.family == "openmpi" else "MPICH"
    detail = f"{mpiexec.path} ({name} {release})"
    on_path = shutil.which("mpiexec")
    if on_path and Mpiexec.at(on_path).family != mpiexec.family:
        detail += f"; mpiexec on the PATH is of another MPI: {on_path}"
    return Check("mpiexec", "ok", detail)


def world_of(ranks: int, mpiexec: Mpiexec) -> Check:
    """Start ranks and check that they find each other."""
    code, text = _answer(
        [*mpiexec.command(ranks), sys.executable, "-c", _WORLD], {**mpiexec.environment(), REQUESTED_RANKS: str(ranks)}
    )
    if code == 0:
        return Check("ranks", "ok", f"{ranks} started, and found each other")
    said = next((line for line in text.splitlines() if line.strip(" -=")), f"they ended with code {code}")
    return Check("ranks", "warning", said, f"unset {PROGRAM} and MPI4PY_MPIABI, or let both name one MPI")


def _file_libraries(environment: dict[str, str]) -> list[Check]:
    """Check the libraries by which ranks write one file; at most a warning, as other strategies need none.

    The reason against a library is an error with its path, and after a semicolon the remedy.
    """
    code, text = _answer([sys.executable, "-c", _FILES], environment)
    reasons = json.loads(text) if code == 0 else ["cannot be checked without MPI"] * 2
    checks = []
    for title, reason in zip((PNETCDF.title, NETCDF4.title), reasons, strict=True):
        wrong, _, remedy = (reason or "").removeprefix(f"{title} ").partition("; ")
        advice = f"optional; {remedy}".removesuffix("; ")
        checks.append(_warning_if(bool(reason), title, wrong or "found, and speaks the same MPI", advice))
    return checks


def _answer(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Return exit code and answer of a command: the text after the mark, or its whole output without a mark.

    The variables of a launcher of this process are removed.
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

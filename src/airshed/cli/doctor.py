"""Looks at everything that Airshed needs from its machine, and says what to do about what is missing."""

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rich.table import Table
from rich.text import Text

from airshed.cli.doctor_check import Check, Status
from airshed.cli.doctor_mpi import mpi_checks
from airshed.core.errors import AirshedError, KernelError
from airshed.core.files import resource
from airshed.core.version import __version__
from airshed.kernels.backends.cpu.cache import VARIABLE as CACHE_VARIABLE
from airshed.kernels.backends.cpu.cache import cache_folder, check_trusted, write_problem
from airshed.kernels.backends.cpu.toolchain import ADVICE, build, find_toolchain, has_zig, load
from airshed.kernels.host import processor, usable_cores

_GIB: Final = 2**30
_ENOUGH_MEMORY: Final = 1 * _GIB
_ENOUGH_DISK: Final = 1 * _GIB
_COLOUR: Final[dict[Status, str]] = {"ok": "green", "warning": "yellow", "missing": "red"}
# Kernels lean on vector types and on this shuffle of their lanes; the comment is shown with the compiler's complaint.
_PROBE: Final = """#include <cmath>
typedef double pack __attribute__((vector_size(64)));
extern "C" void airshed_probe(pack* x) {
    *x = __builtin_shufflevector(*x, *x, 1, 2, 3, 4, 5, 6, 7, 8) * std::exp((*x)[0]); // needs g++ 12, clang 14 or newer
}
"""


def collect() -> list[Check]:
    """Look at interpreter, packages, compiler, cache, processor, memory, disk, time zones, shipped files and MPI."""
    return [
        _python(),
        _packages(),
        _compiler(),
        _zig(),
        _cache(),
        _processor(),
        _cores(),
        _memory(),
        _disk(),
        _time_zones(),
        _shipped_files(),
        *mpi_checks(),
        _zarr(),
    ]


def healthy(checks: Iterable[Check]) -> bool:
    """Tell whether nothing that a run needs is missing."""
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


def _python() -> Check:
    detail = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    return Check("Python", "ok", detail)


def _packages() -> Check:
    needed = required_packages(importlib.metadata.requires("airshed") or [])
    absent = [name for name in needed if _version(name) is None]
    if absent:
        return Check("packages", "missing", f"not installed: {', '.join(absent)}", f"pip install {' '.join(absent)}")
    return Check("packages", "ok", ", ".join(f"{name} {_version(name)}" for name in needed))


def required_packages(requirements: Iterable[str]) -> list[str]:
    """Return the names in a list of requirements, without those of extras."""
    plain = (text for text in requirements if "extra ==" not in text)
    return [match[0] for match in (re.match(r"[\w.-]+", text) for text in plain) if match]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _compiler() -> Check:
    """Compile and load a function: a compiler that answers --version may still lack its libraries."""
    try:
        toolchain = find_toolchain()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about the cache folder, which has a check of its own
            load(build(_PROBE, name="doctor", toolchain=toolchain))
    except KernelError as error:
        return Check("C++ compiler", "missing", str(error).removesuffix(f"; {ADVICE}"), ADVICE)
    return Check("C++ compiler", "ok", f"{toolchain.version} ({' '.join(toolchain.command)})")


def _zig() -> Check:
    if has_zig():
        return Check(
            "ziglang", "ok", f"{_version('ziglang')}, used where there is no other compiler; slow the first time"
        )
    return Check("ziglang", "ok", "not installed; pip install ziglang brings a compiler where there is no other")


def _cache() -> Check:
    folder = cache_folder()
    problem = write_problem(folder)
    if problem:
        return Check("kernel cache", "warning", f"{folder}: {problem}", f"set {CACHE_VARIABLE} to a folder of yours")
    try:
        check_trusted(folder)
    except AirshedError as error:
        return Check("kernel cache", "missing", str(error), f"set {CACHE_VARIABLE} to a folder of yours")
    sizes = [path.stat().st_size for path in folder.glob("*.so")]
    detail = f"{folder}: {len(sizes)} libraries, {sum(sizes) / 1e6:.1f} MB; may be deleted at any time"
    return Check("kernel cache", "ok", detail)


def _processor() -> Check:
    cpu = processor()
    sets = [name for name in ("avx512f", "avx2", "fma", "sve", "asimd") if name in cpu.features]
    detail = f"{cpu.model} ({cpu.architecture}; {', '.join(sets) or 'vector instructions unknown'})"
    if cpu.architecture == "x86_64" and "avx2" not in cpu.features:
        return Check("processor", "warning", detail, "kernels run without AVX2, at a fraction of their speed")
    return Check("processor", "ok", detail)


def _cores() -> Check:
    cores, there = usable_cores(), os.cpu_count() or 1
    of = f" of {there}" if there != cores else ""
    return Check("cores", "ok", f"{cores}{of} usable: as many threads on one rank, a share of them on each of several")


def _memory() -> Check:
    available = available_memory()
    if available is None:
        return Check("memory", "ok", "unknown on this system")
    detail = f"{available / _GIB:.1f} GiB available"
    if available < _ENOUGH_MEMORY:
        return Check("memory", "warning", detail, "airshed show CASE says what a case needs; close other programs")
    return Check("memory", "ok", detail)


def available_memory() -> int | None:
    """Return the memory that can still be had [bytes], from Linux's own estimate; None on other systems."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free
    detail = f"{free / _GIB:.1f} GiB free in {Path.cwd()}"
    if free < _ENOUGH_DISK:
        return Check("disk", "warning", detail, "write results elsewhere: airshed run CASE --output DIR")
    return Check("disk", "ok", detail)


def _time_zones() -> Check:
    try:
        ZoneInfo("Europe/Paris")
    except ZoneInfoNotFoundError:
        return Check("time zones", "missing", "no time zone data; emissions follow local time", "pip install tzdata")
    return Check("time zones", "ok", "present")


def _zarr() -> Check:
    version = _version("zarr")
    if version is None:
        return Check("zarr", "warning", "not installed; the output strategy zarr needs it", "pip install zarr")
    return Check("zarr", "ok", version)


def _shipped_files() -> Check:
    try:
        folders = [resource(name) for name in ("mechanisms", "cases")]
    except AirshedError as error:
        return Check("shipped files", "missing", str(error), "install Airshed again from a complete checkout or wheel")
    return Check("shipped files", "ok", ", ".join(str(folder) for folder in folders))

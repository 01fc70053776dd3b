"""Compilation of generated C++ into shared libraries, once per source, compiler and processor, and their loading.

The compiler is ``AIRSHED_CXX``, else one in the conda environment of this Python, else g++, c++ or clang++, else the
compiler in the ``ziglang`` wheel.
"""

import ctypes
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError, OutputError
from airshed.kernels import abi
from airshed.kernels.cache import VARIABLE as CACHE_VARIABLE
from airshed.kernels.cache import cache_folder, intact, one_at_a_time, store, writable_folder
from airshed.kernels.host import Processor, processor, usable_cores

_ERROR: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
_SHOWN_ERRORS: Final = 3
_SHOWN_LINES: Final = 5


def explain(complaints: str, sources: Mapping[Path, str]) -> str:
    """Return the first errors in the output of a compiler, each with its source line, and the path of the source.

    Errors of a linker have no line; then the first lines of the output are returned unchanged.
    """
    matches = [match for match in map(_ERROR.match, complaints.splitlines()) if match]
    shown = [_with_source(match, sources) for match in matches[:_SHOWN_ERRORS]]
    if not shown:
        shown = [line for line in complaints.splitlines() if line.strip()][:_SHOWN_LINES]
    more = len(matches) - _SHOWN_ERRORS
    tail = [f"... and {more} more"] if more > 0 else []
    kept = ", ".join(str(path) for path in sources)
    return "\n".join([f"the generated code does not compile; the source is in {kept}", *shown, *tail])


def _with_source(match: re.Match[str], sources: Mapping[Path, str]) -> str:
    number = int(match["line"])
    message = f"{Path(match['file']).name}, line {number}: {match['text']}"
    text = sources.get(Path(match["file"]))
    return message if text is None else message + "".join(f"\n    {line}" for line in commented_line(text, number))


def commented_line(text: str, number: int) -> list[str]:
    """Return a line (counted from 1) and, if it has no comment, the comment line above it."""
    lines = text.splitlines()
    if not 1 <= number <= len(lines):
        return []
    line = lines[number - 1].strip()
    above = lines[number - 2].strip() if number > 1 else ""
    return [above, line] if "//" not in line and above.startswith("//") else [line]


COMPILER_VARIABLE: Final = "AIRSHED_CXX"
"""Environment variable with the compiler command, with options if necessary."""

ADVICE: Final = (
    "install g++ (Debian, Ubuntu: apt install g++), or the wheel with a compiler: "
    f"{sys.executable} -m pip install ziglang"
)
"""Advice without a compiler; it names this interpreter, since the pip of another would install elsewhere."""

FLAGS: Final[dict[str, str]] = {
    "-std=c++17": "the language of the generated code",
    "-O3": "unroll and vectorise the inner loops",
    "-fPIC": "the code is part of a shared library",
    "-fno-math-errno": "errno is not read after sqrt or exp, and setting it prevents vectorisation",
    "-fno-trapping-math": "floating-point exceptions are not used, so both branches of a selection may be computed",
    "-ffp-contract=fast": "a * b + c with one rounding, if the processor supports it",
}
"""Compiler options of every kernel, with reasons. Not ``-ffast-math``: it reorders sums and removes checks for NaN."""

_PREFERRED: Final = ("g++", "c++", "clang++")


class Unit(NamedTuple):
    """A translation unit: its name, C++ text, and further options, which take precedence."""

    name: str
    text: str
    flags: tuple[str, ...] = ()


Source = str | Sequence[Unit]
"""C++ text, or translation units."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler, its target processor, and the options for both."""

    command: tuple[str, ...]
    version: str
    cpu: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class BuiltLibrary:
    """A compiled library: its path, its compile time [s], and whether it was in the cache."""

    path: Path
    seconds: float
    cached: bool
    key: str


def find_toolchain() -> Toolchain:
    """Return the compiler of this machine.

    Raises KernelError if there is none, or if ``AIRSHED_CXX`` does not run.
    """
    cpu = processor()
    chosen = os.environ.get(COMPILER_VARIABLE)
    if chosen:
        command = tuple(shlex.split(chosen))
        version = compiler_version(command)
        if version is None:
            raise KernelError(f"{COMPILER_VARIABLE}={chosen!r} is not a compiler that runs; correct it or unset it")
        return Toolchain(command, version, cpu.identity, flags_for(cpu))
    for command in _candidates():
        version = compiler_version(command)
        if version is not None:
            return Toolchain(command, version, cpu.identity, flags_for(cpu))
    raise KernelError(f"no C++ compiler found; {ADVICE}")


def _candidates() -> list[tuple[str, ...]]:
    found = [(str(path),) for path in _conda_compilers()]
    found += [(path,) for path in map(shutil.which, _PREFERRED) if path is not None]
    return found + ([(sys.executable, "-m", "ziglang", "c++")] if has_zig() else [])


def _conda_compilers() -> list[Path]:
    """Return the compilers in the conda environment of this Python, which need not be activated.

    They come first: a library of a newer compiler may require a newer C++ runtime than the environment has loaded.
    """
    prefix = Path(sys.prefix)
    if not (prefix / "conda-meta").is_dir():
        return []
    names = (*_PREFERRED, "*-conda-linux-gnu-c++", "*-apple-darwin*-clang++")
    return [path for name in names for path in sorted((prefix / "bin").glob(name)) if os.access(path, os.X_OK)]


def has_zig() -> bool:
    """Return whether the ``ziglang`` wheel, which contains a compiler, is installed."""
    return importlib.util.find_spec("ziglang") is not None


def compiler_version(command: tuple[str, ...]) -> str | None:
    """Return the first line of the version output of a compiler; None if it does not run."""
    try:
        answer = subprocess.run((*command, "--version"), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip().partition("\n")[0]


def flags_for(cpu: Processor) -> tuple[str, ...]:
    """Return the options for a processor: those of every kernel, its instruction sets, its widest vectors."""
    if cpu.architecture not in ("x86_64", "AMD64"):
        return (*FLAGS, "-mcpu=native")
    # Compilers halve the vectors of AVX-512 processors to avoid a lower clock rate; kernels gain from the full width.
    wide = ("-mprefer-vector-width=512",) if "avx512f" in cpu.features else ()
    return (*FLAGS, "-march=native", *wide)


def build(
    source: Source, *, name: str, toolchain: Toolchain | None = None, extra_flags: Sequence[str] = ()
) -> BuiltLibrary:
    """Compile C++ into a shared library, or return the cached one.

    Several translation units are compiled concurrently, on all cores, and linked in their order. The source is stored
    with the library. If several processes build the same library at the same time, one of them compiles it.

    Raises KernelError with the first errors of the compiler and their source lines.
    """
    began = time.perf_counter()
    toolchain = toolchain or find_toolchain()
    units = [Unit("", source)] if isinstance(source, str) else list(source)
    key = _key(units, toolchain, extra_flags)
    folder = cache_folder()
    cached = intact(_library_path(folder, name, key))
    if not cached:
        folder = writable_folder()
        path = _library_path(folder, name, key)
        with one_at_a_time(path):
            cached = intact(path)  # in the fallback folder, or built by another process in the meantime
            if not cached:
                _compile(units, path, (*toolchain.command, *toolchain.flags, *extra_flags))
    return BuiltLibrary(_library_path(folder, name, key), time.perf_counter() - began, cached, key)


def load(library: BuiltLibrary) -> ctypes.CDLL:
    """Load a compiled library; its calls release Python's interpreter lock.

    Raises KernelError if the system refuses, for example on a folder mounted without execute permission.
    """
    try:
        return ctypes.CDLL(str(library.path))
    except OSError as error:
        raise KernelError(
            f"cannot load {library.path}: {error}. Delete it, or set {CACHE_VARIABLE} to a folder that may run programs"
        ) from error


def _key(units: list[Unit], toolchain: Toolchain, extra_flags: Sequence[str]) -> str:
    """Return the digest of all inputs of a library."""
    parts = (repr([tuple(unit) for unit in units]), repr(toolchain), repr(tuple(extra_flags)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _library_path(folder: Path, name: str, key: str) -> Path:
    """Return the path of a library; its key identifies it, the name is for human readers."""
    return folder / f"{re.sub(r'[^A-Za-z0-9_+-]', '_', name)[:80]}-{key}.so"


def _compile(units: list[Unit], path: Path, command: tuple[str, ...]) -> None:
    """Compile translation units in parallel, link them, and store the library under its path."""
    kept_as = [path.with_name(f"{path.stem}{'-' if unit.name else ''}{unit.name}.cpp") for unit in units]
    sources = {kept: unit.text for kept, unit in zip(kept_as, units, strict=True)}
    try:
        for kept, text in sources.items():
            with write_whole(kept) as part:
                part.write_bytes(text.encode())
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as workshop:
            objects = {kept: Path(workshop) / f"{kept.stem}.o" for kept in sources}
            pairs = zip(objects.items(), units, strict=True)
            compiles = [(*command, *unit.flags, "-c", str(kept), "-o", str(to)) for (kept, to), unit in pairs]
            with ThreadPoolExecutor(usable_cores()) as pool:
                complaints = list(pool.map(_run, compiles))
            linked = Path(workshop) / path.name
            if not any(complaints):
                complaints = [_run((*command, "-shared", *map(str, objects.values()), "-o", str(linked)))]
            if any(complaints):
                raise KernelError(explain("\n".join(complaints), sources))
            store(path, linked.read_bytes())
    except OutputError as error:
        raise KernelError(f"{error} by setting {CACHE_VARIABLE}") from error
    except OSError as error:
        raise KernelError(f"cannot build {path}: {error}. Free the disk, or set {CACHE_VARIABLE} elsewhere") from error


def _run(command: tuple[str, ...]) -> str:
    """Run a compiler; return its error output if it fails, else an empty string."""
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode == 0:
        return ""
    return answer.stderr.strip() or f"{command[0]} ended with status {answer.returncode}"


def keeping_lock(function: Any) -> Callable[..., Any]:
    """Return a declared function that holds the interpreter lock of Python during calls: for calls of microseconds.

    A thread that releases the lock may wait milliseconds for it while another thread runs Python.
    """
    where = ctypes.cast(function, ctypes.c_void_p).value
    assert where is not None
    return ctypes.PYFUNCTYPE(function.restype, *function.argtypes)(where)


NUMPY_FLAGS: Final = ("-ffp-contract=off",)
"""NumPy rounds each product before the addition."""


@cache
def _toolchain() -> Toolchain:
    """Return the compiler; it is searched once, since a query of its version takes longer than loading a library."""
    return find_toolchain()


def host_functions(text: str, *, name: str) -> ctypes.CDLL:
    """Compile C++ functions for arrays of the host, with the roundings of NumPy.

    Raises KernelError without a compiler, or if the code does not compile.
    """
    library = build(text, name=name, toolchain=_toolchain(), extra_flags=NUMPY_FLAGS)
    return declared(load(library), text)


def declared(library: ctypes.CDLL, source: Source) -> ctypes.CDLL:
    """Return a library with the argument and result types of its functions set, as its source defines them."""
    text = source if isinstance(source, str) else source[0].text
    for name, (result, arguments) in abi.signatures(text).items():
        if hasattr(library, name):  # a unit may leave functions out
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library

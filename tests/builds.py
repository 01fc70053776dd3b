"""The catalogue of compiled libraries that tests share.

Each entry of `BUILDS` is a function that compiles one library or a few. They run once, before the first test, two at
a time, and their libraries stay in the kernel cache until the sources change. `tests/compiler` compiles at -O1, and
refuses every other library except in thorough tests and in those marked ``compiles``, of which `MARKED` is the number.

        python -m tests.builds      compile missing libraries, and list all
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

MOST_LIBRARIES: Final = 44
"""Most libraries of the catalogue. A new one replaces another, or the test uses one that exists.

A step on a device has two kernels and functions of the host, and cells have one: four of them.
"""

UNCOUNTED: Final = ("formula-", "cells-", "exact-sums-", "shim-controls-")
"""Starts of the names of libraries that compile in about a second, and do not count."""

MARKED: Final = 171
"""Tests of `make test` that are marked ``compiles``. Lower the number when a mark goes; never raise it."""

HERE: Final = Path(__file__).parent
COMPILER: Final = HERE / "compiler"
CACHE: Final = HERE.parent / ".kernel_cache"
TOY: Final = HERE / "kernels" / "data" / "toy.kpp"
MANIFEST: Final = "catalogue.txt"

BUILDS: dict[str, Callable[[], object]] = {}
"""Name of each build, and the function that compiles it."""


def build(function: Callable[[], object]) -> Callable[[], object]:
    """Add a function to the catalogue under its own name."""
    BUILDS[function.__name__] = function
    return function


def set_environment() -> None:
    """Select the compiler and the kernel cache of the tests, also for the programs that tests start."""
    os.environ.setdefault("AIRSHED_CACHE", str(CACHE))
    chosen = os.environ.get("AIRSHED_CXX") or next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    if chosen and chosen != str(COMPILER):
        os.environ["AIRSHED_TEST_COMPILER"] = chosen
        os.environ["AIRSHED_CXX"] = str(COMPILER)


def prepare() -> None:
    """Compile the libraries of the catalogue that the cache does not hold.

    Raises SystemExit where one does not compile, or where the catalogue has more than `MOST_LIBRARIES`.
    """
    manifest = Path(os.environ["AIRSHED_CACHE"]) / MANIFEST
    key = _digest()
    if "AIRSHED_TEST_COMPILER" not in os.environ or (manifest.is_file() and manifest.read_text().startswith(key)):
        return
    libraries = sorted(compile_all())
    if len(counted(libraries)) > MOST_LIBRARIES:
        raise SystemExit(
            f"tests/builds.py compiles {len(counted(libraries))} libraries, more than {MOST_LIBRARIES}:\n"
            + "\n".join(libraries)
        )
    manifest.write_text("\n".join([key, *libraries, ""]), encoding="utf-8")


def counted(libraries: Iterable[str]) -> list[str]:
    """Return the libraries that count."""
    return [name for name in libraries if not name.startswith(UNCOUNTED)]


def compile_all() -> set[str]:
    """Run all builds, two at a time, each in a process that exits afterwards; return the names of their libraries."""
    os.environ["AIRSHED_TEST_COMPILES"] = "1"
    try:
        with ProcessPoolExecutor(2) as pool:
            return {name for names in pool.map(_libraries_of, BUILDS) for name in names}
    finally:
        del os.environ["AIRSHED_TEST_COMPILES"]


def _libraries_of(name: str) -> set[str]:
    """Run one build; return the libraries of the kernel cache that this process has loaded so far."""
    BUILDS[name]()
    folder = Path(os.environ["AIRSHED_CACHE"])
    loaded = (Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines())
    return {path.name for path in loaded if path.parent == folder}


def _digest() -> str:
    """Return a digest of the inputs of the libraries: sources, the catalogue, the compiler, the processor."""
    from airshed.kernels.toolchain import find_toolchain

    found = hashlib.sha256(repr(find_toolchain()).encode())
    for path in _inputs():
        found.update(f"{path.relative_to(HERE.parent)}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _inputs() -> Iterator[Path]:
    root = HERE.parent
    for folder in (root / "src" / "airshed", root / "mechanisms", root / "cases", HERE / "laws"):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        yield from (path for path in files if path.suffix != ".nc" and "web" not in path.parts)
    toys = TOY, HERE / "kernels" / "kinds.py", HERE / "models" / "box" / "toy.py"
    yield from (Path(__file__), COMPILER, *toys, HERE / "golden.py")


# Kernels of single steps: a toy mechanism of all kinds of reactions.


def kernel(name: str, levels: int, precision: str = "double", **options: Any) -> Any:
    """Return the kernel of a mechanism, with the usual operators if none are given."""
    from tests.kernels.conftest import compiled

    return compiled(name, levels, precision, **options)


@build
def arrays() -> None:
    """Copies and sums of arrays."""
    from airshed.kernels.arrays import _functions

    _functions()


@build
def toy_usual() -> None:
    """The toy mechanism with 1 and 2 levels."""
    for levels in (1, 2):
        kernel("toy", levels)


@build
def toy_on_a_device() -> None:
    """The same for the CUDA backend: the step and cells through the shim, and functions of the host."""
    from tests.kernels.conftest import cells_on_a_device, shim_controls, toy_on_a_device

    _ = toy_on_a_device().sums
    cells_on_a_device("toy")
    shim_controls()


@build
def toy_of_all_kinds() -> None:
    """The toy mechanism with all kinds of operators in 7 levels, its tangent and its adjoint."""
    from tests.kernels.conftest import toy_of_all_kinds

    from airshed.kernels.backends.cpu.kernel import compile_reverse, compile_tangent

    toy_of_all_kinds("single")
    double = toy_of_all_kinds()
    compile_tangent(double)
    compile_reverse(double)


@build
def tracer() -> None:
    """Tracers without reactions."""
    kernel("tracer", 3)


@build
def emep_double() -> None:
    """The EMEP mechanism."""
    kernel("emep", 3)


@build
def emep_single() -> None:
    """The EMEP mechanism in single precision."""
    kernel("emep", 3, "single")


@build
def cells() -> None:
    """Chemistry of cells: the toy mechanism in both precisions, with tangent and adjoint, and tracers."""
    from tests.kernels.cells.conftest import chemistry

    from airshed.kernels.backends.cpu.cells import compile_reverse, compile_tangent

    chemistry("tracer")
    chemistry("toy", "single")
    compile_tangent(chemistry("toy"))
    compile_reverse(chemistry("toy"))


@build
def ways_of_running() -> None:
    """The cases of tests/laws/test_same_bits.py: small air by both integrators, and pasture."""
    from tempfile import TemporaryDirectory

    from tests.laws.ways import run_briefly

    with TemporaryDirectory() as folder:
        run_briefly(Path(folder))


@build
def derivatives() -> None:
    """The small case of tests/laws/derivatives.py by both integrators, its tangents, adjoints and changed rates."""
    from tests.laws.derivatives import run_all

    for scheme in ("imex", "ros3"):
        run_all(scheme)


@build
def boxes() -> None:
    """Boxes of the small mechanism with changed rates, and back, by Rosenbrock methods."""
    from tempfile import TemporaryDirectory

    from tests.inverse.test_box import air_of

    from airshed.inverse import box_sensitivity

    with TemporaryDirectory() as folder:
        air = air_of("small", Path(folder))
        box_sensitivity(air.network, air.day, "O3")


@build
def tracers_in_wind() -> None:
    """Tracers of 1 and 2 levels in uniform wind, as tests of the runtime use them."""
    from tests.runtime.test_batches import WINDS, make

    import airshed

    for integrator, layers in (("imex", ["500 m"]), ("imex", ["500 m", "1000 m"]), ("strang", ["500 m", "1000 m"])):
        data = make(integrator).to_dict()
        case = airshed.Case.from_dict(data | {"grid": data["grid"] | {"layers": layers}})
        with airshed.Simulation(case, WINDS) as simulation:
            simulation.step()


@build
def bucket() -> None:
    """A model of points of another package."""
    from tempfile import TemporaryDirectory

    import airshed
    from airshed.runtime import registry

    sys.path.append(str(HERE / "runtime" / "any_model" / "models"))
    registry.register("bucket", "bucket:KIND")
    with TemporaryDirectory() as folder:
        case = Path(folder) / "case.toml"
        due = '[[output]]\nevery = "1 day"\n[restart]\nevery = "1 day"\n'
        time = '[time]\nstart = 2022-08-31T00:00:00Z\nlength = "2 day"\n'
        case.write_text(f'model = "bucket"\n{time}{due}', encoding="utf-8")
        with airshed.Simulation(airshed.load_case(case)) as simulation:
            simulation.step()


@build
def layers_of_points() -> None:
    """A model of points whose fields have an axis."""
    from tests.process.layered import model

    model().close()


@build
def toy_boxes() -> None:
    """Boxes of a mechanism with open rates, by Rosenbrock methods and by Gauss-Seidel."""
    from tempfile import TemporaryDirectory

    from tests.models.box.toy import compile_toy

    with TemporaryDirectory() as folder:
        compile_toy(Path(folder))


@build
def emep_box() -> None:
    """A box of the EMEP mechanism."""
    from airshed.models.box import BoxConditions
    from airshed.models.box.run import box

    air = {"temperature": "298 K", "pressure": "1000 hPa", "humidity": "50 %"}
    box("emep", BoxConditions.from_dict({"time": {"length": "10 min"}, "environment": air, "rates": {"SUN": 0.0}}))


@build
def updates() -> None:
    """The gases and the examples of tests/models/air/processes/test_updates.py."""
    from tempfile import TemporaryDirectory

    from tests.models.air.processes.test_updates import small_run

    with TemporaryDirectory() as folder:
        small_run(Path(folder))


@build
def shipped_cases() -> None:
    """The shipped cases of air."""
    import airshed

    small = ["grid.area.lon=[4, 6]", "grid.area.lat=[50, 52]", "time.spinup=0 h"]
    for name, settings in (("tracer-rotation", []), ("west-europe", small), ("ash", ["grid.spacing=1 deg"])):
        with airshed.Simulation(airshed.load_case(name, settings)) as simulation:
            simulation.step()


@build
def queensland() -> None:
    """The shipped case of pasture."""
    import airshed

    with airshed.Simulation(airshed.load_case("queensland")) as simulation:
        simulation.step(2)


@build
def golden_run() -> None:
    """The golden run, and its gradient."""
    from tests import golden

    golden.make()


if __name__ == "__main__":
    set_environment()
    for library in sorted(compile_all()):
        print(library)

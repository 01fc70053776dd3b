"""States and conditions of the comparison: balanced air of a mechanism, spread by a factor of two."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.schedule import NOON
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.openatmos import CONDITIONS, musica_file, read_conditions
from benchmarks.chemistry.airshed_cells import AirshedCells, Settings
from benchmarks.chemistry.contender import REGIMES, Array, Trial
from benchmarks.chemistry.problem import Problem

TEMPERATURES: Final = (280.0, 300.0)
SPREAD: Final = 2.0
"""Largest factor between an initial and the balanced concentration."""

DISTURBANCE: Final = 1.1
"""Largest factor of a disturbance of a concentration."""

BALANCE: Final = 1800.0
"""Time [s] of integration before the initial state, so that radicals are present."""

_SEED: Final = 1
_TIGHT: Final = Settings("rodas4", 1e-7, 1.0)

_PLACEHOLDERS: Final = ("jch4_a", "jch4_b", "jo2_a", "jh2o_b", "jh2o_c", "jhf")
"""Photolysis reactions that have a placeholder of 1/s in the conditions of TS1."""

_CO_OH: Final = 2.4e-13  # cm3/s at the ground, JPL; the conditions of TS1 lack it, which is the main loss of OH


def trial(problem: Problem, kernel: CellKernel) -> Trial:
    """Return the calls on which a problem's solvers are compared, with accurate solutions."""
    tight = AirshedCells(kernel, problem, _TIGHT)
    tight.start()
    disturbances, solutions = _disturbances(problem), []
    for disturbance in disturbances:
        if disturbance is not None:
            tight.disturb(disturbance)
        tight.call()
        solutions.append(tight.result())
    return Trial(disturbances, solutions)


def _disturbances(problem: Problem) -> list[Array | None]:
    """Return the factors before each disturbed call; those of a cell do not depend on the number of cells."""
    calls = REGIMES["disturbed"]
    rng = np.random.default_rng(_SEED + 1)
    factors = np.exp(rng.uniform(-1.0, 1.0, (problem.cells, calls.stop - calls.start, len(problem.network.names)))
                     * np.log(DISTURBANCE))  # fmt: skip
    factors[..., [species in AIR_GASES for species in problem.network.names]] = 1.0
    return [None] * calls.start + [np.ascontiguousarray(each.T) for each in np.moveaxis(factors, 1, 0)]


def spread(
    name: str, network: ReactionNetwork, initial: Mapping[str, float], cells: int, *,
    parameters: Mapping[str, float] | None = None, density: float = NOON["M"],
) -> Problem:  # fmt: skip
    """Return a problem of cells at noon with states around the balanced one, log-uniform with a fixed seed.

    initial  species -> [molecules cm-3]; parameters: zero where not given; density: of air [molecules cm-3]
    """
    given = {each.name: (parameters or {}).get(each.name, each.default or 0.0) for each in network.parameters}
    rng = np.random.default_rng(_SEED)
    temperature = rng.uniform(*TEMPERATURES, cells)
    factors = SPREAD ** rng.uniform(-1.0, 1.0, (len(network.names), cells))
    factors[[species in AIR_GASES for species in network.names]] = 1.0
    y = np.array([[initial.get(species, 0.0)] for species in network.names])
    one = Problem(name, network, None, _air(np.full(1, np.mean(TEMPERATURES)), density), given, y)
    balanced = AirshedCells(compile_chemistry(network), one, _TIGHT, call=BALANCE)
    balanced.start()
    balanced.call()
    return Problem(name, network, None, _air(temperature, density), given, balanced.result() * factors)


def _air(temperature: Array, density: float) -> dict[str, npt.ArrayLike]:
    shares = {"O2": OXYGEN_FRACTION, "N2": NITROGEN_FRACTION, "H2O": NOON["H2O"] / NOON["M"]}
    pressure = 1e6 * density * BOLTZMANN * temperature
    return {
        **NOON,
        "TEMP": temperature,
        "PRESS": pressure,
        "M": density,
        **{gas: share * density for gas, share in shares.items()},
    }


def _emep(cells: int) -> Problem:
    network = load_mechanism("emep")
    return replace(spread("emep", network, network.initial, cells), notes="initial values of the test problem EMEP")


def _carbon_bond(cells: int) -> Problem:
    file, network = _of_musica("carbon_bond")
    found = read_conditions(file.with_name(CONDITIONS), network)
    density = found.environment["M"]
    air = {"M": density, "O2": OXYGEN_FRACTION * density, "H2O": 0.01 * density}
    notes = (
        "conditions of the package musica, but M (which they leave at 0), O2 and H2O (above all air) as at the ground"
    )
    initial = {**found.initial, **air}
    states = spread("carbon_bond", network, initial, cells, parameters=found.parameters, density=density)
    return replace(states, file=file, notes=notes)


def _ts1(cells: int) -> Problem:
    file, network = _of_musica("ts1")
    found = read_conditions(file.with_name(CONDITIONS), network)
    changed = {f"PHOTO.{name}": 0.0 for name in _PLACEHOLDERS} | {"USER.usr_CO_OH": _CO_OH}
    notes = "conditions of the package musica, but its placeholders of 1/s set to 0, and a rate for CO + OH"
    parameters = {**found.parameters, **changed}
    return replace(spread("ts1", network, found.initial, cells, parameters=parameters), file=file, notes=notes)


def _of_musica(name: str) -> tuple[Path, ReactionNetwork]:
    return musica_file(name), load_mechanism(f"musica:{name}")


PROBLEMS: Final[Mapping[str, Callable[[int], Problem]]] = {"emep": _emep, "carbon_bond": _carbon_bond, "ts1": _ts1}
"""Problems by the names of their mechanisms; all except emep need the package musica."""


def problem(name: str, cells: int) -> Problem:
    """Return a problem by its name; raises CaseError for an unknown name.

    Raises MechanismError where the problem needs the package musica, which is not installed.
    """
    if name not in PROBLEMS:
        raise CaseError(f"there is no benchmark of the mechanism {name[:80]!r}: {suggestion(name[:80], PROBLEMS)}")
    if cells < 1:
        raise CaseError(f"--cells must be at least 1, not {cells}")
    return PROBLEMS[name](cells)

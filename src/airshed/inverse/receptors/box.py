"""Sensitivities of box models: one species at a time with respect to rates, initial values, emission and deposition.

All sensitivities are relative. With c the concentration of the species at that time they are

    d ln c / d ln k_r         of a factor on each rate constant k_r over the whole run
    d ln c / d ln c_s(start)  of the initial concentration of each species s
    d ln c / d ln f           of a factor f on the emission or the deposition of a species over the whole run

They are exact for the accepted steps, whose lengths are taken as constant. Tables and files rank them by size.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, DataError
from airshed.core.report import Table
from airshed.core.text import duration, listed, suggestion
from airshed.core.units import quantity
from airshed.inverse.gradient import Progress
from airshed.kernels.cells import pack_cells, unpack_cells
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.arguments import TimeLevel
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.forcing import UNNEEDED
from airshed.models.box.gauss_seidel import GaussSeidelCells, GaussSeidelStep
from airshed.models.box.model import BoxModel
from airshed.models.box.rosenbrock import BoxInterval, Expansion, make_table
from airshed.models.box.run import ANY_NUMBER, Conditions, States, prepare
from airshed.models.box.series import Series, add_terms
from airshed.program.execute import walk_backwards
from airshed.program.stage import Stage
from airshed.runtime.progress import ProgressBar

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

KINDS: Final = {
    "rate": ("reaction", "rate constant"), "initial": ("species", "initial value"), "emission": ("emitted", "emission"),
    "deposition": ("deposited", "deposition"),
}  # fmt: skip
"""Variable of a dataset of sensitivities -> its dimension, and its name in tables."""

MOST: Final = 20
"""Number of rows of a table and of bars of a figure."""


@dataclass(frozen=True)
class RankedSensitivity:
    """Relative sensitivity [1] to one input.

    kind  key of :data:`KINDS`
    name  label of a reaction, or name of a species
    text  equation of a reaction, or name of a species
    """

    kind: str
    name: str
    text: str
    value: float


def ranked(found: "xr.Dataset") -> list[RankedSensitivity]:
    """Return the nonzero sensitivities of :func:`airshed.inverse.box_sensitivity`, the largest first.

    For several cells they are means over the cells that contain the species.
    """
    listed = []
    for kind, (along, _) in KINDS.items():
        if kind not in found:
            continue
        values = found[kind].mean("cell") if "cell" in found.dims else found[kind]
        names = [str(name) for name in found[along].values]
        texts = [_equation(str(text)) for text in found["equation"].values] if kind == "rate" else names
        numbers = np.asarray(values.values, np.float64).tolist()
        rows = zip(names, texts, numbers, strict=True)
        listed += [RankedSensitivity(kind, *row) for row in rows if np.isfinite(row[-1]) and row[-1]]
    return sorted(listed, key=lambda each: -abs(each.value))


def ranking_table(found: "xr.Dataset") -> Table:
    """Return the largest sensitivities as a table."""
    species, rows = found.attrs["gradient"], ranked(found)
    label = f"d ln {species} / d ln"
    shown = [(KINDS[each.kind][1], each.name, each.text, each.value) for each in rows[:MOST]]
    of = ", mean of cells" if "cell" in found.dims else ""
    title = f"Sensitivity of {species} at {duration(found.attrs['time'])}{of}"
    note = f"The largest {len(shown)} of {len(rows)} nonzero sensitivities."
    return Table(title, ("what", "name", "of", label), shown, note)


def write_sensitivity(found: "xr.Dataset", path: Path) -> None:
    """Write all sensitivities as netCDF, or for ".csv" as rows, the largest first; raises OutputError."""
    with write_whole(path) as part:
        if path.suffix.lower() != ".csv":
            found.to_netcdf(part, engine="netcdf4")
            return
        with part.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["what", "name", "of", f"d ln {found.attrs['gradient']} / d ln [1]"])
            table.writerows((KINDS[each.kind][1], each.name, each.text, each.value) for each in ranked(found))


def _equation(text: str) -> str:
    """Return a reaction without its label and its rate."""
    _, _, behind = text.rpartition(">")
    return behind.partition(":")[0].strip() or text


_NO_VALUES: Final[Any] = None  # a program of one stage does not copy values

_AIR = 2
"""Index of the density of air among the inputs of the solver."""


def backward(model: BoxModel, species: int, progress: Progress = lambda part, done: None) -> dict[str, Array]:
    """Return the adjoints of a species at the end of a recorded run, each (.., cell).

    initial_absolute  of concentrations [molecules cm-3] at the start (species)
    initial           of factors on these concentrations (species)
    rate              of factors on rate constants (reaction)
    emission          of factors on emission (emitted)
    deposition        of factors on deposition (deposited); not for the two-step formula
    """
    gauss_seidel = isinstance(model.cells, GaussSeidelCells)
    adjoint = GaussSeidelAdjoint(model, species) if gauss_seidel else RosenbrockAdjoint(model, species)
    records = model.records or []
    for number, each in enumerate(reversed(records)):
        walk_backwards(model.program, {"cells": adjoint}, _NO_VALUES, each)
        progress("back", (number + 1) / len(records))
    found = adjoint.finish()
    return found | {"initial": found["initial_absolute"] * _start(model)[0]}


class RosenbrockAdjoint:
    """Adjoint of the `cells` stage of Rosenbrock methods; the working adjoint is (species, cell)."""

    def __init__(self, model: BoxModel, species: int) -> None:
        self._model, forcing, network = model, model.forcing, model.network
        cells = forcing.cells
        self._adjoint = np.zeros((len(network.species), cells))
        self._adjoint[species] = 1.0
        self._rates = np.zeros((len(network.reactions), cells))
        self._emission = np.zeros((len(forcing.emitted), cells))
        self._lost = np.zeros((len(network.species), cells))
        everything = tuple(range(len(network.species)))
        # If the air expands, the solver has loss rates of all species, which are diluted.
        self._losses = np.array(everything if forcing.air_changes else forcing.deposited, np.intp)[:, None]

    def run(self, number: int, stage: Stage, given: Sequence[BoxInterval | Expansion]) -> None:
        """Reverse a step with its record `given`."""
        emitted, adjoint = len(self._emission), self._adjoint
        for record in reversed(given):
            cells = record.cells
            if isinstance(record, Expansion):
                adjoint[:, cells] *= record.factor
                continue
            # The derivatives by factors on emission and losses are these rates, without the dilution by the air.
            kernel, count = record.solver.kernel, len(cells)
            gains = list(record.rows[len(kernel.inputs) :])
            if self._model.forcing.air_changes:
                air = Series(record.rows[_AIR][:, None], np.zeros((1, 1)), np.zeros((1, 1)))
                growth = air.derivative_of_logarithm(np.array([record.length])).coefficients[:, 0]
                gains[emitted:] = [add_terms(loss, growth) for loss in gains[emitted:]]
            packed = pack_cells(adjoint[:, cells], kernel.shape.width)
            inputs = make_table([*record.rows, *gains], count, kernel.shape.width)
            found = record.solver.reversed().reverse(packed, inputs, record.recorded(), 0.0, record.length)

            adjoint[:, cells] = unpack_cells(found.adjoint, count)
            self._rates[:, cells] += unpack_cells(found.rates, count)
            sources = unpack_cells(found.sources, count)
            self._emission[:, cells] += sources[:emitted]
            self._lost[self._losses, cells] += sources[emitted:]

    def finish(self) -> dict[str, Array]:
        """Return the adjoints at the start."""
        deposition = self._lost[list(self._model.forcing.deposited)]
        return {
            "initial_absolute": self._adjoint, "rate": self._rates, "emission": self._emission,
            "deposition": deposition,
        }  # fmt: skip


class GaussSeidelAdjoint:
    """Adjoint of the `cells` stage of the two-step formula, by the adjoint kernel in mixing ratios c/M."""

    def __init__(self, model: BoxModel, species: int) -> None:
        assert isinstance(model.cells, GaussSeidelCells)
        self._model, self._cells, self._species = model, model.cells, len(model.network.species)
        self._emitted = list(model.forcing.emitted)
        self._emission = np.zeros((len(self._emitted), 1))
        self._layout, self._reverser = model.cells.layout, model.cells.reverser()
        self._nothing = self._layout.zeros(self._species, 1)
        self._newest = model.cells.mixing_ratios()
        self._level: TimeLevel | None = None
        self._reverser.start(self._nothing)
        weight = np.zeros((self._species, 1, 1, 1))
        weight[species] = REFERENCE_DENSITY * self._layout.unpack(model.cells.air())[0]
        self._reverser.x[...] = self._layout.pack(weight, padding="constant")

    def run(self, number: int, stage: Stage, given: GaussSeidelStep) -> None:
        """Reverse a step with its record `given`."""
        forcing, levels = self._cells.forcing_of(given, self._newest)
        sources = self._layout.zeros(self._species, 1)
        self._reverser.reverse(forcing, levels, self._nothing, [(1.0, sources)])
        if self._emitted and forcing.column is not None:
            emission = self._layout.unpack(forcing.column.emission)
            self._emission += (self._layout.unpack(sources)[self._emitted] * emission)[:, 0, 0]
        self._newest, self._level = given.q, levels[1]

    def finish(self) -> dict[str, Array]:
        """Return the adjoints at the start."""
        assert self._level is not None
        self._reverser.finish(self._level)
        self._reverser.close()
        initial = self._layout.unpack(self._reverser.x)[:, 0, 0] / _start(self._model)[1]
        rates = self._reverser.reactions.sum(axis=(0, 1))[:, None]
        return {"initial_absolute": initial, "rate": rates, "emission": self._emission}


def _start(model: BoxModel) -> tuple[Array, Array]:
    """Return the concentrations (species, cell) and the density of air (1, 1 or cell) at the start."""
    begin = model.begin.at
    air = model.forcing.at([begin])
    return model.forcing.start(begin, air), air.get("M", np.full((1, 1), UNNEEDED["M"])).T


def box_sensitivity(
    mechanism: "ReactionNetwork | str | Path", conditions: Conditions, of: str, states: States | None = None, *,
    at: str | None = None, threads: int = 1, allow_code: bool = False, progress: Progress | None = None,
) -> "xr.Dataset":  # fmt: skip
    """Return the sensitivity of a species of one box, or of many, to all inputs of the box.

    Parameters
    ----------
    mechanism
        Name of a shipped mechanism, a reaction file, or a network.
    conditions
        A conditions file, or nested dictionaries with the same keys.
    of
        Species whose concentration is measured.
    states
        Initial states of many boxes, see :func:`airshed.box`.
    at
        Local time from midnight of the first day, by default the end.
    threads
        Number of threads.
    allow_code
        Whether Python code of the mechanism or of the conditions may run, with the rights of the user.
    progress
        Function that receives "forward" or "back" and the completed part, 0 to 1; by default a progress bar in IPython.

    Returns
    -------
    xarray.Dataset
        ``value`` [molecules cm-3], and its relative derivatives d ln value / d ln x: ``rate`` (reaction,), ``initial``
        (species,), ``emission`` (emitted,) and, except with gauss-seidel, ``deposition`` (deposited,).
        ``initial_absolute`` is d value / d concentration, also of species that are absent. Many boxes add ``cell``.

    Raises
    ------
    CaseError
        In single precision, and for many boxes with gauss-seidel.
    DataError
        If the value is 0.

    Examples
    --------
    >>> found = airshed.inverse.box_sensitivity("emep", "cases/emep-box/conditions.toml", "O3", at="36 h")
    >>> found.rate.sortby(abs(found.rate))[-20:]
    """
    if progress is None:
        with ProgressBar() as bar:
            return box_sensitivity(
                mechanism, conditions, of, states, at=at, threads=threads, allow_code=allow_code,
                progress=lambda part, done: bar(done, part),
            )  # fmt: skip
    network = mechanism if isinstance(mechanism, ReactionNetwork) else load_mechanism(mechanism, allow_code=allow_code)
    if network.sums:
        raise CaseError(
            f"gradient of {of}: {listed(sorted(network.sums))} of {network.name} is a sum of species, which gradients"
            " do not support; write each such reaction once for each species of the sum"
        )
    run = prepare(network, conditions, states, threads, allow_code=allow_code)
    name, seconds = _target(run.model, of, at)
    if seconds < _end(run.model.conditions):
        data, folder = run.model.conditions.to_dict(), run.model.conditions.folder
        data["time"] |= {"length": f"{seconds - run.model.conditions.time.start.value!r} s"}
        shorter = BoxConditions.from_dict(data, folder)
        run.simulation.close()
        run = prepare(network, shorter, states, threads, allow_code=allow_code)
    with run.simulation:
        model = run.model
        model.record()
        run.simulation.run(observer=lambda info: progress("forward", info.fraction), stride=ANY_NUMBER)
        species = model.network.index(name)
        return _dataset(model, name, model.concentrations()[species].copy(), backward(model, species, progress))


def _end(conditions: BoxConditions) -> float:
    return float(conditions.time.start.value + conditions.time.length.value)


def _target(model: BoxModel, of: str, at: str | None) -> tuple[str, float]:
    """Return the species, and the time [s since local midnight of the first day]."""
    names = {name.casefold(): name for name in model.network.names}
    if of.casefold() not in names:
        known = model.network.names
        raise CaseError(f"gradient of {of}: not a species of {model.network.name}; {suggestion(of, known)}")
    end = _end(model.conditions)
    time = end if at is None else quantity(at, ("s",), where="at").value
    if not model.conditions.time.start.value < time <= end:
        span = f"{model.conditions.time.start.text} and {duration(end)}"
        raise CaseError(f"at = {at!r} is not between {span}; give a local time since midnight of the first day")
    return names[of.casefold()], time


def _dataset(model: BoxModel, species: str, end: Array, found: dict[str, Array]) -> "xr.Dataset":
    import xarray as xr

    time = _end(model.conditions)
    if not (end > 0.0).any():
        raise DataError(
            f"the concentration of {species} is 0 at t = {duration(time)}: relative sensitivities are undefined"
        )
    network, forcing = model.network, model.forcing
    names = np.array(network.names, object)
    coordinates: dict[str, Any] = {
        "reaction": [reaction.label for reaction in network.reactions], "species": list(network.names),
        "equation": ("reaction", [reaction.text or reaction.label for reaction in network.reactions]),
        "emitted": list(names[list(forcing.emitted)]), "deposited": list(names[list(forcing.deposited)]),
    }  # fmt: skip
    many = ("cell",) if model.many else ()
    variables = {}
    for name, (along, text) in KINDS.items():
        if name in found:
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = np.where(end > 0.0, found[name] / end, np.nan)
            variables[name] = _variable((along, *many), relative, f"d ln {species} / d ln {text}")
    change = f"d {species} / d value at the start"
    variables["initial_absolute"] = _variable(("species", *many), found["initial_absolute"], change)
    variables["value"] = _variable(many, end, f"{species} at the time", "molecules cm-3")
    attributes = {"title": model.conditions.title, "mechanism": network.name, "gradient": species,
                  "time": time, "steps": model.cells.steps}  # fmt: skip
    return xr.Dataset(variables, coordinates, attributes)


def _variable(dimensions: tuple[str, ...], values: Array, text: str, unit: str = "1") -> "xr.Variable":
    import xarray as xr

    shaped = values if "cell" in dimensions else values[..., 0]
    return xr.Variable(dimensions, shaped, {"units": unit, "long_name": text})

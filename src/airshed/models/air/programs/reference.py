"""Reference executor: repeats recorded steps of any program in plain NumPy, on arrays (species, level, lat, lon).

It reads the records of the compiled executor and shares no code with it apart from the walk: transport, columns and
fused stages run :mod:`airshed.kernels.step.reference`, chemistry runs :mod:`airshed.kernels.cells.reference` cell
by cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError, ProgramError
from airshed.core.text import duration
from airshed.kernels.boundary import BoundaryForcing
from airshed.kernels.cells import Tableau, Tolerances
from airshed.kernels.cells.reference import Cell, StepControl, integrate
from airshed.kernels.column.reference import Column, not_below_zero
from airshed.kernels.layout import Layout
from airshed.kernels.operators import active_operators, members, own_terms
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.arguments import ColumnForcing, Pair, StepForcing, TransportForcing
from airshed.kernels.step.reference import Fields, StepSetup, step
from airshed.kernels.transport.reference import AirFluxes, BoundaryValues
from airshed.mechanism.network import ReactionNetwork, rates
from airshed.models.air.programs.records import CellsRecord, MoveRecord, StepRecord, SumRecord
from airshed.models.air.rates import rate_environment
from airshed.program.execute import walk_forwards
from airshed.program.stage import CELLS, Program, Stage

if TYPE_CHECKING:
    from airshed.models.air.model import AirModel


@dataclass(frozen=True)
class ReferenceChemistry:
    """Rosenbrock method of stages of cells.

    Parameters
    ----------
    network
        Mechanism; species beyond those of the state count atoms: they start at zero, and are part of error estimates.
    tableau, tolerances
        Coefficients and tolerances of the method.
    limits
        Maximum first step in each stage of cells, as a fraction of the span of the stage.
    """

    network: ReactionNetwork
    tableau: Tableau
    tolerances: Tolerances
    limits: Sequence[float]


class ReferenceExecutor:
    """Executor that repeats recorded steps in NumPy.

    Parameters
    ----------
    program
        Program of the steps.
    setup
        Constants of the steps, with all reactions and operators.
    layout
        Layout of the packed arrays in the records.
    chemistry
        Method of stages of cells; None for a program without them.
    state
        Fields at the start of the next step.
    """

    def __init__(
        self, program: Program, setup: StepSetup, layout: Layout, chemistry: ReferenceChemistry | None, state: Fields
    ) -> None:
        self.program, self.state = program, state
        self._values = _Values(self)
        self._runners: dict[str, _FormulaRunner | _CellsRunner] = {}
        for stage in program.stages:
            if stage.name or stage.kernel == "redistribute" or (stage.kernel == CELLS and chemistry is None):
                raise ProgramError(
                    f"the reference executor has no code for the stage {stage.key!r} of {program.name!r}: it runs "
                    "transport, columns, chemistry and sums on one rank"
                )
            if stage.kernel == CELLS and chemistry is not None:
                self._runners[stage.key] = _CellsRunner(self, setup, layout, chemistry)
            elif stage.operators:
                self._runners[stage.key] = _FormulaRunner(self, setup, layout, stage)

    def repeat(self, record: StepRecord) -> None:
        """Advance the state by a recorded step."""
        walk_forwards(self.program, self._runners, self._values, record.stages)


def reference_of(model: "AirModel") -> ReferenceExecutor:
    """Return the reference executor of a model in its current state."""
    network, constants, operators = model.network, model.constants, model.parts.processes.operators
    numbers = {each.key: np.array(each.values) for each in members(operators) if each.shape is None}
    assert constants.thickness is not None
    setup = StepSetup(
        network, model.kernel.schedule.order, BoundaryValues(constants.profile, constants.top),
        constants.density_factor, constants.vertical_weights, constants.thickness, constants.emitted, (),
        constants.sweeps, constants.oxygen, constants.nitrogen, operators, own_terms(operators), numbers,
    )  # fmt: skip
    state, unpack = model.stepper.state, model.layout.unpack
    arrays = (state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency)
    cells, chemistry = model.executor.cells, None
    if cells is not None:
        solver = cells.chemistry.solver
        chemistry = ReferenceChemistry(solver.kernel.network, solver.method, solver.tolerances, cells.chemistry.limits)
    return ReferenceExecutor(model.program, setup, model.layout, chemistry, Fields(*map(unpack, arrays)))


class _Values:
    """Fields as values of a program; no stage changes an array in place, so that copies are references."""

    def __init__(self, executor: ReferenceExecutor) -> None:
        self._executor = executor

    def copy(self) -> Fields:
        return self._executor.state

    def put(self, value: Fields) -> None:
        self._executor.state = value

    def add_up(self, coefficients: Sequence[float], values: Sequence[Fields]) -> SumRecord:
        """Add up amounts and air; mixing ratios below zero become zero."""
        terms = list(zip(coefficients, values, strict=True))
        air = np.asarray(sum(each * value.air for each, value in terms))
        amounts = np.asarray(sum(each * value.air * value.q for each, value in terms))
        self._executor.state = replace(values[0], q=not_below_zero(amounts / air), air=air)
        return SumRecord()


class _FormulaRunner:
    """Runner of stages of transport, columns, or both, with or without chemistry: the applications of a formula."""

    def __init__(self, executor: ReferenceExecutor, setup: StepSetup, layout: Layout, stage: Stage) -> None:
        self._executor, self._layout = executor, layout
        self._horizontal, self._vertical = "transport" in stage.operators, "column" in stage.operators
        if "cells" not in stage.operators:
            setup = replace(
                setup, network=replace(setup.network, reactions=()), order=range(len(setup.network.species))
            )
        operators = active_operators(setup.operators, horizontal=self._horizontal, vertical=self._vertical)
        self._setup = replace(setup, operators=operators)

    def run(self, number: int, stage: Stage, given: MoveRecord) -> MoveRecord:
        for each in given.steps:
            self._executor.state = self._apply(each.forcing)
        return given

    def _apply(self, forcing: StepForcing) -> Fields:
        """Return the fields after one application of the formula."""
        transport, column, setup = forcing.transport, forcing.column, self._setup
        numbers = {**setup.numbers, **_numbers(transport.numbers)}
        if column is None:
            setup = replace(setup, emitted=())
        else:
            numbers |= _numbers(column.numbers)
        fields = {name: self._between(each, transport.weight) for name, each in transport.fields.items()}
        setup = replace(setup, numbers=numbers, boundary=self._boundary_values(transport.boundary))
        here = self._column(column)
        return step(setup, self._executor.state, forcing.weights, self._fluxes(transport), here, fields).fields

    def _boundary_values(self, given: BoundaryForcing | None) -> BoundaryValues:
        if given is None:
            return self._setup.boundary
        start, end = (each.unpacked(self._layout) for each in (given.start, given.end))
        return replace(self._setup.boundary, sides=start + given.weight * (end - start))

    def _fluxes(self, transport: TransportForcing) -> AirFluxes:
        east, north = (self._between(each, transport.weight) for each in (transport.flux_x, transport.flux_y))
        up = self._between(transport.flux_z, transport.weight_z)
        return AirFluxes(east * self._horizontal, north * self._horizontal, up * self._vertical)

    def _column(self, column: ColumnForcing | None) -> Column:
        shape = self._executor.state.air.shape
        if column is None:  # horizontal transport without columns
            zeros, ground = np.zeros(shape), np.zeros(shape[1:])
            return Column(zeros, zeros, np.zeros((0, 1, *shape[1:])), ground + 1.0, ground)
        unpack, weight = self._layout.unpack, column.weight
        sun, network = unpack(column.sun), self._setup.network
        parameters: dict[str, Array] = {}
        if column.parameters is not None:
            start, end = column.parameters
            for number, each in enumerate(network.parameters):
                parameters[each.name] = self._between((start[:, :, number], end[:, :, number]), weight)
        return Column(
            self._between(column.temperature, weight), self._between(column.water, weight), unpack(column.emission),
            sun[0], sun[1], {name: self._between(each, weight) for name, each in column.fields.items()}, parameters,
        )  # fmt: skip

    def _between(self, pair: Pair, weight: float) -> Array:
        start, end = (self._layout.unpack(each) for each in pair)
        return np.asarray(start + weight * (end - start))


class _CellsRunner:
    """Runner of stages of chemistry, cell by cell, under the weather at the middle of a stage."""

    def __init__(
        self, executor: ReferenceExecutor, setup: StepSetup, layout: Layout, chemistry: ReferenceChemistry
    ) -> None:
        self._executor, self._setup, self._layout, self._chemistry = executor, setup, layout, chemistry

    def run(self, number: int, stage: Stage, given: CellsRecord) -> CellsRecord:
        state, done, method = self._executor.state, given.integrated, self._chemistry
        seconds, network, species = done.end - done.begin, method.network, len(state.q)
        density = state.air * (REFERENCE_DENSITY * self._setup.density_factor)
        k, first = self._rate_constants(given, density), self._first(given)
        longest, q = method.limits[done.slot] * seconds, state.q.copy()

        # each cell by itself, in number densities
        for cell in np.ndindex(density.shape):
            equation = Cell.still(network, {}, k[:, *cell])
            control = StepControl(method.tolerances, first=min(float(first[cell]), longest))
            y = np.zeros(len(network.species))
            y[:species] = q[:, *cell] * density[cell]
            *_, last = integrate(equation, method.tableau, y, 0.0, seconds, control)
            if last.time < seconds:
                raise NumericalError(f"the reference solution of cell {cell} stopped at {duration(last.time)}")
            q[:, *cell] = last.y[:species] / density[cell]
        self._executor.state = replace(state, q=q)
        return given

    def _rate_constants(self, given: CellsRecord, density: Array) -> Array:
        """Return the rate constants (reaction, level, lat, lon) [molecules, cm3, s]."""
        air, unpack, network = given.weather.with_density(density), self._layout.unpack, self._chemistry.network
        secant, light = unpack(air.sun)
        environment = rate_environment(unpack(air.temperature), density, unpack(air.water), secant, light)
        for number, each in enumerate(network.parameters):
            environment[each.name] = unpack(air.parameters[:, :, number])
        return np.broadcast_to(rates(network, environment), (len(network.reactions), *density.shape))

    def _first(self, given: CellsRecord) -> Array:
        """Return the first steps [s], (level, lat, lon)."""
        levels, layout = self._executor.state.air.shape[0], self._layout
        return layout.unpack(given.integrated.first.reshape(layout.rows, layout.blocks, levels, layout.width))


def _numbers(given: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
    return {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in given.items()}

"""Box model: boxes of well-mixed air without neighbours, as a model of the runtime.

    dc/dt = P(c) - L(c) c + E - D c

A step is a program of one `cells` stage, see :mod:`airshed.models.box.rosenbrock` and
:mod:`airshed.models.box.gauss_seidel`. Steps end at outputs, and where conditions jump or are not smooth.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

import numpy as np

from airshed.case.failure import FAILED_CELL
from airshed.core.arrays import Array
from airshed.core.errors import CaseError, NumericalError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.report import Cell, Report, Table
from airshed.core.text import listed
from airshed.grid.axes import Axes, Coordinate
from airshed.kernels.backend import backend
from airshed.kernels.cells import method
from airshed.mechanism import load_mechanism
from airshed.mechanism.file_air import notes_of_air
from airshed.mechanism.network import ReactionNetwork
from airshed.models.box.conditions import METHODS, BoxConditions, BoxStep, Event, distance, events
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.gauss_seidel import GaussSeidelCells, compile_box
from airshed.models.box.processes import processes_in_box
from airshed.models.box.rosenbrock import RosenbrockCells
from airshed.models.box.states import CellStates, load_states
from airshed.models.points.model import values_to_set
from airshed.parallel.binding import cores_each
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.program.execute import walk_forwards
from airshed.program.stage import Program, cells
from airshed.runtime.model import BatchLimits, PlainModel, SavedState, Snapshot
from airshed.runtime.registry import BuiltModel, ModelInfo, ModelKind

CONCENTRATION_UNIT: Final = "molecules cm-3"

RECORDED: Final = {
    "T": ("temperature", "K", "air temperature"),
    "p": ("pressure", "Pa", "air pressure"),
    "M": ("M", CONCENTRATION_UNIT, "number density of air"),
    "SUN": ("SUN", "1", "light of the sun, 0 at night"),
    "sec_zenith": ("sec_zenith", "1", "secant of the solar zenith angle, 1 at night"),
    "daylight": ("daylight", "1", "factor on photolysis"),
}
"""Conditions in the output: name, unit and text of the field."""

_STANDARD_NAMES: Final = {"temperature": "air_temperature", "pressure": "air_pressure"}
_OWN_NAMES: Final = frozenset({"time", "cell", *(name for name, _, _ in RECORDED.values())}) - {"M"}
_NO_VALUES: Final[Any] = None  # a program of one stage does not copy values
_MOST_NAMED: Final = 12
_NO_GAS: Final = 1e4  # [molecules cm-3] smaller values are not concentrations of gases in air
_TOLERANCE_WITHOUT_UNITS: Final = 1e-10  # absolute tolerance relative to the largest value, for numbers without units


class BoxModel(PlainModel):
    """Boxes of well-mixed air that do not affect each other.

    If the air density M changes, a box expands or is compressed without inflow.

    processes  processes in the boxes
    network    mechanism, including the reactions of processes
    cells      state and its solver
    program    program of a step
    records    records of steps for adjoints; None if these are disabled
    source     source of the initial states, for messages
    compile_seconds  wall time of compilation
    """

    def __init__(
        self, conditions: BoxConditions, network: ReactionNetwork, states: CellStates | None = None, *,
        ranks: Communicator | None = None, threads: int = 1, allow_code: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        # A species M replaces that of the air.
        if taken := [name for name in network.names if name in _OWN_NAMES]:
            raise CaseError(
                f"mechanism {network.name}: species {', '.join(taken)}: the time series has other variables with these "
                "names; rename the species"
            )
        self.many = states is not None and not states.single
        boxes = np.arange(float(states.cells if states and self.many else 0))
        axis = Coordinate("cell", boxes, {"units": "1", "long_name": "box"})
        self.domain = Domain.even(Axes((axis,), divided=("cell",)) if len(boxes) else Axes(), ranks)
        states = states.part(*self.domain.box.ends[0]) if states and self.many else states
        self.processes = processes_in_box(conditions, network, allow_code=allow_code)
        self.forcing = BoxForcing(conditions, self.processes.network, states, self.processes)
        self.network = self.forcing.network
        self.conditions, self._units_note = _without_units(conditions, self.forcing)
        self.source = states.source if states else "states"
        self._states_note = [states.last] if states and states.last else []
        # List the times since the start at which steps end; the last one is exactly the end of the case.
        time = self.conditions.time
        self.begin = Event(time.start.value, output=True)
        self.events = events(self.conditions, self.forcing.corners)
        self._tolerance = 0.5 * distance(time.start.value + time.length.value)
        self._times = [event.at - self.begin.at for event in self.events]
        if self._times:
            self._times[-1] = time.length.value
        self.cells, self.compile_seconds = self._make_cells(threads)
        self.batch_limits = BatchLimits(self.cells.batch)
        solver = conditions.solver.method
        self.program = Program("box", method(solver).order if solver in METHODS else 2, (cells(0, 1),))
        self.records: list[list[Any]] | None = None
        self.fields = FieldRegistry(self._specs())
        self._shown: dict[str, Array] = {}

    def _make_cells(self, threads: int) -> tuple[RosenbrockCells | GaussSeidelCells, float]:
        """Return the cells of the chosen method, and the wall time of compiling their code."""
        solver, network = self.conditions.solver, self.network
        if solver.method in METHODS:
            kernel = backend().compile_chemistry(network, solver.precision)
            edges = [self.begin.at, *(event.at for event in self.events)]
            boxes = RosenbrockCells(kernel, self.forcing, self.conditions, edges, threads)
            return boxes, kernel.seconds["compile"]
        if network.sums:
            raise CaseError(
                f"solver.method gauss-seidel lets {listed(sorted(network.sums))} and the species of that sum"
                f" diverge; use {', '.join(METHODS)}"
            )
        column = compile_box(self.forcing, solver.precision)
        return GaussSeidelCells(column, self.forcing, self.conditions, self.begin.at), column.seconds["compile"]

    def _specs(self) -> list[FieldSpec]:
        """Return the fields: available conditions, and species."""
        dims = ("cell",) if self.many else ()
        species = [
            FieldSpec(each.name, dims, CONCENTRATION_UNIT, each.text or each.name, settable=True)
            for each in self.network.species
        ]
        known = self.forcing.at([self.begin.at])
        conditions = [
            FieldSpec(name, dims, unit, text, standard_name=_STANDARD_NAMES.get(name))
            for key, (name, unit, text) in RECORDED.items()
            if key in known and name not in self.network.names
        ]
        return conditions + species

    def next_change(self) -> float:
        """Return the time of the next event."""
        number = bisect_right(self._times, self.seconds + self._tolerance)
        return self._times[number] if number < len(self._times) else inf

    def longest_step(self, until: float) -> float:
        """Return the time to `until` for methods with adaptive steps, otherwise the maximum step [s]."""
        solver = self.conditions.solver
        return until - self.seconds if solver.method in METHODS else solver.step.value

    def step_through(self, ends: Sequence[float]) -> None:
        """Advance the state by a batch of steps."""
        begin, steps = self.present.at, []
        for end in ends:
            steps.append(BoxStep(begin, self._event_at(end)))
            begin = steps[-1].end.at
        (records,) = walk_forwards(self.program, {"cells": self.cells}, _NO_VALUES, [steps])
        if self.records is not None:
            self.records += [[each] for each in records]
        self.seconds, self.steps, self._shown = ends[-1], self.steps + len(ends), {}

    @property
    def present(self) -> Event:
        """Current time, and whether it is an output."""
        return self._event_at(self.seconds)

    def _event_at(self, seconds: float) -> Event:
        """Return the event at a time since the start, which may be neither a jump nor an output."""
        if abs(seconds) <= self._tolerance:
            return self.begin
        number = bisect_right(self._times, seconds - self._tolerance)
        if number < len(self._times) and abs(self._times[number] - seconds) <= self._tolerance:
            return self.events[number]
        return Event(self.begin.at + seconds)

    def record(self) -> None:
        """Record steps from now on, for adjoints; raises CaseError if these are not available."""
        if self.conditions.solver.precision != "double":
            raise CaseError('gradients of boxes need double precision: set solver.precision = "double"')
        if isinstance(self.cells, GaussSeidelCells):
            if self.many:
                raise CaseError("gradients of several boxes need a Rosenbrock method: use another solver.method")
            self.cells.records = True
        self.records = []

    def concentrations(self) -> Array:
        """Return the state (species, cell) [molecules cm-3]; raises NumericalError if it is not finite."""
        state = self.cells.concentrations()
        if not np.isfinite(state).all():
            number = int(np.argmin(np.isfinite(state).all(axis=1)))
            raise NumericalError(f"{self.network.names[number]} is no longer finite at t = {self.present.at:g} s")
        return state

    def view(self, name: str) -> Array:
        """Return the values of a species, or of a condition at the end of the last step."""
        shown = self.shown()[name].copy()
        return shown if self.many else shown[0]

    def shown(self) -> Mapping[str, Array]:
        """Return all fields (cell,) at the end of the last step."""
        if not self._shown:
            now, (at, values) = self.present, self.cells.evaluated
            time = BoxStep(now.at, now).at
            values = values if at == time else self.forcing.at([time])
            known = {name: values[key][:, -1] for key, (name, _, _) in RECORDED.items() if key in values}
            self._shown = {name: np.broadcast_to(each, self.forcing.cells) for name, each in known.items()}
            self._shown |= dict(zip(self.network.names, np.array(self.concentrations()), strict=True))
        return self._shown

    def set(self, name: str, value: object) -> None:
        """Set the concentration of a species for the next step."""
        state = self.cells.concentrations().copy()
        state[self.network.index(name)] = values_to_set(self.fields[name], value, self.domain, np.float64)
        self.cells.set_concentrations(state)
        self._shown = {}

    def save(self) -> Snapshot:
        """Return the state of the cells."""
        arrays, values = self.cells.save()
        tiled = {name: array if self.many else array[0] for name, array in arrays.items()}
        return Snapshot(tiled, {}, {**self._moment(), **values})

    def restore(self, saved: SavedState) -> None:
        """Restore a saved state."""
        names = self.cells.save()[0]
        parts = {name: np.asarray(saved.part(name, self.domain.held)) for name in names}
        self.cells.restore(
            {name: part if self.many else part[None] for name, part in parts.items()}, dict(saved.metadata)
        )
        self._set_moment(saved)
        self._shown = {}

    def summary(self, *, brief: bool = False) -> Report:
        """Return the final concentrations, and facts of the integration."""
        rows = [
            (name, float(np.mean(values)))
            for name, values in zip(self.network.names, self.concentrations(), strict=True)
        ]
        table = Table("Concentrations", ("species", "molecules/cm3"), rows)
        return Report("Boxes of air", [] if brief else [table], self.facts())

    def facts(self, wall_time: float | None = None) -> dict[str, Cell]:
        """Return facts of the integration for reports, with the wall time [s] if it is given."""
        solver, boxes, found = self.conditions.solver, self.cells, dict[str, Cell]()
        if solver.method in METHODS:
            tolerances = f"{solver.relative_tolerance:g} relative, {solver.absolute_tolerance.text} absolute"
            found["method"] = f"{solver.method}, tolerance {tolerances}"
            found["steps"] = f"{boxes.steps} taken, {boxes.rejected} rejected"
        else:
            found["method"] = f"gauss-seidel, {solver.sweeps} sweeps in each step"
            found["steps"] = f"{boxes.steps} of at most {solver.step.text}"
        if self.processes.names:
            found["processes"] = ", ".join(self.processes.names)
        if boxes.retried:
            found["restarted with smaller steps"] = f"{boxes.retried} times"
        clipped = boxes.clipped.sum(axis=1)
        most, name = float(clipped.max()), self.network.names[int(clipped.argmax())]
        if wall_time is not None:
            found["wall time [s]"] = wall_time
        found["compile time [s]"] = self.compile_seconds
        found["added to stay above 0"] = f"at most {most:.3g} molecules/cm3, of {name}"
        return found | {f"note {number}" if number > 1 else "note": each for number, each in enumerate(self.notes, 1)}

    @property
    def notes(self) -> list[str]:
        """Remarks on the result for users."""
        own = self.forcing.by_mechanism
        names = f"{', '.join(own[:_MOST_NAMED])}{' ...' * (len(own) > _MOST_NAMED)}"
        start = f"{len(own)} species that are not in [initial] have the initial values of the mechanism file"
        notes = self._states_note + ([f"{start}: {names}"] if own else []) + self._units_note
        notes += notes_of_air(self.network, self.forcing.at([self.begin.at]))
        return [*notes, *self.processes.notes, *self.cells.notes]

    def info(self) -> ModelInfo:
        """Return the processes, and the groups of fields."""
        groups = {name: "species" if name in self.network.names else "conditions" for name in self.fields}
        return ModelInfo(self.processes.names, groups)

    def close(self) -> None:
        """Stop the threads."""
        self.cells.close()


def _without_units(conditions: BoxConditions, forcing: BoxForcing) -> tuple[BoxConditions, list[str]]:
    """Return conditions with a suitable tolerance for a mechanism without units, such as Robertson's, and a note.

    The numbers of such a mechanism are far below concentrations of gases, and below the default tolerance.
    """
    start, solver = conditions.time.start.value, conditions.solver
    largest = float(forcing.start(start, forcing.at([start])).max(initial=0.0))
    given = "solver" in conditions.model_fields_set and "absolute_tolerance" in solver.model_fields_set
    if given or forcing.emitted or not 0.0 < largest < _NO_GAS or solver.method not in METHODS:
        return conditions, []
    text = f"{_TOLERANCE_WITHOUT_UNITS * largest:.3g} molecules/cm3"
    solver = type(solver).model_validate({**solver.to_dict(), "absolute_tolerance": text})
    note = (
        f"no initial value exceeds {largest:.3g}: the mechanism has no units; "
        f"solver.absolute_tolerance is set to {_TOLERANCE_WITHOUT_UNITS:g} of this value"
    )
    return conditions.model_copy(update={"solver": solver}), [note]


def build(
    case: BoxConditions, ranks: Communicator, check: Callable[[Communicator], None],
    network: ReactionNetwork | None = None, states: CellStates | None = None,
) -> BuiltModel:  # fmt: skip
    """Return the model of a case, see :class:`airshed.runtime.registry.ModelKind`.

    network, states  replace those of the case
    """
    check(ranks)
    with case.naming_file(states.source if states else case.states or "states"):
        if network is None:
            if not case.mechanism:
                raise CaseError('mechanism is missing: write mechanism = "emep", or use `airshed box MECHANISM`')
            file = case.path(case.mechanism)
            network = load_mechanism(file if file.is_file() else case.mechanism, allow_code=case.allow_code)
            states = load_states(case.path(case.states), network) if case.states else None
        threads = case.run.threads or cores_each(ranks)
        model = BoxModel(case, network, states, ranks=ranks, threads=threads, allow_code=case.allow_code)
        return BuiltModel(model, model.notes)


KIND = ModelKind(BoxConditions, build, info=BoxModel.info, evidence=(FAILED_CELL,))
"""Box model."""

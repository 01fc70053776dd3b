"""Integrates a mechanism in one box of air, or in many at once."""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import METHODS, BoxConditions
from airshed.air.box.forcing import BoxForcing
from airshed.air.box.gauss_seidel import GaussSeidelCells, compile_box
from airshed.air.box.processes import processes_in_box
from airshed.air.box.result import TimeSeries, refuse_own_names
from airshed.air.box.rosenbrock import RosenbrockCells
from airshed.air.box.states import CellStates
from airshed.air.box.steps import JUST_BEFORE, Event, events, steps
from airshed.air.box.tape import Tape
from airshed.core.errors import CaseError, NumericalError
from airshed.core.text import listed
from airshed.kernels.backend import backend
from airshed.mechanism.file_air import notes_of_air
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]
Item = TypeVar("Item")

_MOST_NAMED = 12
_NO_GAS = 1e4  # molecules cm-3: where nothing is above this, nothing is a gas of the air
_OF_LARGEST = 1e-10  # of the largest value: absolute tolerance of a mechanism without units

Observer = Callable[[float], None]
"""Is told the part of the time that is done, 0 to 1."""


class BoxRun:
    """Boxes of well mixed air that do not know of each other: dc/dt = P(c) - L(c) c + E - D c.

    Where the air's density M changes a box expands and is compressed with its content, and nothing flows in.

    processes  that act in them besides;  seconds  wall time of the integration;  compile_seconds  of making the code
    allow_code  whether processes in files may run, which the conditions name
    gauss_seidel  the boxes where they are integrated by gauss-seidel, else None
    """

    def __init__(
        self, network: ReactionNetwork, conditions: BoxConditions, *, states: CellStates | None = None,
        threads: int = 1, allow_code: bool = False,
    ) -> None:  # fmt: skip
        refuse_own_names(network)
        self.conditions = conditions
        self.processes = processes_in_box(conditions, network, allow_code=allow_code)
        self.forcing = BoxForcing(conditions, self.processes.network, states, self.processes)
        self.network = self.forcing.network
        self.events = events(conditions, self.forcing.kinks)
        self.many = states is not None and not states.single
        self.states_source = states.source if states else "states"
        self._states_note = [states.last] if states and states.last else []
        self.seconds = 0.0
        self._stop = False
        self._keeps: list[Any] | None = None
        self.conditions, self._units_note = _without_units(conditions, self.forcing)
        precision = conditions.solver.precision
        self._rosenbrock: RosenbrockCells | None = None
        self.gauss_seidel: GaussSeidelCells | None = None
        if conditions.solver.method in METHODS:
            kernel = backend().compile_chemistry(self.network, precision)
            self.compile_seconds = kernel.seconds["compile"]
            self._rosenbrock = RosenbrockCells(kernel, self.forcing, self.conditions, threads)
        elif self.network.sums:
            raise CaseError(
                f"solver.method gauss-seidel lets {listed(sorted(self.network.sums))} and the species of that sum"
                f" drift apart; take {', '.join(METHODS)}"
            )
        else:
            column = compile_box(self.forcing, precision)
            self.compile_seconds = column.seconds["compile"]
            self.gauss_seidel = GaussSeidelCells(column, self.forcing, conditions)

    def run(self, observer: Observer | None = None) -> "xr.Dataset":
        """Integrate from the start to the end and return the time series.

        returns  each species and M [molecules cm-3], temperature [K], pressure [Pa], SUN, sec_zenith and daylight [1],
                 as far as the conditions tell them, over time [s], and over cells where states of many were given
        Raises CaseError for conditions that turn out not to be numbers, NumericalError, KeyboardInterrupt after
        :meth:`request_stop`.
        """
        began = time.perf_counter()
        start, length = self.conditions.time.start.value, self.conditions.time.length.value
        series = TimeSeries()
        advance = self._by_rosenbrock if self._rosenbrock is not None else self._by_gauss_seidel
        try:
            for event, state in advance():
                if not np.isfinite(state).all():
                    number = int(np.argmin(np.isfinite(state).all(axis=1)))
                    raise NumericalError(f"{self.network.names[number]} is no longer finite at t = {event.at:g} s")
                at = event.at - JUST_BEFORE if event.jump else event.at
                series.add(event.at, state, self.forcing.at([at]))
                if observer is not None:
                    observer((event.at - start) / length)
        finally:
            if self._keeps is None:
                self.close()
        self.seconds = time.perf_counter() - began
        return series.dataset(self.network, self.conditions, many=self.many, notes=self.notes)

    def keep_tape(self) -> None:
        """Have :meth:`run` keep what adjoints need, and leave its threads to :meth:`close`; raise CaseError."""
        if self.conditions.solver.precision != "double":
            raise CaseError('boxes have gradients in double precision alone: take solver.precision = "double"')
        if self.gauss_seidel is not None and self.many:
            raise CaseError("many boxes at once have gradients by Rosenbrock methods alone: take another solver.method")
        self._keeps = self._cells.tape = []

    @property
    def tape(self) -> Tape | None:
        """What was done by a Rosenbrock method, see :mod:`airshed.air.box.tape`; None without :meth:`keep_tape`."""
        return self._rosenbrock.tape if self._rosenbrock else None

    def close(self) -> None:
        """End the threads."""
        self._cells.close()

    def request_stop(self) -> None:
        """End :meth:`run` at the next opportunity."""
        self._stop = True

    @property
    def steps(self) -> int:
        """Steps that counted so far, of all cells."""
        return self._cells.steps

    @property
    def rejected(self) -> int:
        """Steps that were not accurate enough."""
        return self._rosenbrock.rejected if self._rosenbrock else 0

    @property
    def retried(self) -> int:
        """How many times a cell had to begin an interval again with smaller steps."""
        return self._rosenbrock.retried if self._rosenbrock else 0

    @property
    def clipped(self) -> Array:
        """What was added to keep concentrations from getting negative (species,) [molecules cm-3], cells added up."""
        return self._rosenbrock.clipped.sum(axis=1) if self._rosenbrock else self._cells.clipped

    @property
    def notes(self) -> list[str]:
        """What a reader of the result should know."""
        own = self.forcing.by_mechanism
        told = f"{', '.join(own[:_MOST_NAMED])}{' ...' * (len(own) > _MOST_NAMED)}"
        start = f"{len(own)} species start at the initial values of the mechanism's file, since [initial] does not name"
        notes = self._states_note + ([f"{start} them: {told}"] if own else [])
        notes += self._units_note
        notes += notes_of_air(self.network, self.forcing.at([self._first.at]))
        return [*notes, *self.processes.notes, *(self._rosenbrock.notes if self._rosenbrock else [])]

    @property
    def _cells(self) -> RosenbrockCells | GaussSeidelCells:
        return self._rosenbrock or self.gauss_seidel  # type: ignore[return-value]

    def _by_rosenbrock(self) -> Iterator[tuple[Event, Array]]:
        cells, begin = self._rosenbrock, self._first.at
        assert cells is not None
        yield self._first, cells.y
        for chunk in _chunks(self.events, cells.chunk()):
            for event in cells.advance(begin, chunk, lambda: self._stop):
                if event.output:
                    yield event, cells.y
            begin = chunk[-1].at

    def _by_gauss_seidel(self) -> Iterator[tuple[Event, Array]]:
        cells = self.gauss_seidel
        assert cells is not None
        yield self._first, cells.concentrations()
        for chunk in _chunks(steps(self.conditions, self.forcing.kinks), cells.chunk()):
            for step in cells.advance(chunk):
                if self._stop:
                    raise KeyboardInterrupt
                if step.output:
                    yield Event(step.end, step.at != step.end, True), cells.concentrations()

    @property
    def _first(self) -> Event:
        return Event(self.conditions.time.start.value, False, True)


def integrate_box(
    network: ReactionNetwork, conditions: BoxConditions, *, states: CellStates | None = None, threads: int = 1,
    allow_code: bool = False,
) -> "xr.Dataset":  # fmt: skip
    """Integrate a mechanism in one box of air, or in many that begin with `states`; return the time series.

    By a Rosenbrock method with its own steps in every box, see :mod:`airshed.kernels.chemistry.tableau`, or by two-step
    backward differentiation with Gauss-Seidel sweeps over the species, see :mod:`airshed.program.weights`.

    allow_code  whether processes in files may run;  returns  see :meth:`BoxRun.run`
    Raises CaseError for conditions that do not fit the mechanism, NumericalError when the state does not stay finite.
    source   Sandu et al. 1997, Atmos. Environ. 31, 3459-3472; Verwer 1994, SIAM J. Sci. Comput. 15, 1243-1250
    """
    return BoxRun(network, conditions, states=states, threads=threads, allow_code=allow_code).run()


def _without_units(conditions: BoxConditions, forcing: BoxForcing) -> tuple[BoxConditions, list[str]]:
    """Return conditions whose tolerance suits a mechanism without units, such as Robertson's, and a note of it.

    Its numbers are far below those of any gas: the default tolerance would let them be anything.
    """
    start, solver = conditions.time.start.value, conditions.solver
    largest = float(forcing.start(start, forcing.at([start])).max(initial=0.0))
    given = "solver" in conditions.model_fields_set and "absolute_tolerance" in solver.model_fields_set
    if given or forcing.emitted or not 0.0 < largest < _NO_GAS or solver.method not in METHODS:
        return conditions, []
    text = f"{_OF_LARGEST * largest:.3g} molecules/cm3"
    solver = type(solver).model_validate({**solver.to_dict(), "absolute_tolerance": text})
    note = (
        f"no species starts with more than {largest:.3g}: these are numbers of a mechanism without "
        f"units; solver.absolute_tolerance is {_OF_LARGEST:g} of that"
    )
    return conditions.model_copy(update={"solver": solver}), [note]


def _chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk

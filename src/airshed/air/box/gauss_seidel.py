"""Integrates one box or many by the kernel of the three-dimensional model: columns of one level without transport."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import BoxConditions
from airshed.air.box.failure import ChemistryFailure, Stopped, at_start_of
from airshed.air.box.forcing import UNNEEDED, BoxForcing
from airshed.air.box.steps import BoxStep, events
from airshed.core.errors import CaseError
from airshed.formula import trace
from airshed.kernels.backend import StepKernel, Stepper, backend
from airshed.kernels.derivatives import Reverser
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray, aligned_zeros
from airshed.kernels.step.data import (
    TERMS,
    ColumnForcing,
    Level,
    StepConstants,
    StepForcing,
    TransportForcing,
)
from airshed.kernels.step.operators import Operator, OperatorField
from airshed.kernels.step.rates import REFERENCE_DENSITY
from airshed.program.weights import StageWeights, two_step_weights

Array = npt.NDArray[np.float64]

_CLIPPED: Final = TERMS.index("clipped")
_NUMBERS: Final = 4_000_000  # of conditions that are evaluated together


def compile_box(forcing: BoxForcing, precision: Literal["double", "single"]) -> StepKernel:
    """Return the kernel of boxes, whose species with a loss rate have it as one to the ground."""
    losses = (_loss(forcing.deposited),) if forcing.deposited else ()
    return backend().compile_mechanism(forcing.network, 1, precision, operators=losses)


def _loss(species: Sequence[int]) -> Operator:
    """The loss of some species by conductances [mol/s]."""
    rate = trace(lambda deposition, air: deposition / air).outputs
    fields = (OperatorField("deposition", "ground", species=True),)
    return Operator("dry_deposition", "loss", rate, tuple(species), fields, ground=True, term="deposited")


@dataclass(frozen=True)
class Taken:
    """A step as it was taken, its weights, and the mixing ratios that it began with, as they lie in memory."""

    step: BoxStep
    weights: StageWeights
    q: AnyArray


class GaussSeidelCells:
    """The state of all cells and what advances them by steps of the two-step formula.

    The state is mixing ratios q = c / M, so that a box whose air density M changes expands and is compressed with its
    content, and nothing flows in. A box of M molecules cm-3 holds M / REFERENCE_DENSITY mol of air.

    clipped  (species,) [molecules cm-3] that was added to keep concentrations from getting negative, all cells together
    tape     the steps that were taken, for adjoints; None where nobody asked for it
    """

    def __init__(self, kernel: StepKernel, forcing: BoxForcing, conditions: BoxConditions) -> None:
        self.kernel, self.forcing, self.conditions = kernel, forcing, conditions
        start = conditions.time.start.value
        air = forcing.at([start])
        density = air.get("M", np.full((1, 1), UNNEEDED["M"]))
        self.layout = kernel.layout(1, forcing.cells)
        self._stepper = self._make_stepper(air)
        self._packed = PackedConditions(self.layout, forcing, self._stepper)
        self.clipped = np.zeros(len(kernel.network.species))
        self.steps = 0
        self.tape: list[Taken] | None = None
        state = self._stepper.state
        state.q[...] = state.q_other[...] = self.layout.pack((forcing.start(start, air) / density[:, 0])[:, None, None])
        self._packed.load(air, 1)
        self._packed.set(0)
        self._kept = start, self.concentrations()

    def chunk(self) -> int:
        """Return of how many steps the conditions are evaluated together."""
        forcing = self.forcing
        rows = 12 + len(forcing.emitted) + len(forcing.deposited) + len(self.kernel.network.parameters)
        return max(1, min(1024, _NUMBERS // (rows * forcing.cells)))

    def advance(self, steps: Sequence[BoxStep]) -> Iterator[BoxStep]:
        """Take steps, so few as :meth:`chunk` says; yield each when it is done.

        Raises ChemistryFailure where a cell's state is no longer finite.
        """
        self._packed.load(self.forcing.at(np.array([step.at for step in steps])), len(steps))
        for number, step in enumerate(steps):
            self._packed.set(number)
            weights = two_step_weights(step.length, step.previous)
            if self.tape is not None:
                self.tape.append(Taken(step, weights, self._kept_state()))
            sums = self._stepper.step(weights, self._packed.transport, self._packed.column)
            # The kernel keeps concentrations from getting negative, NaN too, which then shows in what it added.
            if not np.isfinite(sums[_CLIPPED]).all():
                raise self._failure(step, np.asarray(~np.isfinite(sums[_CLIPPED])))
            self.clipped += REFERENCE_DENSITY * sums[_CLIPPED]
            self.steps += 1
            if step.output:
                self._keep(step)
            yield step

    def back(self) -> Iterator[tuple[StepForcing, list[Level]]]:
        """Yield the steps of the tape from the last one to the first: what each was given, and levels n-1, n, n+1."""
        tape, newest = self.tape or [], self._kept_state()
        for number in reversed(range(len(tape))):
            taken, older = tape[number], tape[max(number - 1, 0)].q
            self._packed.load(self.forcing.at([taken.step.at]), 1)
            self._packed.set(0)
            forcing = StepForcing(taken.weights, self._packed.transport, self._packed.column)
            yield forcing, [Level(each, self._stepper.state.air) for each in (older, taken.q, newest)]
            newest = taken.q

    def _kept_state(self) -> AnyArray:
        copy = aligned_zeros(self._stepper.state.q.shape, self._stepper.state.q.dtype)
        copy[...] = self._stepper.state.q
        return copy

    def reverser(self) -> Reverser:
        """Return what takes adjoints back over the steps, compiled when it is first asked for."""
        return self.kernel.reversed().reverser(self.layout, self._constants)

    def concentrations(self) -> Array:
        """Return the state (species, cell) [molecules cm-3]."""
        return self._concentrations(self._stepper.state.q)

    def _concentrations(self, mixing_ratios: AnyArray) -> Array:
        air = self._stepper.state.air[:, :, None]
        return REFERENCE_DENSITY * self.layout.unpack(mixing_ratios * air)[:, 0, 0]

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()

    def _keep(self, step: BoxStep) -> None:
        """Keep the state at an output, from which a failure is replayed; raise ChemistryFailure where it is none."""
        state = self.concentrations()
        if not np.isfinite(state).all():
            raise self._failure(step, np.asarray(~np.isfinite(state).all(axis=1)))
        self._kept = step.end, state

    def _failure(self, step: BoxStep, lost: npt.NDArray[np.bool_]) -> ChemistryFailure:
        """Return the failure of the first cell whose state is not finite after a step that lost some species.

        Where the kernel has put zeros in the place of what was none, it is the cell with most in it before.
        """
        names = self.kernel.network.names
        begun, kept = self._kept
        state, before = self.concentrations(), self._concentrations(self._stepper.state.q_other)
        wrong = ~np.isfinite(state).all(axis=0)
        cell = int(np.argmax(wrong if wrong.any() else np.nan_to_num(before, nan=np.inf).max(axis=0)))
        where = cell if self.forcing.cells > 1 else None
        end = self._next_output(begun)
        replay = at_start_of(self.conditions, self.forcing, where, kept[:, cell], begun, end)
        listed = ", ".join(names[species] for species in np.flatnonzero(lost)[:3])
        return ChemistryFailure(
            self.kernel.network, Stopped(where, step.end - step.length, (begun, end), before[:, cell]), replay,
            tried=f"where a step of {step.length:.6g} s leaves no finite numbers of {listed}",
            remedy="shorten solver.step, or take a Rosenbrock method",
        )  # fmt: skip

    def _next_output(self, begun: float) -> float:
        times = (event.at for event in events(self.conditions, self.forcing.kinks) if event.output)
        return next(time for time in times if time > begun)

    def _make_stepper(self, air: dict[str, Array]) -> Stepper:
        species = len(self.kernel.network.species)
        self._constants = StepConstants(
            ghosts=np.zeros((species, 1)),
            top=np.zeros(species),
            density_factor=np.array([[1.0]]),
            vertical_weights=np.zeros((1, 4)),
            emitted=list(self.forcing.emitted),
            sweeps=self.conditions.solver.sweeps,
            oxygen=constant_fraction("fixed.O2", air),
            nitrogen=constant_fraction("fixed.N2", air),
        )
        return self.kernel.stepper(self.layout, self._constants)


class PackedConditions:
    """The conditions of one step as the kernel reads them; what changes from step to step is all that is written."""

    def __init__(self, layout: Layout, forcing: BoxForcing, stepper: Stepper) -> None:
        self._layout, self._forcing, self._stepper = layout, forcing, stepper
        nothing, self._temperature, self._water = (layout.zeros(1) for _ in range(3))
        self._sun = layout.zeros(2)
        self._deposition = layout.zeros(len(forcing.deposited))
        self._emission = layout.zeros(len(forcing.emitted), 1)
        self._parameters = layout.zeros(len(forcing.network.parameters), 1)
        faces_x, faces_y = (layout.pack(np.zeros((1, layout.rows + y, layout.columns + 1 - y))) for y in (0, 1))
        self.transport = TransportForcing((faces_x,) * 2, (faces_y,) * 2, (nothing,) * 2, weight=0.0, weight_z=0.0)
        self.column = ColumnForcing(
            (self._temperature,) * 2, (self._water,) * 2, weight=0.0, emission=self._emission, sun=self._sun,
            parameters=(self._parameters,) * 2, fields={"deposition": (self._deposition,) * 2},
        )  # fmt: skip
        self._changing: list[tuple[AnyArray, AnyArray]] = []

    def load(self, values: dict[str, Array], count: int) -> None:
        """Take the values of the next `count` steps."""
        forcing, state = self._forcing, self._stepper.state
        known = {name: values.get(name, np.full((1, 1), value)) for name, value in UNNEEDED.items()}
        air = known["M"] / REFERENCE_DENSITY
        for name in ("O2", "N2"):
            constant_fraction(f"fixed.{name}", values)
        secant = known["sec_zenith"]
        if "SUN" in forcing.needed:  # the kernel takes 1/secant for the sun's light, also where the secant has a bound
            with np.errstate(divide="ignore"):
                secant = np.where(known["SUN"] > 0.0, 1.0 / known["SUN"], secant)
        sources: list[tuple[AnyArray, list[Array]]] = [
            (self._temperature, [known["T"]]),
            (self._water, [known["H2O"] / known["M"]]),
            (self._sun, [secant, known["daylight"]]),
            (self._deposition, [values[f"deposition {species}"] * air for species in forcing.deposited]),
            (self._emission[:, :, :, 0], [values[f"emission {each}"] / REFERENCE_DENSITY for each in forcing.emitted]),
            (self._parameters[:, :, :, 0], [values[each.name] for each in forcing.network.parameters]),
            (state.air, [air]),
            (state.air_other, [air]),
        ]
        self._changing = []
        for target, rows in sources:
            if rows:
                table = self._table(rows, count)
                target[...] = table[0]
                if len(table) > 1 and np.any(table != table[0]):
                    self._changing.append((target, table))

    def set(self, number: int) -> None:
        """Write the conditions of one of the loaded steps; the same air at all time levels keeps the mixing ratios."""
        for target, table in self._changing:
            target[...] = table[number]

    def _table(self, rows: list[Array], count: int) -> AnyArray:
        """Return rows (cell, time) as (time, [lat][block][row][W]); one time where nothing changes."""
        times = count if any(row.shape[1] > 1 for row in rows) else 1
        columns = self._layout.columns
        full = np.stack([np.broadcast_to(row, (columns, times)) for row in rows])
        packed = self._layout.pack(np.moveaxis(full, 2, 0)[:, :, None, :])
        return np.asarray(np.moveaxis(packed, 2, 0))


def constant_fraction(key: str, values: dict[str, Array]) -> float:
    """Return the fraction that a gas has of air, which must not change: the kernel takes it as one number."""
    name = key.partition(".")[2]
    if name not in values or "M" not in values:
        return 0.0
    fraction = np.asarray(values[name] / values["M"])
    if np.ptp(fraction) > 1e-9 * float(np.max(fraction)):
        raise CaseError(
            f"{key} must be a constant fraction of M with gauss-seidel; write it as a formula such as 0.2095*M, "
            "or take another solver.method"
        )
    return float(fraction.reshape(-1)[0])

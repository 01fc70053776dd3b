"""Chemistry of boxes by the two-step formula with Gauss-Seidel iteration, with the kernel of the 3-D model.

This is a kind of `cells` stage: boxes are columns of one level without transport.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.case.failure import ChemistryFailure
from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.formula import trace
from airshed.kernels.abi import TERMS
from airshed.kernels.backend import Reverser, StepKernel, Stepper, backend
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.operators import Operator, OperatorField
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.arguments import ColumnForcing, StepConstants, StepForcing, TimeLevel, TransportForcing
from airshed.models.box.conditions import BoxConditions, BoxStep, events
from airshed.models.box.forcing import UNNEEDED, BoxForcing
from airshed.program.stage import Stage
from airshed.program.weights import StageWeights, two_step_weights
from airshed.runtime.model import Arrays

_CLIPPED: Final = TERMS.index("clipped")
_NUMBERS: Final = 4_000_000  # maximum number of values of conditions in one evaluation
_LARGEST_GROWTH: Final = 2.0  # maximum ratio of consecutive steps; the two-step formula is stable up to 1 + sqrt 2


def compile_box(forcing: BoxForcing, precision: Literal["double", "single"]) -> StepKernel:
    """Return the kernel of boxes; loss rates of species are losses to the ground."""
    # Losses are conductances [mol/s].
    rate = trace(lambda deposition, air: deposition / air).outputs
    fields = (OperatorField("deposition", "ground", species=True),)
    loss = Operator("dry_deposition", "loss", rate, tuple(forcing.deposited), fields, ground=True, term="deposited")
    losses = (loss,) if forcing.deposited else ()
    return backend().compile_mechanism(forcing.network, 1, precision, operators=losses)


@dataclass(frozen=True)
class GaussSeidelStep:
    """Record of a step: the time of its conditions, its weights, and the mixing ratios of time levels n-1 and n."""

    at: float
    weights: StageWeights
    older: AnyArray
    q: AnyArray


class GaussSeidelCells:
    """State of all cells, advanced by steps of the two-step formula.

    The state is mixing ratios q = c / M: if the air density M changes, a box expands or is compressed without inflow.
    A box with M molecules cm-3 contains M / REFERENCE_DENSITY mol of air.

    clipped    concentrations added to avoid negative values (species, cell) [molecules cm-3], summed in the first cell
    records    whether :meth:`run` returns records
    evaluated  last time at which conditions were evaluated, and their values, last in the axis of time
    batch      number of steps whose conditions are evaluated together
    """

    rejected = retried = 0

    def __init__(self, kernel: StepKernel, forcing: BoxForcing, conditions: BoxConditions, start: float) -> None:
        self.kernel, self.forcing, self.conditions = kernel, forcing, conditions
        air = forcing.at([start])
        density = air.get("M", np.full((1, 1), UNNEEDED["M"]))
        self.layout = kernel.layout(1, forcing.cells)
        self._stepper = self._make_stepper(air)
        self._packed = PackedConditions(self.layout, forcing, self._stepper)
        self.clipped = np.zeros((len(kernel.network.species), forcing.cells))
        self.steps, self.records = 0, False
        self.notes: list[str] = []
        self._previous: float | None = None
        self._older: AnyArray | None = None
        rows = 12 + len(forcing.emitted) + len(forcing.deposited) + len(kernel.network.parameters)
        self.batch = max(1, min(1024, _NUMBERS // (rows * forcing.cells)))
        self.evaluated: tuple[float, Mapping[str, Array]] = start, air
        self._packed.load(air, 1)
        self._packed.set(0)
        self._set_mixing_ratios(forcing.start(start, air) / density[:, 0])
        self._stored = start, self.concentrations()

    def run(self, number: int, stage: Stage, given: Sequence[BoxStep]) -> list[GaussSeidelStep | None]:
        """Run at most :attr:`batch` steps; return their records if these are enabled.

        Raises ChemistryFailure if the state of a cell is no longer finite.
        """
        values = self.forcing.at([step.at for step in given])
        self._packed.load(values, len(given))
        self.evaluated = given[-1].at, values
        return [self._step(number, step) for number, step in enumerate(given)]

    def _step(self, number: int, given: BoxStep) -> GaussSeidelStep | None:
        """Run one of the loaded steps."""
        self._packed.set(number)
        length = given.end.at - given.begin
        grows = self._previous is None or length > _LARGEST_GROWTH * self._previous
        weights = two_step_weights(length, None if grows else self._previous)
        record = None
        if self.records:
            q = self.mixing_ratios()
            older, self._older = q if self._older is None else self._older, q
            record = GaussSeidelStep(given.at, weights, older, q)
        sums = self._stepper.step(weights, self._packed.transport, self._packed.column)
        # The kernel clips negative concentrations and NaN; the latter appear in the clipped amount.
        if not np.isfinite(sums[_CLIPPED]).all():
            raise self._failure(given, np.asarray(~np.isfinite(sums[_CLIPPED])))
        self.clipped[:, 0] += REFERENCE_DENSITY * sums[_CLIPPED]
        self.steps += 1
        self._previous = None if given.end.jump else length
        if given.end.output:
            self._store(given)
        return record

    def concentrations(self) -> Array:
        """Return the state (species, cell) [molecules cm-3]."""
        return self._concentrations(self._stepper.state.q)

    def set_concentrations(self, concentrations: Array) -> None:
        """Replace the state (species, cell) [molecules cm-3]; the next step is an Euler start."""
        self._set_mixing_ratios(
            concentrations / (REFERENCE_DENSITY * self.layout.unpack(self._stepper.state.air)[0, 0])
        )

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """Return arrays (cells first) and plain values, from which :meth:`restore` continues bitwise identically."""
        state, stored = self._stepper.state, self._stored
        levels = {"q": state.q, "q_other": state.q_other}
        arrays = {name: self.layout.unpack(each)[:, 0, 0].T for name, each in levels.items()}
        air = self.layout.unpack(state.air)[0, 0]
        arrays |= {"air": air, "clipped": self.clipped.T, "stored": stored[1].T}
        return arrays, {"steps_of_cells": self.steps, "previous": self._previous, "stored_at": stored[0]}

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        """Restore the state that :meth:`save` returned."""
        state = self._stepper.state
        for name, target in (("q", state.q), ("q_other", state.q_other)):
            target[...] = self.layout.pack(np.asarray(arrays[name]).T[:, None, None])
        state.air[...] = state.air_other[...] = self.layout.pack(np.asarray(arrays["air"])[None, None])
        self.clipped[...] = arrays["clipped"].T
        self._stored = values["stored_at"], np.array(arrays["stored"]).T
        self.steps, self._previous = values["steps_of_cells"], values["previous"]

    def forcing_of(self, record: GaussSeidelStep, newest: AnyArray) -> tuple[StepForcing, list[TimeLevel]]:
        """Return the forcing of a step, and time levels n-1, n, n+1; `newest` is the last one."""
        self._packed.load(self.forcing.at([record.at]), 1)
        self._packed.set(0)
        forcing = StepForcing(record.weights, self._packed.transport, self._packed.column)
        return forcing, [TimeLevel(each, self._stepper.state.air) for each in (record.older, record.q, newest)]

    def mixing_ratios(self) -> AnyArray:
        """Return a copy of the packed mixing ratios."""
        copy = aligned_zeros(self._stepper.state.q.shape, self._stepper.state.q.dtype)
        copy[...] = self._stepper.state.q
        return copy

    def air(self) -> AnyArray:
        """Return the air of the boxes at the end of the last step [mol]."""
        return self._stepper.state.air

    def reverser(self) -> Reverser:
        """Return the adjoint of the step, compiled on first use."""
        return self.kernel.reverser(self.layout, self._constants)

    def close(self) -> None:
        """Stop the threads."""
        self._stepper.close()

    def _set_mixing_ratios(self, q: Array) -> None:
        state = self._stepper.state
        state.q[...] = state.q_other[...] = self.layout.pack(q[:, None, None])
        self._previous = None

    def _concentrations(self, mixing_ratios: AnyArray) -> Array:
        air = self._stepper.state.air[:, :, None]
        return REFERENCE_DENSITY * self.layout.unpack(mixing_ratios * air)[:, 0, 0]

    def _store(self, step: BoxStep) -> None:
        """Store the state at an output for the replay of failures; raises ChemistryFailure if it is not finite."""
        state = self.concentrations()
        if not np.isfinite(state).all():
            raise self._failure(step, np.asarray(~np.isfinite(state).all(axis=1)))
        self._stored = step.end.at, state

    def _failure(self, step: BoxStep, lost: npt.NDArray[np.bool_]) -> ChemistryFailure:
        """Return the failure of the first cell with values that are not finite in some species after a step.

        If the kernel has replaced these values by zeros, it is the cell with the largest concentration before the step.
        """
        names = self.kernel.network.names
        begun, stored = self._stored
        state, before = self.concentrations(), self._concentrations(self._stepper.state.q_other)
        wrong = ~np.isfinite(state).all(axis=0)
        cell = int(np.argmax(wrong if wrong.any() else np.nan_to_num(before, nan=np.inf).max(axis=0)))
        where = self.forcing.number(cell)
        outputs = (event.at for event in events(self.conditions, self.forcing.corners) if event.output)
        end = next(time for time in outputs if time > begun)
        replay = self.forcing.replay(cell, stored[:, cell], begun, end)
        listed = ", ".join(names[species] for species in np.flatnonzero(lost)[:3])
        return ChemistryFailure(
            self.kernel.network, replay, where, (begun, step.begin, end), before[:, cell],
            tried=f"where a step of {step.end.at - step.begin:.6g} s gives values of {listed} that are not finite",
            remedy="reduce solver.step, or use a Rosenbrock method",
        )  # fmt: skip

    def _make_stepper(self, air: dict[str, Array]) -> Stepper:
        species = len(self.kernel.network.species)
        self._constants = StepConstants(
            profile=np.zeros((species, 1)),
            top=np.zeros(species),
            density_factor=np.ones((1, 1, 1)),
            vertical_weights=np.zeros((1, 4)),
            emitted=list(self.forcing.emitted),
            sweeps=self.conditions.solver.sweeps,
            oxygen=constant_fraction("fixed.O2", air),
            nitrogen=constant_fraction("fixed.N2", air),
        )
        return self.kernel.stepper(self.layout, self._constants)


class PackedConditions:
    """Conditions of one step in the layout of the kernel; each step writes only the values that change."""

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
        """Load the values of the next `count` steps."""
        forcing, state = self._forcing, self._stepper.state
        known = {name: values.get(name, np.full((1, 1), value)) for name, value in UNNEEDED.items()}
        air = known["M"] / REFERENCE_DENSITY
        for name in ("O2", "N2"):
            constant_fraction(f"fixed.{name}", values)
        secant = known["sec_zenith"]
        if "SUN" in forcing.needed:  # the kernel computes SUN as 1/secant, even where the secant is limited
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
                if len(table) > 1:
                    self._changing.append((target, table))

    def set(self, number: int) -> None:
        """Write the conditions of one loaded step; equal air at all time levels preserves the mixing ratios."""
        for target, table in self._changing:
            target[...] = table[number]

    def _table(self, rows: list[Array], count: int) -> AnyArray:
        """Return rows (cell, time) as (time, [lat][block][row][W]), with a single time if they are constant."""
        times = count if any(row.shape[1] > 1 for row in rows) else 1
        columns = self._layout.columns
        full = np.stack([np.broadcast_to(row, (columns, times)) for row in rows])
        packed = self._layout.pack(np.moveaxis(full, 2, 0)[:, :, None, :])
        return np.asarray(np.moveaxis(packed, 2, 0))


def constant_fraction(key: str, values: dict[str, Array]) -> float:
    """Return the mole fraction of a gas in air, which must be constant, since the kernel reads a single number."""
    name = key.partition(".")[2]
    if name not in values or "M" not in values:
        return 0.0
    fraction = np.asarray(values[name] / values["M"])
    if np.ptp(fraction) > 1e-9 * float(np.max(fraction)):
        raise CaseError(
            f"{key} must be a constant fraction of M with gauss-seidel; write it as a formula such as 0.2095*M, "
            "or use another solver.method"
        )
    return float(fraction.reshape(-1)[0])

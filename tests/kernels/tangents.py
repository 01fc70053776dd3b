"""Tangents of all inputs of a step: by the compiled tangent, and by the reference in complex numbers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from airshed.kernels.backends.cpu.kernel import StepDerivative, StepKernel
from airshed.kernels.backends.cpu.tangent import TangentStepper
from airshed.kernels.boundary import BoundaryForcing, PackedBoundary
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.operators import members
from airshed.kernels.step.arguments import StepChanges, StepConstants, StepForcing, TimeLevel
from airshed.kernels.step.reference import Fields, StepResult
from airshed.kernels.step.trial import Trial, forcing, make_stepper, reference_step

Arrays = Mapping[str, np.ndarray]

SMALL = 1e-30
"""The imaginary part of a complex step: its square is negligible."""

PARTS = ("state", "sides", "boundary", "top", "emission", "factors", "fields", "explicit", "numbers")


@dataclass(frozen=True)
class Direction:
    """Tangents of the inputs of a trial, by the names of the inputs; those of fields at both ends."""

    state: Arrays
    sides: np.ndarray
    top: np.ndarray
    emission: np.ndarray
    factors: np.ndarray
    fields: tuple[Arrays, Arrays]
    explicit: tuple[Arrays, Arrays]
    numbers: Arrays
    boundary: tuple[np.ndarray, np.ndarray] | None = None


def random_direction(trial: Trial, *, seed: int = 0, parts: Collection[str] = PARTS) -> Direction:
    """Return tangents as large as their inputs, also where those are zero; only for some parts."""
    random = np.random.default_rng(seed)

    def of(part: str, array: np.ndarray) -> np.ndarray:
        size = array
        if array.size and part != "explicit":  # the edge of the area stays closed to exchange
            size = np.where(array == 0.0, 0.1 * np.abs(array).mean(), array)
        return (part in parts) * random.uniform(-1.0, 1.0, array.shape) * size

    def of_all(part: str, arrays: Arrays) -> Arrays:
        return {name: of(part, array) for name, array in arrays.items()}

    setup, (first, last) = trial.setup, trial.columns
    return Direction(
        of_all("state", {name: getattr(trial.fields, name) for name in ("q", "q_previous", "tendency")}),
        of("sides", setup.boundary.sides), of("top", setup.boundary.top), of("emission", first.emission),
        of("factors", np.ones(len(setup.network.reactions))),
        (of_all("fields", first.fields), of_all("fields", last.fields)),
        (closed(of_all("explicit", trial.explicit[0])), closed(of_all("explicit", trial.explicit[1]))),
        of_all("numbers", setup.numbers),
        trial.boundary and (of("boundary", trial.boundary[0]), of("boundary", trial.boundary[1])),
    )  # fmt: skip


def closed(explicit: Arrays) -> Arrays:
    """Return changes of explicit fields where matrices bring as much air to each level as they take from it."""
    for array in explicit.values():
        if array.ndim == 4 and array.shape[0] == array.shape[1]:
            level = np.arange(len(array))
            array[level, level] -= array.sum(axis=1)
    return explicit


def complex_trial(trial: Trial, to: Direction) -> Trial:
    """Return the trial with its changes as small imaginary parts."""

    def plus(values: Any, changes: Any) -> Any:
        if isinstance(values, Mapping):
            return {name: plus(values[name], changes[name]) for name in values}
        return values + 1j * SMALL * changes

    setup = trial.setup
    around = replace(setup.boundary, sides=plus(setup.boundary.sides, to.sides), top=plus(setup.boundary.top, to.top))
    setup = replace(setup, boundary=around, numbers=plus(setup.numbers, to.numbers),
                    factors=1.0 + 1j * SMALL * to.factors, families=())  # fmt: skip
    columns = [
        replace(column, fields=plus(column.fields, change), emission=plus(column.emission, to.emission))
        for column, change in zip(trial.columns, to.fields, strict=True)
    ]
    first, last = (plus(*each) for each in zip(trial.explicit, to.explicit, strict=True))
    state = replace(trial.fields, **{name: plus(getattr(trial.fields, name), to.state[name]) for name in to.state})
    boundary = trial.boundary and tuple(plus(*each) for each in zip(trial.boundary, to.boundary, strict=True))
    return replace(trial, setup=setup, columns=(columns[0], columns[1]), explicit=(first, last), fields=state,
                   boundary=boundary)  # fmt: skip


def twin_changes(stepped: StepResult) -> Arrays:
    """Return the changes that a step in complex numbers made."""
    return {name: getattr(stepped.fields, name).imag / SMALL for name in ("q", "q_previous", "tendency")}


def constants_of(trial: Trial) -> StepConstants:
    setup = trial.setup
    return StepConstants(
        setup.boundary.sides, setup.boundary.top, setup.density_factor, setup.vertical_weights, setup.thickness,
        setup.emitted, setup.sweeps, setup.oxygen, setup.nitrogen,
    )  # fmt: skip


def make_tangent_stepper(kernel: StepDerivative, trial: Trial, to: Direction, threads: int = 1) -> TangentStepper:
    """Return a stepper that holds the state of a trial and its changes."""
    layout = kernel.forward.layout(*trial.fields.air.shape[1:])
    stepper = TangentStepper(kernel, layout, constants_of(trial), threads=threads)
    for name, packed in by_field(stepper.state).items():
        packed[...] = layout.pack(getattr(trial.fields, name))
    for name, change in to.state.items():
        by_field(stepper.changes)[name][...] = layout.pack(change)
    return stepper


def by_field(state: Any) -> dict[str, AnyArray]:
    """Return the arrays of a packed state by their names in the reference."""
    return dict(zip((each.name for each in fields(Fields)), vars(state).values(), strict=True))


def packed_changes(kernel: StepDerivative, to: Direction, layout: Layout) -> StepChanges:
    """Return the tangents of the inputs of a step of the kernel."""
    read = {each.key for each in members(kernel.shape.operators)}
    given: dict[str, Any] = {}
    for ends in (to.fields, to.explicit):
        for name in read & set(ends[0]):
            given[name] = tuple(layout.pack(end[name], padding="constant") for end in ends)
    numbers = {name: to.numbers[name] for name in read & set(to.numbers)}
    emission = layout.pack(to.emission, padding="constant")
    boundary = None
    if to.boundary is not None:
        boundary = BoundaryForcing(*(PackedBoundary.of(layout, each) for each in to.boundary), weight=0.0)
    return StepChanges(emission, to.sides, to.top, to.factors, given, numbers, boundary)


def step_forcing(trial: Trial, layout: Layout) -> StepForcing:
    return StepForcing(trial.weights, *forcing(trial, layout))


def tangent_step(kernel: StepDerivative, trial: Trial, to: Direction, threads: int = 1) -> tuple[Arrays, Arrays]:
    """Return the state after a step and its changes, not packed."""
    stepper = make_tangent_stepper(kernel, trial, to, threads)
    stepper.step(step_forcing(trial, stepper.layout), packed_changes(kernel, to, stepper.layout))
    stepper.close()
    return unpacked(stepper)


def unpacked(stepper: TangentStepper) -> tuple[Arrays, Arrays]:
    """Return the state of a stepper and its changes, not packed."""
    both = [{name: stepper.layout.unpack(array) for name, array in by_field(each).items()}
            for each in (stepper.state, stepper.changes)]  # fmt: skip
    return both[0], both[1]


def difference(found: Arrays, twin: Arrays) -> float:
    """Return the greatest difference, relative to the greatest change of a species."""
    worst = 0.0
    for name, expected in twin.items():
        scale = np.abs(expected).max(axis=(1, 2, 3), keepdims=True)
        worst = max(worst, float((np.abs(found[name] - expected) / np.maximum(scale, 1e-300)).max()))
    return worst


def compare(kernel: StepDerivative, trial: Trial, to: Direction) -> float:
    """Return the error of the compiled tangents relative to the reference."""
    twin = twin_changes(reference_step(complex_trial(trial, to)))
    return difference(tangent_step(kernel, trial, to)[1], twin)


def adjoints(kernel: StepKernel, trial: Trial, costs: Arrays) -> Arrays:
    """Return the adjoints of the inputs of a step, for a cost of the state after it; by names of tangents."""
    stepper = make_stepper(kernel, trial)
    layout, state = stepper.layout, stepper.state
    before = {name: layout.pack(array) for name, array in vars(trial.fields).items()}
    step = step_forcing(trial, layout)
    stepper.step(trial.weights, step.transport, step.column)
    levels = [TimeLevel(before["q_previous"], before["air_previous"]), TimeLevel(before["q"], before["air"]),
              TimeLevel(state.q, state.air)]  # fmt: skip
    reverser = kernel.reverser(layout, constants_of(trial))
    reverser.start(state.tendency)
    found = {"q": reverser.x, "q_previous": reverser.older, "tendency": reverser.older_tendency}
    for name, target in found.items():
        target[...] = layout.pack(costs[name], padding="constant")
    sources = layout.zeros(len(kernel.network.species), trial.columns[0].emission.shape[1])
    reverser.reverse(step, levels, before["tendency"], [(1.0, sources)])
    reverser.finish(levels[1])
    reverser.close()
    stepper.close()
    around = {"sides": reverser.boundary_profile, "top": reverser.top, "factors": reverser.reactions}
    of_sources = layout.unpack(sources)[list(trial.setup.emitted)]
    return {name: layout.unpack(array) for name, array in found.items()} | {"emission": of_sources} | around

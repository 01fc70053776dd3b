"""Random inputs of a step, and their results from the compiled step and from its reference implementation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.abi import TERMS
from airshed.kernels.backend import StepKernel, Stepper
from airshed.kernels.boundary import BoundaryForcing, FaceCells, PackedBoundary
from airshed.kernels.column.reference import Column, OperatorInputs, air_of_cells, operator_rates
from airshed.kernels.layout import Layout, Padding
from airshed.kernels.operators import Kind, Member, Operator, members
from airshed.kernels.step.arguments import ColumnForcing, State, StepConstants, TransportForcing
from airshed.kernels.step.reference import Fields, StepResult, StepSetup, step
from airshed.kernels.transport.reference import AirFluxes, BoundaryValues
from airshed.program.weights import StageWeights

_DECADES: Final = 3
"""Decades over which a field varies."""

_SCALES: Final = 10.0 ** np.arange(-40, 41)


def random_numbers(random: np.random.Generator, operators: Sequence[Operator]) -> dict[str, Array]:
    """Return values for the numbers of operators, within a half of the declared ones."""
    return {
        each.key: np.array(each.values) * random.uniform(0.5, 1.5, len(each.values))
        for each in members(operators)
        if each.shape is None
    }


def random_fields(
    random: np.random.Generator, operators: Sequence[Operator], reading: OperatorInputs, shape: tuple[int, int, int],
    greatest: Mapping[Kind, float],
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """Return the fields of operators at two instants; the largest rate of an operator is about that of its kind.

    reading  numbers and air, which the rates read
    """
    found = {each.key: each for each in members(operators) if each.shape is not None}
    start, end = ({name: _random_field(random, each, shape) for name, each in found.items()} for _ in range(2))
    scaled: set[str] = set()
    for operator in operators:
        names = {field.name for field in operator.fields} - scaled
        factor = _factor(operator, OperatorInputs(start, reading.numbers, reading.air), names, greatest[operator.kind])
        for name in names:
            start[name] *= factor
            end[name] *= factor
        scaled |= names
    return start, end


def _random_field(random: np.random.Generator, member: Member, shape: tuple[int, int, int]) -> Array:
    levels, rows, columns = shape
    if member.shape == "matrix":
        return _circulation(random, shape)
    plane = rows + (member.shape == "south faces"), columns + (member.shape == "west faces")
    values = 10.0 ** random.uniform(-_DECADES, 0.0, (*member.middle(levels), *plane))
    if member.shape == "west faces":
        values[..., [0, -1]] = 0.0
    if member.shape == "south faces":
        values[..., [0, -1], :] = 0.0
    return values


def _circulation(random: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Return matrices with equal inflow and outflow of air in each level: cycles of all lengths."""
    levels, rows, columns = shape
    matrix = np.zeros((levels, levels, rows, columns))
    for away in range(1, levels):
        amount = 10.0 ** random.uniform(-_DECADES, 0.0, (rows, columns))
        for k in range(levels):
            matrix[k, (k + away) % levels] = amount
            matrix[k, k] -= amount
    return matrix


def _factor(operator: Operator, reading: OperatorInputs, names: set[str], greatest: float) -> float:
    """Return the power of ten that scales the fields so that the largest rate of the operator has a given size."""
    if greatest == 0.0 or not names:
        return float(greatest != 0.0)
    apart = []
    for scale in _SCALES:
        fields = {name: scale * field if name in names else field for name, field in reading.fields.items()}
        size = max(
            float(np.abs(rate).max())
            for rate in operator_rates(operator, OperatorInputs(fields, reading.numbers, reading.air))
        )
        apart.append(abs(np.log(size / greatest)) if np.isfinite(size) and size > 0.0 else np.inf)
    return float(_SCALES[int(np.argmin(apart))])


CELL_AIR: Final = 1e10
"""Air in a cell [mol], within a fifth: 100 m over 3 km x 3 km."""

_LEAST, _MOST = 1e-15, 1e-7  # mixing ratios, eight decades
_EMISSION_LEVELS = 3

_GREATEST: Final[Mapping[Kind, float]] = {
    "loss": 1.0, "source": 1e-8, "exchange": 30.0 * CELL_AIR, "settling": CELL_AIR, "face_exchange": 0.04 * CELL_AIR,
    "column_matrix": 0.04 * CELL_AIR, "face_flux": 0.0,
}  # fmt: skip
"""Largest rates of operators, times the step; explicit ones are small, for stability."""


@dataclass(frozen=True)
class Trial:
    """All inputs of one step: forcing at the two ends of its interval, and the weights of the end.

    weight, weight_z  of the horizontal and vertical air fluxes at n;  column_weight  of the columns at n + 1
    explicit  fields of operators that act at n, at both ends
    boundary  concentrations (species, level, face cell) at the ends of an interval, and the weight of its end at n;
              None for the lateral profile of `setup`
    """

    setup: StepSetup
    fields: Fields
    air_fluxes: tuple[AirFluxes, AirFluxes]
    columns: tuple[Column, Column]
    explicit: tuple[Mapping[str, Array], Mapping[str, Array]]
    weights: StageWeights
    weight: float = 0.25
    weight_z: float = 0.5
    column_weight: float = 0.75
    boundary: tuple[Array, Array] | None = None
    boundary_weight: float = 0.375


def random_trial(
    kernel: StepKernel, area: tuple[int, int], weights: StageWeights, *,
    seed: int = 0, sweeps: int = 1, wind: float = 0.04, sources: bool = True,
) -> Trial:  # fmt: skip
    """Return inputs without spatial structure: neighbours differ by decades, some values and air fluxes are zero.

    area     rows and columns
    wind     largest air flux over air content, times the step: the Courant number of a face
    sources  whether every second species is emitted, and operators act; otherwise their fields are zero
    """
    random = np.random.default_rng(seed)
    species, levels = len(kernel.network.species), kernel.shape.levels
    shape = (levels, *area)
    rows, _ = area
    q, q_previous = (_mixing_ratios(random, (species, *shape)) for _ in range(2))
    flow = wind * CELL_AIR / weights.g
    air = CELL_AIR * random.uniform(0.8, 1.2, shape)
    before = Fields(
        q, q_previous, flow * random.uniform(-1.0, 1.0, q.shape) * q_previous, air,
        air * random.uniform(0.98, 1.02, shape), flow * random.uniform(-1.0, 1.0, shape),
    )  # fmt: skip
    emitted = range(0, species, 2) if sources else range(0)
    setup = StepSetup(
        kernel.network, kernel.schedule.order,
        BoundaryValues(_mixing_ratios(random, (species, levels)), _mixing_ratios(random, (species,))),
        random.uniform(0.2, 1.1, (levels, rows, 1)) / CELL_AIR * np.linspace(0.9, 1.0, shape[2]),
        _parabolas(random, levels),
        random.uniform(20.0, 500.0, levels), emitted,
        kernel.shape.families, sweeps, 0.2095, 0.7808, kernel.shape.operators,
        kernel.shape.own_terms, random_numbers(random, kernel.shape.operators),
    )  # fmt: skip
    air_fluxes = _fluxes(random, shape, flow), _fluxes(random, shape, flow)
    start = _column(random, setup, shape, CELL_AIR / weights.g)
    end = replace(_column(random, setup, shape, CELL_AIR / weights.g), emission=start.emission, secant=start.secant,
                  light=start.light)  # fmt: skip
    sun = start.secant, start.light
    cells = air_of_cells(start.temperature, start.water, air, air * setup.density_factor, setup.thickness, sun)
    greatest = {kind: rate * sources / weights.g for kind, rate in _GREATEST.items()}
    first, last = random_fields(random, setup.operators, OperatorInputs({}, setup.numbers, cells), shape, greatest)
    explicit = {each.key for each in members(setup.operators) if each.explicit}

    def some(given: Mapping[str, Array], *, at_n: bool) -> dict[str, Array]:
        return {name: field for name, field in given.items() if (name in explicit) == at_n}

    columns_at = replace(start, fields=some(first, at_n=False)), replace(end, fields=some(last, at_n=False))
    return Trial(setup, before, air_fluxes, columns_at, (some(first, at_n=True), some(last, at_n=True)), weights)


def with_boundary(trial: Trial, seed: int = 0, cells: int = 1) -> Trial:
    """Return a trial with concentrations of one or two cells beyond the faces that vary along these and in time."""
    random, (species, levels, rows, columns) = np.random.default_rng([seed, 1]), trial.fields.q.shape
    faces = cells * species, levels, FaceCells(rows, columns).count
    return replace(trial, boundary=(_mixing_ratios(random, faces), _mixing_ratios(random, faces)))


def _mixing_ratios(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    values = np.exp(random.uniform(np.log(_LEAST), np.log(_MOST), shape))
    return np.where(random.uniform(size=shape) < 0.1, 0.0, values)


def _parabolas(random: np.random.Generator, levels: int) -> Array:
    return random.uniform((0.2, 0.1, 0.2, 0.1), (0.4, 0.3, 0.4, 0.3), (levels, 4))


def _fluxes(random: np.random.Generator, shape: tuple[int, ...], flow: float) -> AirFluxes:
    levels, rows, columns = shape
    each = [
        flow * random.uniform(-1.0, 1.0, size) * (random.uniform(size=size) > 0.1)
        for size in ((levels, rows, columns + 1), (levels, rows + 1, columns), shape)
    ]
    return AirFluxes(*each)


def _column(random: np.random.Generator, setup: StepSetup, shape: tuple[int, ...], flow: float) -> Column:
    levels, rows, columns = shape
    light = random.uniform(0.1, 1.0, (rows, columns)) * (random.uniform(size=(rows, columns)) > 0.3)
    secant = np.where(light > 0.0, random.uniform(1.0, 20.0, (rows, columns)), -5.0)
    emission = (len(setup.emitted), min(_EMISSION_LEVELS, levels), rows, columns)
    return Column(
        random.uniform(220.0, 310.0, shape), random.uniform(1e-6, 0.03, shape),
        flow * 1e-9 * random.uniform(size=emission), secant, light,
    )  # fmt: skip


def between(start: Any, end: Any, weight: float) -> Any:
    """Interpolate arrays, or mappings or dataclasses of arrays, with a weight of the second one."""
    if isinstance(start, Mapping):
        return {name: between(start[name], end[name], weight) for name in start}
    if isinstance(start, np.ndarray):
        return start + weight * (end - start)
    parts = {each.name: between(getattr(start, each.name), getattr(end, each.name), weight) for each in fields(start)}
    return replace(start, **parts)


def reference_step(trial: Trial) -> StepResult:
    """Return the result of the reference implementation for a trial."""
    flat = between(*trial.air_fluxes, trial.weight)
    air_fluxes = replace(flat, upward=between(*trial.air_fluxes, trial.weight_z).upward)
    column, explicit = between(*trial.columns, trial.column_weight), between(*trial.explicit, trial.weight)
    setup = trial.setup
    if trial.boundary is not None:
        setup = replace(setup, boundary=replace(setup.boundary, sides=between(*trial.boundary, trial.boundary_weight)))
    return step(setup, trial.fields, trial.weights, air_fluxes, column, explicit)


def make_stepper(kernel: StepKernel, trial: Trial, threads: int = 1, **options: Any) -> Stepper:
    """Return a stepper of the compiled kernel with the state of a trial; options: see :class:`Stepper`."""
    setup = trial.setup
    _, rows, columns = trial.fields.air.shape
    layout = kernel.layout(rows, columns)
    constants = StepConstants(
        setup.boundary.sides, setup.boundary.top, setup.density_factor, setup.vertical_weights, setup.thickness,
        setup.emitted, setup.sweeps, setup.oxygen, setup.nitrogen,
    )  # fmt: skip
    stepper = Stepper(kernel, layout, constants, threads=threads, **options)
    for packed, field in zip(_arrays(stepper.state), fields(Fields), strict=True):
        packed[...] = layout.pack(getattr(trial.fields, field.name))
    return stepper


def forcing(trial: Trial, layout: Layout) -> tuple[TransportForcing, ColumnForcing]:
    """Return the packed forcing of a trial."""

    def pair(ends: Sequence[Any], name: str, padding: Padding = "constant") -> Any:
        values = [end[name] if isinstance(end, Mapping) else getattr(end, name) for end in ends]
        return tuple(layout.pack(each, padding=padding) for each in values)

    east, north, up = (pair(trial.air_fluxes, name) for name in ("eastward", "northward", "upward"))
    column, sun = trial.columns[0], np.stack([trial.columns[0].secant, trial.columns[0].light])
    own = {name: pair([each.fields for each in trial.columns], name) for name in column.fields}
    explicit = {name: pair(trial.explicit, name) for name in trial.explicit[0]}
    return (
        TransportForcing(
            east, north, up, trial.weight, trial.weight_z, explicit, trial.setup.numbers, boundary_of(trial, layout)
        ),
        ColumnForcing(
            pair(trial.columns, "temperature", "edge"), pair(trial.columns, "water", "edge"),
            weight=trial.column_weight, emission=layout.pack(column.emission, padding="constant"), sun=layout.pack(sun),
            fields=own, numbers=trial.setup.numbers,
        ),
    )  # fmt: skip


def boundary_of(trial: Trial, layout: Layout) -> BoundaryForcing | None:
    """Return the packed boundary concentrations of a trial, at 0 and 1 s."""
    if trial.boundary is None:
        return None
    start, end = (PackedBoundary.of(layout, each, seconds) for seconds, each in enumerate(trial.boundary))
    return BoundaryForcing(start, end, trial.boundary_weight)


def changed(trial: Trial, name: str, factor: float) -> Trial:
    """Return a trial with a field of operators in a column, or the last value of a number, scaled by a factor."""
    if name in trial.setup.numbers:
        values = trial.setup.numbers[name].copy()
        values[-1] *= factor
        return replace(trial, setup=replace(trial.setup, numbers={**trial.setup.numbers, name: values}))

    def other(arrays: Mapping[str, Array]) -> dict[str, Array]:
        copies = {each: array.copy() for each, array in arrays.items()}
        if name in copies:
            *_, rows, columns = copies[name].shape
            copies[name][..., rows // 2, columns // 2] *= factor
        return copies

    first, second = (replace(each, fields=other(each.fields)) for each in trial.columns)
    return replace(trial, columns=(first, second), explicit=(other(trial.explicit[0]), other(trial.explicit[1])))


def compiled_step(kernel: StepKernel, trial: Trial, threads: int = 1) -> StepResult:
    """Return the result of the compiled kernel for a trial."""
    stepper = make_stepper(kernel, trial, threads)
    try:
        sums = stepper.step(trial.weights, *forcing(trial, stepper.layout))
        return StepResult(Fields(*map(stepper.layout.unpack, _arrays(stepper.state))), sums, stepper.imbalance)
    finally:
        stepper.close()


def _arrays(state: State) -> Sequence[Any]:
    return [state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency]


def difference(found: StepResult, expected: StepResult, g: float) -> float:
    """Return the largest difference of a step from the expected one, each quantity relative to its scale.

    The scale of a mixing ratio or tendency is the largest value of its species. That of chemistry is the turnover,
    since production and loss nearly cancel. That of clipping, and of operators in a step g, is the amount of the
    species.
    """
    worst = 0.0
    for field in fields(Fields):
        a, b = getattr(found.fields, field.name), getattr(expected.fields, field.name)
        worst = max(worst, _relative(a - b, np.abs(b).max(axis=(-3, -2, -1), keepdims=True)))
    amount = np.sum(expected.fields.air * expected.fields.q, axis=(1, 2, 3))
    handled: dict[int, Any] = {TERMS.index("clipped"): amount, TERMS.index("chemistry"): expected.turnover}
    handled |= dict.fromkeys(range(TERMS.index("outflow") + 1), 0.0)
    for number, (a, b) in enumerate(zip(found.sums, expected.sums, strict=True)):
        worst = max(worst, _relative(a - b, np.maximum(np.abs(b), handled.get(number, amount / g))))
    return max(worst, _relative(found.imbalance - expected.imbalance, np.abs(expected.imbalance)))


def _relative(error: Array, scale: Array) -> float:
    """Return the largest error over its scale; infinite for NaN."""
    relative = np.abs(error) / np.maximum(scale, np.finfo(np.float64).tiny)
    return float(np.max(np.where(np.isnan(relative), np.inf, relative), initial=0.0))

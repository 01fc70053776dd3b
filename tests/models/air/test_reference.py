"""NumPy repeats recorded steps of each integrator to round-off; the comparison detects a changed record."""

from dataclasses import replace

import numpy as np
import pytest
from tests.laws.cases import small_case
from tests.laws.derivatives import changing_weather, uneven_boundary

import airshed
from airshed.core.errors import ProgramError
from airshed.models.air.programs.records import CellsRecord, MoveRecord
from airshed.models.air.programs.reference import ReferenceExecutor, reference_of
from airshed.program.integrators import SPLITTINGS
from airshed.program.stage import HALF, Program, Stage, add, cells, move
from airshed.verify.convergence import make_problem

INTEGRATORS = ("imex", *SPLITTINGS)
APART = {"vertical": "with chemistry"}
TIME = {"start": "2022-06-21T09:50:00Z", "length": "15 min", "step": "5 min"}
"""The emission changes after two steps, at the full hour, and the weather too."""

FEW = {
    "grid": {"area": {"lon": [-30.0, -28.5], "lat": [40.0, 41.0]}},
    "emissions": {"point": [{"species": "NO", "lon": -29.2, "lat": 40.6, "height": "20 m", "rate": "50 mol/s"}]},
}
"""Two rows of three columns with a chimney: the reference takes the cells one by one."""

ROUNDING = 1e-12
SLIGHTLY = 1.0 + 1e-6


def difference(model, reference):
    """Return the greatest difference of any mixing ratio over the greatest of its species, and that of the air."""
    found, wanted = model.mixing_ratios(), reference.state.q
    scale = np.abs(wanted).max(axis=(1, 2, 3), keepdims=True)
    air = model.layout.unpack(model.stepper.state.air) / reference.state.air - 1.0
    return max(np.abs((found - wanted) / scale).max(), np.abs(air).max())


def repeated(folder, integrator, *, steps=3, change=lambda record: record, field=False, **sections):
    """Return the difference after a run of some steps, and its repetition in NumPy from changed records."""
    case = small_case(folder, chemistry={"integrator": integrator}, time=TIME, **FEW, **sections)
    boundary = uneven_boundary(case, (0.0, 400.0, 900.0)) if field else None
    with airshed.Simulation(case, changing_weather(), boundary=boundary) as simulation:
        model, records = simulation.model, []
        reference = reference_of(model)
        model.executor.on_step(lambda record: records.append(record.detached()))
        for _ in range(steps):
            simulation.step()
        for record in records:
            reference.repeat(change(record))
        assert len(records) == steps
        return difference(model, reference)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_recorded_run_repeats_in_numpy(tmp_path, integrator):
    assert repeated(tmp_path, integrator) < ROUNDING


EXTRAPOLATED = (
    move(0, 1, writes="whole"), cells(0, 1, "whole", "whole"), move(0, HALF), cells(0, HALF), move(HALF, 1),
    cells(HALF, 1), add([(2, "q"), (-1, "whole")]),
)  # fmt: skip
"""Lie splitting in one step and in two, extrapolated."""
THIRDS = (cells(0, 0.25), move(0, HALF), cells(0.25, 0.75), move(HALF, 1), cells(0.75, 1))
BRANCHES = (
    cells(0, 1, writes="a"), move(0, 1, writes="b"), add([(1, "a"), (1, "b"), (-1, "q")], "c"),
    move(0, 1, "a", "a"), cells(0, 1, "b", "b"), add([(0.5, "c"), (0.25, "a"), (0.25, "b")]),
)  # fmt: skip


@pytest.mark.parametrize(
    "program",
    [Program("extrapolated", 2, EXTRAPOLATED), Program("thirds", 2, THIRDS), Program("branches", 1, BRANCHES)],
    ids=lambda program: program.name,
)
def test_a_program_that_is_no_integrator_repeats_in_numpy(tmp_path, monkeypatch, program):
    """A list alone makes an integrator: all executors run it."""
    monkeypatch.setitem(SPLITTINGS, "strang", lambda split_columns: program)
    assert repeated(tmp_path, "strang", steps=2) < ROUNDING


@pytest.mark.parametrize("integrator", INTEGRATORS[:2])
def test_a_boundary_field_repeats_in_numpy(tmp_path, integrator):
    assert repeated(tmp_path, integrator, field=True) < ROUNDING


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("integrator", INTEGRATORS[1:])
def test_columns_apart_repeat_in_numpy(tmp_path, integrator):
    assert repeated(tmp_path, integrator, transport=APART) < ROUNDING


def weight_of_transport(stage):
    """Change the weight of the newest tendency in the first application of a formula."""
    if not isinstance(stage, MoveRecord):
        return stage
    first, *others = stage.steps
    weights = first.forcing.weights
    forcing = replace(first.forcing, weights=replace(weights, t0=SLIGHTLY * weights.t0))
    return MoveRecord((replace(first, forcing=forcing), *others))


def interval_of_boundary(stage):
    """Change where a step lies in the interval of the boundary concentrations."""
    if not isinstance(stage, MoveRecord) or stage.steps[0].forcing.transport.boundary is None:
        return stage
    first, *others = stage.steps
    transport = first.forcing.transport
    transport = replace(transport, boundary=replace(transport.boundary, weight=transport.boundary.weight + 1e-4))
    return MoveRecord((replace(first, forcing=replace(first.forcing, transport=transport)), *others))


def weather_of_cells(stage):
    """Change the temperature of chemistry at the end of its interval."""
    if not isinstance(stage, CellsRecord):
        return stage
    start, end = stage.weather.temperature
    return replace(stage, weather=replace(stage.weather, temperature=(start, SLIGHTLY * end)))


def span_of_cells(stage):
    """Change the time over which chemistry acts."""
    if not isinstance(stage, CellsRecord):
        return stage
    return replace(stage, integrated=replace(stage.integrated, end=stage.integrated.end + 1e-3))


@pytest.mark.parametrize(
    ("integrator", "change"),
    [
        ("imex", weight_of_transport), ("strang", weight_of_transport), ("strang", weather_of_cells),
        ("lie", span_of_cells), ("imex", interval_of_boundary), ("strang", interval_of_boundary),
    ],
)  # fmt: skip
def test_the_comparison_notices_a_change(tmp_path, integrator, change):
    def changed(record):
        return replace(record, stages=tuple(map(change, record.stages)))

    assert repeated(tmp_path, integrator, steps=1, change=changed, field=True) > 10.0 * ROUNDING


@pytest.mark.parametrize("integrator", ["symmetric", "concurrent"])
def test_the_comparison_notices_a_coefficient_of_a_sum(tmp_path, monkeypatch, integrator):
    def other(self, coefficients, values):
        first, *others = coefficients
        return add_up(self, [SLIGHTLY * first, *others], values)

    values = airshed.models.air.programs.reference._Values
    add_up = values.add_up
    monkeypatch.setattr(values, "add_up", other)
    assert repeated(tmp_path, integrator, steps=1) > 10.0 * ROUNDING


@pytest.mark.parametrize("stage", [cells(0, 1), cells(0, 1, name="particles"), Stage("redistribute")])
def test_a_stage_without_a_reference_is_refused(stage):
    problem = make_problem()
    chemistry = problem.chemistry if stage.name else None
    with pytest.raises(ProgramError, match=f"no code for the stage '{stage.key}' of 'other'"):
        ReferenceExecutor(Program("other", 1, (stage,)), problem.setup, problem.layout, chemistry, problem.start)

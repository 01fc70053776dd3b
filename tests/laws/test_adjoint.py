"""Tangent, adjoint and finite differences agree for all kinds of inputs, operators and schemes; errors are detected."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import small_case
from tests.laws.derivatives import (
    CONCURRENT,
    DIFFERENCES,
    OTHER_SCHEMES,
    REMAINDERS,
    SCHEMES,
    STEPS,
    TIME,
    changing_weather,
    direction_of,
    kinds_of,
    record,
    remainders_in_some_direction,
    replay_of,
    uneven,
    uneven_boundary,
    wrong_kinds,
)

import airshed
from airshed.core.errors import NumericalError
from airshed.inverse.reverse.direction import BOUNDARY, EMISSION, FACES, RATES, Changes, Direction
from airshed.inverse.reverse.executors import AdjointValues
from airshed.inverse.reverse.runners import CellsAdjoint, FormulaAdjoint
from airshed.inverse.verify.derivative_tests import TAYLOR_SIZES, DotProducts, differences, dot_products, remainders
from airshed.inverse.verify.recording import RecordedRun, random_direction, record_case
from airshed.inverse.verify.replay import Replay
from airshed.kernels.backends.cpu.cells import CellKernel
from airshed.kernels.backends.cpu.reverser import Reverser
from airshed.kernels.boundary import BoundaryForcing
from airshed.kernels.operators import Kind, Shape
from airshed.models.air import processes
from airshed.models.air.assembly import assemble
from airshed.models.air.case.sections import ChemistrySection, TransportSection
from airshed.models.air.programs import cell_chemistry
from airshed.process.discovery import processes_of
from airshed.program.stage import HALF, STATE, Program, add, cells, move

NOT_IN_THE_CASE = {"Convection"}
"""Processes whose weather no case without data has: `test_convection` covers it, and its kind has another operator."""

Runs = Callable[[str], RecordedRun]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """RecordedFields runs by their schemes, each made once."""
    made: dict[str, RecordedRun] = {}

    def run(name: str) -> RecordedRun:
        if name not in made:
            made[name] = record(tmp_path_factory.mktemp("case"), {**SCHEMES, **OTHER_SCHEMES}[name])
        return made[name]

    return run


@pytest.fixture(scope="module")
def imex(runs: Runs) -> RecordedRun:
    return runs("imex")


@pytest.fixture(scope="module")
def strang(runs: Runs) -> RecordedRun:
    return runs("ros3")


@pytest.fixture(scope="module")
def concurrent(runs: Runs) -> RecordedRun:
    return runs("concurrent")


@pytest.fixture
def replay(imex: RecordedRun) -> Iterator[Replay]:
    with closing(replay_of(imex)) as made:
        yield made


APART = pytest.param("split columns", marks=pytest.mark.compiles)
"""Vertical transport with chemistry: another order of the parts of a step, which no other scheme has."""


def schemes(*standard: str, single: bool = True) -> Any:
    """Parametrise a test with schemes of the catalogue, and in the thorough tier with all the others."""
    names = [name for name in (*SCHEMES, *OTHER_SCHEMES) if name not in standard and (single or "single" not in name)]
    others = [pytest.param(name, marks=(pytest.mark.thorough, pytest.mark.compiles)) for name in names]
    return pytest.mark.parametrize(
        "scheme", [*(APART if name == "split columns" else name for name in standard), *others]
    )


@schemes(*SCHEMES, "split columns")
def test_dot_products(runs: Runs, scheme: str) -> None:
    """In double precision to 1e-13; in single to 1e-5, found 7e-7 at most. Each kind of input has an effect."""
    run = runs(scheme)
    found = dot_products(run)
    assert set(found.errors) == kinds_of(run)
    assert found.ok
    if "single" in scheme:
        assert 1e-9 < found.worst < 1e-5 < found.limit
    else:
        assert found.worst < 1e-13
    assert {kind for kind, each in found.by_adjoint.items() if not abs(each) > 1e-12} == set()


@schemes("imex", "ros3", "concurrent")
def test_remainders_are_of_second_order(runs: Runs, scheme: str) -> None:
    """In single precision for rates only: round-off hides the remaining change of other inputs."""
    run = runs(scheme)
    kinds, sizes = ({RATES}, TAYLOR_SIZES) if "single" in scheme else (kinds_of(run), REMAINDERS)
    with closing(replay_of(run)) as replay:
        found = {kind: remainders_in_some_direction(replay, kind, sizes) for kind in kinds}
    assert {kind: str(each) for kind, each in found.items() if not each.ok} == {}
    assert min(found[kind].order for kind in kinds & {RATES, EMISSION, "number sea_surface_strength"}) > 1.9


@schemes("imex", "ros3", "concurrent", single=False)
def test_gradients_agree_with_central_differences(runs: Runs, scheme: str) -> None:
    run = runs(scheme)
    direction, sizes = direction_of(run), (*DIFFERENCES, 1e-6)  # of two branches more limiters switch
    with closing(replay_of(run)) as replay:
        adjoint = replay.backward()
        found = {kind: differences(replay, adjoint, direction.only(kind), sizes) for kind in kinds_of(run)}
    assert {kind: each for kind, each in found.items() if not each.error(each.best) < 1e-6} == {}


# Programs that are no integrator of the product.


THIRD = 1.0 / 3.0

PROGRAMS = {
    "three branches": Program("three branches", 1, (
        cells(0, HALF, writes="a"), move(0, 1, "a", "a"), cells(HALF, 1, "a", "a"), move(0, HALF, writes="b"),
        cells(0, 1, "b", "b"), move(HALF, 1, "b", "b"), move(0, 1), cells(0, 1),
        add([(THIRD, "a"), (THIRD, "b"), (THIRD, STATE)]),
    )),
    "extrapolation": Program("extrapolation", 1, (
        move(0, 1, writes="whole"), cells(0, 1, "whole", "whole"), move(0, HALF), cells(0, HALF), move(HALF, 1),
        cells(HALF, 1), add([(2.0, STATE), (-1.0, "whole")]),
    )),
    "additive halves": Program("additive halves", 1, tuple(
        stage for begin, end in ((0, HALF), (HALF, 1)) for stage in (
            cells(begin, end, writes="a"), move(begin, end, writes="b"), add([(1, "a"), (1, "b"), (-1, STATE)])
        )
    )),
}  # fmt: skip


def dot_products_of(program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DotProducts:
    """Return the dot products of two steps of the small case by a program."""
    monkeypatch.setattr(airshed.Case, "program", lambda self, network, **given: program)
    return dot_products(record(folder, {"chemistry": {"integrator": "strang"}}, steps=2))


@pytest.mark.parametrize("name", PROGRAMS)
def test_dot_products_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = dot_products_of(PROGRAMS[name], tmp_path, monkeypatch)
    assert found.worst < 1e-13
    assert abs(found.by_adjoint["initial"]) > 1e-6


# Boundary concentrations that vary in time and along the lateral faces.


def recorded_field(folder: Path, scheme: str) -> RecordedRun:
    """Return a run whose boundary varies from face cell to face cell between instants within its steps."""
    case = small_case(folder, **{"time": TIME, **SCHEMES[scheme]})
    data = uneven_boundary(case, (0.0, 700.0, 3600.0))
    return record_case(case, steps=STEPS, meteorology=changing_weather(), initial=uneven(case), boundary=data)[0]


@pytest.mark.parametrize("scheme", ["imex", "ros3", "concurrent"])
def test_dot_products_of_a_boundary_field(tmp_path: Path, scheme: str) -> None:
    run = recorded_field(tmp_path, scheme)
    found = dot_products(run)
    assert list(run.boundary) == [0.0, 700.0, 3600.0]
    assert set(found.errors) == kinds_of(run) | {FACES}
    assert found.worst < 1e-13
    assert {kind for kind, each in found.by_adjoint.items() if not abs(each) > 1e-12} == set()


def test_gradients_of_a_boundary_field_agree_with_central_differences(tmp_path: Path) -> None:
    run = recorded_field(tmp_path, "imex")
    with closing(replay_of(run)) as replay:
        adjoint, direction = replay.backward(), direction_of(run)
        for kind in (FACES, BOUNDARY):
            each = differences(replay, adjoint, direction.only(kind), DIFFERENCES)
            assert each.error(each.best) < 1e-6, kind
        assert np.allclose(
            adjoint.boundary_profile, sum(each.sum(axis=2) for each in adjoint.boundary.values()), rtol=1e-12
        )


def test_a_wrong_share_of_an_instant_of_the_boundary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, shares = recorded_field(tmp_path, "imex"), BoundaryForcing.shares
    monkeypatch.setattr(BoundaryForcing, "shares", lambda self: [(at, 1.0 - each) for at, each in shares(self)])
    assert wrong_kinds(run) == {FACES}


# Discovery: the laws cover everything that the package offers.


def test_schemes_have_a_law() -> None:
    chosen = [{**each.get("chemistry", {}), **each.get("transport", {})} for each in
              (*SCHEMES.values(), *OTHER_SCHEMES.values())]  # fmt: skip
    settings = {ChemistrySection: ("integrator", "solver", "precision"), TransportSection: ("vertical",)}
    for section, names in settings.items():
        for name in names:
            field = section.model_fields[name]
            assert {each.get(name, field.default) for each in chosen} == set(get_args(field.annotation)), name


def test_inputs_have_a_law(imex: RecordedRun) -> None:
    direction = random_direction(imex)
    assert set(direction.parts()) == kinds_of(imex)
    assert all(getattr(direction, each.name) is not None for each in fields(Direction))
    assert len(direction.numbers) >= 2
    assert {each.shape for each in imex.members.values()} == {None, *get_args(Shape)}


def acting(case: airshed.Case) -> tuple[set[str], set[str]]:
    """Return the processes of a case, and the kinds of its operators."""
    found = assemble(case).processes
    return {type(each.process).__name__ for each in found}, {each.kind for each in found.operators}


def test_processes_and_operators_have_a_law(tmp_path: Path) -> None:
    on, kinds = acting(small_case(tmp_path))
    assert on >= {each.__name__ for each in processes_of(processes)} - NOT_IN_THE_CASE
    assert kinds == set(get_args(Kind))


def test_a_missing_kind_of_operator_is_detected(tmp_path: Path) -> None:
    on, kinds = acting(small_case(tmp_path, horizontal_diffusion={"diffusivity": "none"}))
    assert "HorizontalDiffusion" not in on
    assert set(get_args(Kind)) - kinds == {"face_exchange"}


# Planted errors: each is detected, in the inputs that it affects.


@pytest.mark.parametrize(("name", "kind"), [("boundary_profile", "boundary"), ("top", "top"), ("reactions", "rates")])
def test_a_wrong_sum_of_the_adjoint(imex: RecordedRun, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    finish = Reverser.finish

    def off(self: Any, first: Any) -> None:
        finish(self, first)
        for each in self._of_profile.values() if name == "boundary_profile" else [getattr(self, name)]:
            each[...] *= 1.0 + 1e-9

    monkeypatch.setattr(Reverser, "finish", off)
    assert wrong_kinds(imex) == {kind}


def test_a_wrong_share_of_a_period(imex: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    reverse = Reverser.reverse

    def off(self: Any, step: Any, levels: Any, before: Any, sources: Any = ()) -> None:
        reverse(self, step, levels, before, [(1.001 * share, each) for share, each in sources])

    monkeypatch.setattr(Reverser, "reverse", off)
    assert wrong_kinds(imex) == {"emission"}


def test_a_wrong_tangent_leaves_a_remainder_of_first_order(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    right, kind = replay.tangent, "number sea_surface_balances"
    monkeypatch.setattr(replay, "tangent", lambda given: 1.01 * right(given))
    found = remainders(replay, kind, direction_of(replay.recording).only(kind), REMAINDERS)
    assert found.order == pytest.approx(1.0, abs=0.1)
    kinds = kinds_of(replay.recording)
    assert {kind for kind in kinds if remainders_in_some_direction(replay, kind, REMAINDERS).ok} == set()


def test_a_wrong_gradient_differs_from_differences(replay: Replay) -> None:
    direction = direction_of(replay.recording)
    adjoint = replay.backward().map(lambda each: 1.001 * each)
    for kind in kinds_of(replay.recording):
        found = differences(replay, adjoint, direction.only(kind), DIFFERENCES)
        assert found.error(found.best) == pytest.approx(1e-3, rel=0.01), kind


@schemes("ros3")
def test_wrong_sensitivities_to_rates(runs: Runs, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    run, error = CellsAdjoint.run, 1e-3 if "single" in scheme else 1e-9

    def off(self: Any, *given: Any) -> None:
        run(self, *given)
        self.reactions[...] *= 1.0 + error

    monkeypatch.setattr(CellsAdjoint, "run", off)
    assert wrong_kinds(runs(scheme)) == (set() if "imex" in scheme else {"rates"})


def test_half_a_step_in_other_air(strang: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = CellsAdjoint.run

    def off(self: Any, number: Any, stage: Any, done: Any) -> None:
        run(self, number, stage, replace(done, air=replace(done.air, temperature=done.air.temperature + 1e-6)))

    monkeypatch.setattr(CellsAdjoint, "run", off)
    assert wrong_kinds(strang) >= {"initial", "rates"}


def test_a_missing_stage(strang: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = FormulaAdjoint.run

    def off(self: Any, number: Any, stage: Any, done: Any) -> None:
        run(self, number, stage, replace(done, steps=done.steps[:-1]))

    monkeypatch.setattr(FormulaAdjoint, "run", off)
    assert wrong_kinds(strang) >= {"initial", "emission", "rates"}


@pytest.mark.parametrize("term", [0, 1, 2])
def test_a_wrong_share_of_a_sum(concurrent: RecordedRun, monkeypatch: pytest.MonkeyPatch, term: int) -> None:
    split = AdjointValues.split

    def off(self: Any, coefficients: Any, record: Any) -> Any:
        found = split(self, coefficients, record)
        found[term] *= 1.0 + 1e-9
        return found

    monkeypatch.setattr(AdjointValues, "split", off)
    assert "initial" in wrong_kinds(concurrent)


def test_other_steps_of_chemistry_in_the_repetition_are_refused(
    strang: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = cell_chemistry.integrate_again

    def off(chemistry: Any, done: Any, air: Any, q: Any, *others: Any) -> Any:
        q *= 1.5
        return again(chemistry, done, air, q, *others)

    monkeypatch.setattr("airshed.inverse.reverse.runners.integrate_again", off)
    with pytest.raises(NumericalError, match="takes different steps than the recorded run"):
        dot_products(strang)


# Where values are clipped, and where cells are integrated again.


def test_dot_products_of_clipped_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At night ozone consumes all of the NO in half a step, and transport some of it too; a planted error in that."""
    night = {"start": "2022-06-21T00:30:00Z", "step": "30 min"}
    case = {"time": night, "initial": {"values": {"O3": "50 ppb", "NO": "5 ppb"}}}
    run, clipped = record(tmp_path, {"chemistry": CONCURRENT}, steps=2, **case), []
    split = AdjointValues.split

    def note(self: Any, coefficients: Any, record: Any) -> Any:
        clipped.append(np.count_nonzero(~record.is_positive))
        return split(self, coefficients, record)

    monkeypatch.setattr(AdjointValues, "split", note)
    assert dot_products(run).worst < 1e-13
    assert max(clipped) > 10

    def off(self: Any, coefficients: Any, record: Any) -> Any:
        return split(self, coefficients, replace(record, is_positive=np.ones_like(record.is_positive)))

    monkeypatch.setattr(AdjointValues, "split", off)
    assert "initial" in wrong_kinds(run)


def test_dot_products_of_clipped_chemistry(tmp_path: Path) -> None:
    """Loose tolerances give negative concentrations, which are set to zero."""
    loose = {"integrator": "strang", "relative_tolerance": 0.9, "absolute_tolerance": "1e13 molecules/cm3"}
    case = small_case(tmp_path, chemistry=loose, time=TIME, initial={"values": {"RO2": "500 ppb", "NO": "300 ppb"}})
    with airshed.Simulation(case) as simulation:
        simulation.run("15 min")
        assert simulation.model.cell_counts.clipped > 100
    run = record(tmp_path, {"chemistry": loose}, initial={"values": {"RO2": "500 ppb", "NO": "300 ppb"}})
    assert wrong_kinds(run) == set()


def test_dot_products_of_cells_that_are_integrated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = CellKernel.solver

    def hasty(self: Any, *given: Any, **more: Any) -> Any:
        return make(self, *given, **{**more, "most_steps": 3})

    monkeypatch.setattr(CellKernel, "solver", hasty)
    case = small_case(tmp_path, **SCHEMES["rodas4"], time=TIME)
    with airshed.Simulation(case) as simulation:
        simulation.run("15 min")
        assert simulation.model.cell_counts.retried > 10
    assert wrong_kinds(record(tmp_path, SCHEMES["rodas4"], steps=3)) == set()


# Repetition: the basis of all of the above.


def test_the_two_step_formula_is_repeated_with_the_same_bits(imex: RecordedRun, replay: Replay) -> None:
    same: list[bool] = []
    replay.value(observer=lambda step, before, q, clipped: same.append(np.array_equal(q, imex.levels[len(same) + 1].q)))
    assert same == [True] * len(imex.steps)


def test_split_steps_are_repeated_to_round_off(strang: RecordedRun) -> None:
    """Steps of chemistry of given lengths are code of their own."""
    unpack, run = strang.area.layout.unpack, strang.derivatives
    changes = Changes(Direction(), strang.area, strang.members)
    with closing(run.replay(changes, 0.0)) as executor:
        executor.start(strang.first)
        for step, level in zip(strang.steps, strang.levels[1:], strict=True):
            executor.step(step)
            assert np.abs(unpack(executor.q) - unpack(level.q)).max() < 1e-20


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("scheme", ["imex", "ros3"])
def test_convection(tmp_path: Path, scheme: str) -> None:
    """The process that no case without data has: with mass fluxes in the weather."""
    flux = xr.DataArray([0.0, 0.02, 0.01, 0.0], dims="level_face")
    weather = changing_weather().assign(atmosphere_updraft_convective_mass_flux=flux)
    run = record(tmp_path, SCHEMES[scheme], weather=weather, convection={"mass_flux": True})
    found = dot_products(run)
    assert found.worst < 1e-13
    assert abs(found.by_adjoint["field convection_brought"]) > 1e-12

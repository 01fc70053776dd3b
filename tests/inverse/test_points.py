"""Gradients of point models: pasture of 40 cells, with the NumPy reference of the compiled formulas."""

import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.pasture.conftest import CASE, save_weather
from tests.models.pasture.test_point import DATA, YEARS
from tests.started import python
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import CaseError
from airshed.formula import derivative, evaluate_all
from airshed.formula.tree import Compare, Negate, ordered
from airshed.inverse.fourdvar import lbfgs
from airshed.inverse.receptors.point_gradient import PointChanges, point_gradient, point_tangent
from airshed.inverse.receptors.point_sensitivity import PointReceptorCost, point_receptor, unit_ratio
from airshed.kernels.cells.formulas import StepValues
from airshed.kernels.cells.reference import ReferenceCells
from airshed.models.pasture.model import PastureModel, build
from airshed.models.pasture.point import PointCase, StationModel, with_declared_humidity
from airshed.models.points import derivatives
from airshed.models.points.model import PointModel
from airshed.models.points.sections import ReceptorSection
from airshed.parallel.communicator import SingleRank

pytestmark = pytest.mark.standard

MPIEXEC = Path(sys.executable).with_name("mpiexec")

DAYS, LITTLE = 42, 120_000
"""Length of the runs [days], with a fire, and a memory limit [bytes] for a plan with several stretches."""


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("airshed.process.points", "airshed.models.points.derivatives"):
        monkeypatch.setattr(f"{module}.CellFormulas", ReferenceCells)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pasture")
    save_weather(folder / "inputs")
    (folder / "case.toml").write_text(
        CASE.format(days=DAYS).replace("on = true", "on = true\nstocking_rate = 0.3").replace("02-01", "12-20")
    )
    return folder


@pytest.fixture
def model(case: Path) -> Iterator[PastureModel]:
    made = opened(case)
    yield made
    made.close()


def opened(case: Path) -> Any:
    return build(airshed.load_case(case), SingleRank(), lambda ranks: None).model


def cost_of(model: PointModel, days: int = DAYS, **receptor: Any) -> PointReceptorCost:
    section = ReceptorSection.model_validate({"field": "standing_dry_matter", **receptor})
    return PointReceptorCost(point_receptor(section, model, days * model.step_length), model)


def random_changes(
    model: PointModel, gradient: Any, days: int = DAYS, least: float = 1e-3
) -> tuple[PointChanges, Any]:  # fmt: skip
    """Return perturbations of all inputs, and those of the weather by name (days, cells); dry days remain dry."""
    random, cells = np.random.default_rng(7), model.domain.box.shape
    values = {**model.state, **model.parameters, **model.points.numbers}
    size = {name: np.maximum(np.abs(np.broadcast_to(each, cells)), least) for name, each in values.items()}
    initial = {name: size[name] * random.normal(size=cells) for name in gradient.initial}
    shared = {name: size[name] * random.normal(size=cells) for name in gradient.shared}
    weather = {name: random.normal(size=(days, *cells)) for name in gradient.weather}
    weather["rain"] *= rain_of(model, days) > 0.0

    def of_days(begins: Sequence[float]) -> Mapping[str, Any]:
        rows = [round(begin / model.step_length) for begin in begins]
        return {name: each[rows] for name, each in weather.items()}

    return PointChanges(initial, shared, of_days), weather


def rain_of(model: PointModel, days: int = DAYS) -> Any:
    """Return the rain of some days (days, cells)."""
    rain = [np.asarray(model.weather([day * model.step_length])["rain"])[0] for day in range(days)]
    return np.array(rain).reshape(days, *model.domain.box.shape)


def products(gradient: Any, changes: PointChanges, weather: Mapping[str, Any]) -> list[float]:
    """Return the products of a gradient with the perturbation of each input."""
    parts = (gradient.initial, changes.initial), (gradient.shared, changes.shared), (gradient.weather, weather)
    return [float(np.vdot(found[name], change[name])) for found, change in parts for name in change]


RECEPTORS = (
    {},
    {"time": ["20 day", "36 day"], "lon": [140.0, 140.3], "lat": [-20, -19.5]},
    {"field": "growth", "measure": "sum", "cells": [3, 7], "time": ["30 day", "42 day"]},
    {"field": "growth_total"},
)


@pytest.mark.parametrize("receptor", RECEPTORS, ids=str)
def test_the_adjoint_is_the_transpose_of_the_tangent(case: Path, receptor: Mapping[str, Any]) -> None:
    models = opened(case), opened(case)
    plans: list[str] = []
    gradient = point_gradient(
        models[0], cost_of(models[0], **receptor), DAYS, memory=LITTLE, planned=plans.append,
    )  # fmt: skip
    assert plans[0].startswith("two levels")
    changes, weather = random_changes(models[1], gradient)
    change = point_tangent(models[1], cost_of(models[1], **receptor), DAYS, changes)
    parts = products(gradient, changes, weather)
    assert abs(change - sum(parts)) <= 1e-12 * sum(map(abs, parts))
    assert change != 0.0


def test_a_wrong_sign_is_detected(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = derivatives.adjoint

    def wrong(points: Any, measured: Sequence[str]) -> Any:
        found = right(points, measured)
        results = {**found.results, "water_2_adjoint": Negate(found.results["water_2_adjoint"])}
        return derivatives.Derivative(results, found.levels, found.carried, found.weather, found.amounts)

    monkeypatch.setattr("airshed.inverse.receptors.point_gradient.adjoint", wrong)
    models = opened(case), opened(case)
    gradient = point_gradient(models[0], cost_of(models[0]), DAYS)
    changes, weather = random_changes(models[1], gradient)
    change = point_tangent(models[1], cost_of(models[1]), DAYS, changes)
    parts = products(gradient, changes, weather)
    assert abs(change - sum(parts)) > 1e-6 * sum(map(abs, parts))


def test_the_gradient_has_the_same_bits_by_any_plan(case: Path) -> None:
    found = []
    for memory in (2**30, LITTLE, LITTLE // 2):
        model = opened(case)
        found.append(point_gradient(model, cost_of(model), DAYS, memory=memory, period=7))
    for part in ("initial", "shared", "weather", "amounts"):
        for other in found[1:]:
            for name, values in getattr(found[0], part).items():
                assert values.tobytes() == getattr(other, part)[name].tobytes(), name
    assert found[0].weather["rain"].shape == (6, 40)


@pytest.mark.compiles
def test_compiled_formulas_give_the_gradient_of_the_reference(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for _ in range(2):
        model = opened(case)
        found.append(point_gradient(model, cost_of(model, time="20 day"), 20, memory=LITTLE // 2, period=7))
        monkeypatch.undo()
    for part in ("initial", "shared", "weather", "amounts"):
        for name, values in getattr(found[0], part).items():
            size = np.abs(values).max()
            np.testing.assert_allclose(getattr(found[1], part)[name], values, rtol=1e-9, atol=1e-9 * size, err_msg=name)


class ObservedRows:
    """Cost of a twin experiment: weekly observations of standing dry matter in all cells."""

    fields = ("standing_dry_matter",)

    def __init__(self, error: float, truth: Any = None) -> None:
        self._error, self._truth = error, truth
        self.rows = np.zeros((DAYS // 7, 40))

    @property
    def value(self) -> float:
        return 0.5 * float(np.sum(self._misfit**2))

    @property
    def _misfit(self) -> Any:
        return (self.rows - (self.rows if self._truth is None else self._truth)) / self._error

    def measure(self, first: int, rows: Mapping[str, Any]) -> None:
        for row, day in enumerate(range(first, first + len(rows["standing_dry_matter"]))):
            if day % 7 == 6:
                self.rows[day // 7] = rows["standing_dry_matter"][row]

    def gradient(self, first: int, steps: int) -> Mapping[str, StepValues]:
        days = np.arange(first, first + steps)
        values = np.concatenate([np.zeros((1, 40)), self._misfit / self._error])
        return {"standing_dry_matter": StepValues(values, np.where(days % 7 == 6, days // 7 + 1, 0))}


@dataclass(frozen=True)
class Evaluation:
    cost: float
    gradient: Any


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_twin_experiment_recovers_the_initial_green_leaf(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4D-Var: weekly dry matter reduces the error of the initial green leaf below that of the background."""
    monkeypatch.undo()
    spread = 100.0
    true, observed = opened(case), ObservedRows(5.0)
    truth = true.state["green_leaf"].copy()
    point_gradient(true, observed, DAYS)
    background = truth + spread * np.random.default_rng(4).uniform(-1.0, 1.0, truth.size)

    def evaluate(v: Any) -> Evaluation:
        model, cost = opened(case), ObservedRows(5.0, observed.rows)
        model.state["green_leaf"][...] = background + spread * v
        found = point_gradient(model, cost, DAYS)
        return Evaluation(found.value + 0.5 * float(v @ v), spread * found.initial["green_leaf"] + v)

    memory = lbfgs.begin(np.zeros(40), evaluate(np.zeros(40)))
    first = memory.cost
    for _ in range(8):
        after = lbfgs.iterate(memory, evaluate)
        if after is None:
            break
        memory = after[0]
    before, now = (float(np.sqrt(np.mean((b - truth) ** 2))) for b in (background, background + spread * memory.v))
    assert memory.cost < 0.2 * first
    assert now < 0.3 * before


class PerturbedRuns:
    """Runs of a case with perturbed inputs: the field of the receptor by cell, and all branches taken."""

    def __init__(self, case: Path, changes: PointChanges) -> None:
        self._case, self._changes = case, changes

    def __call__(self, size: float) -> tuple[Any, Any]:
        model = opened(self._case)
        for name, change in self._changes.initial.items():
            model.state[name] += size * change
        for name, change in self._changes.shared.items():
            model.parameters[name] = model.parameters[name] + size * change
        source = model._weather_of_case

        def weather(begins: Sequence[float]) -> Mapping[str, Any]:
            changes = self._changes.weather(begins)
            return {
                name: np.asarray(values) + size * changes[name] if name in changes else values
                for name, values in source(begins).items()
            }

        model._weather_of_case = weather
        formulas = derivative.adjoint(model.points.formulas, list(model.points.inputs))
        conditions = [node for node in ordered(formulas.outputs) if isinstance(node, Compare)]
        branches = []
        for day in range(DAYS):
            values = {**model.parameters, **model.points.numbers, **model.state}
            values |= {name: np.asarray(each)[0] for name, each in weather([day * 86400.0]).items()}
            taken = evaluate_all(
                conditions, {**values, **{f"adjoint_{n}": 0.0 for n in range(len(model.points.outputs))}}
            )
            branches.append([np.broadcast_to(each, 40) for each in taken])
            model.step_through([(day + 1) * 86400.0])
        return model.state["standing_dry_matter"].copy(), np.array(branches)


def by_cell(gradient: Any, changes: PointChanges, weather: Mapping[str, Any]) -> Any:
    """Return the derivative of the value of each cell along perturbations; cells are independent."""
    parts = (gradient.initial, changes.initial), (gradient.shared, changes.shared), (gradient.weather, weather)
    products = [found[name] * change[name] for found, change in parts for name in change]
    return np.sum([each.sum(axis=0) if each.ndim == 2 else each for each in products], axis=0)


def test_the_remainder_is_of_second_order_where_no_update_takes_another_branch(case: Path, model: Any) -> None:
    gradient = point_gradient(model, cost_of(model, measure="sum"), DAYS)
    changes, weather = random_changes(opened(case), gradient, least=0.0)  # updates are not differentiable at 0
    del changes.shared["grazing_stocking_rate"]  # a number of all cells
    run = PerturbedRuns(case, changes)
    (before, taken), slope = run(0.0), by_cell(gradient, changes, weather)
    remainders, smooth = [], np.ones(40, np.bool_)
    for size in (4e-6, 2e-6, 1e-6):
        after, other = run(size)
        smooth &= (taken == other).all(axis=(0, 1))
        remainders.append(np.abs(after - before - size * slope))
    orders = np.log2(remainders[0] / remainders[1]), np.log2(remainders[1] / remainders[2])
    assert np.count_nonzero(smooth) >= 10  # of 40: updates are not differentiable at round numbers of weather and soil
    assert all(np.abs(np.median(each[smooth]) - 2.0) < 0.1 for each in orders)
    first = np.abs(after - before - 1e-6 * 1.001 * slope)
    assert np.median(first[smooth] / remainders[2][smooth]) > 10.0, "an error of a thousandth is seen"


def test_the_contribution_of_rain_is_the_difference_of_two_runs(case: Path, model: Any) -> None:
    gradient = point_gradient(model, cost_of(model, measure="sum"), DAYS, period=7)
    week, rain = 4, rain_of(model)
    rain[: 7 * week] = rain[7 * (week + 1) :] = 0.0

    def of_days(begins: Sequence[float]) -> Mapping[str, Any]:
        return {"rain": rain[[round(begin / 86400.0) for begin in begins]]}

    run = PerturbedRuns(case, PointChanges({}, {}, of_days))
    (more, up), (less, down), (_, taken) = run(1e-5), run(-1e-5), run(0.0)
    smooth = (up == taken).all(axis=(0, 1)) & (down == taken).all(axis=(0, 1))
    assert np.count_nonzero(smooth) >= 30
    found = gradient.amounts["rain"][week]
    np.testing.assert_allclose(((more - less) / 2e-5)[smooth], found[smooth], rtol=1e-6, atol=1e-6)
    assert np.abs(found).max() > 1.0


def test_an_event_removes_the_sensitivity_to_earlier_values() -> None:
    settings = {"set": [{"date": "2001-02-01", "green_leaf": 500.0, "water_2": 40.0}]}
    case = PointCase.from_dict({**DATA, "events": settings, "initial": {"green_leaf": 300.0, "dead_leaf": 400.0}})

    def made(**initial: float) -> StationModel:
        own = case.model_copy(update={"initial": case.initial.model_copy(update=initial)})
        return StationModel(own, with_declared_humidity(own, YEARS.between("2001-01-01", "2001-03-01")), None)

    model = made()
    gradient = point_gradient(model, cost_of(model, 60), 60, memory=20_000)
    changes, weather = random_changes(made(), gradient, 60)
    other = made()
    assert point_tangent(other, cost_of(other, 60), 60, changes) == pytest.approx(
        sum(products(gradient, changes, weather)), rel=1e-11
    )

    def measured(**initial: float) -> float:
        run = made(**initial)
        run.record({})
        ends = [86400.0 * day for day in range(1, 61)]
        run.step_through(ends[:31])
        run.step_through(ends[31:])
        return float(run.state["standing_dry_matter"][0])

    for name, value in (("green_leaf", 300.0), ("dead_leaf", 400.0)):
        difference = (measured(**{name: value + 0.01}) - measured(**{name: value - 0.01})) / 0.02
        assert float(gradient.initial[name][0]) == pytest.approx(difference, rel=1e-4, abs=1e-7), name


def adjoint(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["adjoint", *map(str, arguments)])


def test_the_command_leaves_a_dataset_a_table_a_summary_and_pictures(case: Path, tmp_path: Path) -> None:
    asked = ("--time", "42 day", "--receptor", "lon=[140, 140.4]", "--receptor", "lat=[-20, -19.4]")
    result = adjoint(case, *asked, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Periods with the largest contributions of rain" in " ".join(result.stdout.split())
    assert {path.name for path in (tmp_path / "out" / "maps").iterdir()} == {"overview.png", "rain.png"}
    with xr.open_dataset(tmp_path / "out" / "sensitivity.nc") as found:
        assert found.weather_rain.dims == ("time", "cell")
        assert found.sizes["time"] == 6
        assert found.weather_rain.attrs["units"] == "kg ha-1 mm-1"
        assert found.initial_green_leaf.attrs["units"] == "1"
        assert found.attrs["Conventions"] == "CF-1.11"
        assert str(found.time.values[1])[:10] == "2019-12-08"
        assert float(found.receptor_weight.sum()) == pytest.approx(1.0)
        assert not np.any(found.contribution_rain.values[:, found.receptor_weight.values == 0.0])
        rain = float(found.contribution_rain.isel(time=3).sum())
    with (tmp_path / "out" / "contributions.csv").open(encoding="utf-8") as file:
        rows = {(row["name"], row["from"]): list(row.values())[-1] for row in csv.DictReader(file)}
    assert float(rows["rain", "2019-12-22"]) == pytest.approx(0.1 * rain, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--receptor", "field=gras"), "gras"),
        (("--receptor", "field=basal_area"), "no step computes basal_area"),
        (("--place", "Brisbane"), "Brisbane contains no cell of the case"),
        (("--receptor", "cells=[40]"), "cells are 0 to 39"),
        (("--time", "80 day"), "is not within the case"),
        (("--time", "36 h"), "is within a step"),
        (("--every", "36 h"), "multiple of 24 h"),
        (("--measure", "aot40"), "measure"),
        (("--species", "O3"), "species"),
        (("--frozen",), "--frozen applies to limiters"),
        (("--set", "adjoint.memory=1 GB", "--receptor", "lat=3"), "lon and receptor.lat must be given together"),
    ],
)  # fmt: skip
def test_invalid_input_gives_a_message_and_no_folder(
    case: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = adjoint(case, *arguments, "--output", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_model_without_gradients_is_refused(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airshed.models.pasture.case import PastureCase
    from airshed.runtime import registry

    monkeypatch.setitem(registry._MODELS, "pasture", registry.ModelKind(PastureCase, build))
    with pytest.raises(CaseError, match="the model pasture has no gradients"):
        airshed.inverse.sensitivity(case)


@pytest.mark.parametrize(
    ("unit", "other", "expected"),
    [("kg ha-1", "mm", "kg ha-1 mm-1"), ("kg ha-1", "kg ha-1", "1"), ("mm", "MJ m-2", "mm m2 MJ-1"),
     ("mm", "degC", "mm K-1"), ("1", "1", "1"), ("kg ha-1", "%", "kg ha-1 %-1")],
)  # fmt: skip
def test_units_of_quotients(unit: str, other: str, expected: str) -> None:
    assert unit_ratio(unit, other) == expected


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec of the wheel mpich is not installed")
def test_two_ranks_leave_the_bytes_of_one(case: Path, tmp_path: Path) -> None:
    for ranks in (1, 2):
        command = [
            MPIEXEC,
            "-n",
            str(ranks),
            python(),
            "-m",
            "airshed",
            "adjoint",
            case,
            "--output",
            tmp_path / str(ranks),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    for name in ("sensitivity.nc", "contributions.csv", "summary.txt"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name

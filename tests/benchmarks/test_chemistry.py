"""`airshed bench chemistry`: states, errors, choice of settings, and equality of the problem with MICM's."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.__main__ import app
from benchmarks.chemistry import comparison as comparisons
from benchmarks.chemistry import report as reports
from benchmarks.chemistry import sweep as sweeps
from benchmarks.chemistry.airshed_cells import AirshedCells, Settings
from benchmarks.chemistry.comparison import agreement
from benchmarks.chemistry.contender import ACCURATE, REGIMES, Run, Trial, errors, measure
from benchmarks.chemistry.counted import step_cost
from benchmarks.chemistry.micm_cells import MicmCells, MicmModel, MicmSettings
from benchmarks.chemistry.problem import Problem
from benchmarks.chemistry.problems import PROBLEMS, problem, spread, trial
from benchmarks.chemistry.step_cells import StepCells
from benchmarks.chemistry.sweep import Entry, fastest, finalists, sweep
from typer.testing import CliRunner

from airshed.core.errors import CaseError, MechanismError
from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.kernels.cells import method
from airshed.mechanism import load_mechanism
from airshed.mechanism.openatmos import NO_MUSICA, has_musica

CALLS = max(each.stop for each in REGIMES.values())
WITH_MUSICA = pytest.mark.skipif(not has_musica(), reason=f"needs {NO_MUSICA}")


@pytest.fixture(scope="module")
def small() -> Problem:
    network = load_mechanism("emep")
    return spread("small", network, network.initial, 9)


@pytest.fixture(scope="module")
def kernel(small: Problem) -> CellKernel:
    return compile_chemistry(small.network)


@pytest.fixture(scope="module")
def calls(small: Problem, kernel: CellKernel) -> Trial:
    return trial(small, kernel)


def made(cpu: float, error: float) -> Run:
    return Run((cpu,) * CALLS, (cpu,) * CALLS, (error,) * CALLS, (error,) * CALLS, (1.0,) * CALLS)


class IdleContender:
    """A contender without work."""

    solver, precision, settings, cells = "named", "double", "", 1

    def start(self) -> None: ...
    def disturb(self, factors: np.ndarray) -> None: ...
    def call(self) -> None: ...
    def result(self) -> np.ndarray:
        return np.full((1, 1), np.nan)

    def steps(self) -> float:
        return 1.0


def test_states_are_the_same_every_time_and_spread_as_said(small):
    network = small.network
    again = spread("small", network, network.initial, 9)
    np.testing.assert_array_equal(small.initial, again.initial)
    inside = small.initial[small.initial.max(axis=1) > 0.0]
    ratio = inside.max(axis=1) / inside.min(axis=1)
    assert (ratio > 1.0).all()
    assert ratio.max() <= 4.0


def test_the_first_cells_alone_give_the_same(small, kernel, calls):
    few = trial(small.first(3), kernel)
    for mine, all_cells in zip(few.solutions, calls.first(3).solutions, strict=True):
        np.testing.assert_array_equal(mine, all_cells)


def test_errors_count_concentrations_above_the_floor():
    solution = np.array([[1e6, 2e6], [1e4, 1e4]])
    largest, rms = errors(np.array([[1.1e6, 2e6], [9e9, 0.0]]), solution)
    assert largest == pytest.approx(0.1)
    assert rms == pytest.approx(0.1 / np.sqrt(2.0))


def test_a_nan_is_never_accurate():
    solution = np.full((1, 1), 1e6)
    run = measure(IdleContender(), Trial([None] * CALLS, [solution] * CALLS))
    assert run.error("first") == np.inf
    assert not run.accurate("first")


def test_an_error_counts_from_its_call_on():
    run = replace(made(1.0, 1e-3), largest=(1e-3,) * 4 + (2 * ACCURATE,) * 3)
    assert [run.accurate(regime) for regime in REGIMES] == [True, True, False]


def test_the_fastest_is_sought_among_the_accurate():
    quick, exact, slow = (Entry(IdleContender(), made(*each)) for each in ((1.0, 0.1), (2.0, 1e-3), (3.0, 1e-4)))
    assert fastest([quick, exact, slow], "later") is exact
    assert fastest([replace(quick, run=made(1.0, ACCURATE)), exact], "later") is not exact
    assert fastest([quick], "later") is None
    assert [each.run for each in finalists([quick])] == [quick.run]  # shown with its error, but not as a result
    assert finalists([quick])[0].regimes == ()


def test_a_sweep_ends_at_the_first_accurate_setting(small, kernel, calls):
    found = sweep(lambda relative: AirshedCells(kernel, small, Settings("rodas4", relative, 1.0)), calls)
    accurate = [each.run.accurate("disturbed") for each in found]
    assert accurate[-1]
    assert not any(accurate[:-1])


def test_a_contender_restarts_each_time(small, kernel, calls):
    contender = AirshedCells(kernel, small, Settings("rodas3", 1e-5, 1.0))
    first, second = (measure(contender, calls, repeats=1) for _ in range(2))
    assert (first.largest, first.steps) == (second.largest, second.steps)
    assert first.accurate("disturbed")
    assert AirshedCells(kernel, small, Settings("rodas3", 1e-3, 1.0)).result().shape == small.initial.shape


def test_a_reused_step_saves_steps(small, kernel, calls):
    reused, reset = (
        measure(AirshedCells(kernel, small, Settings("rodas3", 1e-3, 1.0, 1.0, reuses_step)), calls, repeats=1)
        for reuses_step in (True, False)
    )
    assert reused.mean("steps", "later") < reset.mean("steps", "later")
    assert reused.mean("steps", "first") == reset.mean("steps", "first")


@pytest.mark.thorough
def test_the_step_of_the_model_converges_to_the_same(small, calls):
    kernel = compile_mechanism(small.network, 1)
    long, short = (measure(StepCells(kernel, small, step), calls, repeats=1).error("later") for step in (60.0, 15.0))
    assert short < 0.5 * long


def test_the_cost_of_a_step_grows_with_its_stages(kernel):
    two, six = (step_cost(kernel, method(name)) for name in ("ros2", "rodas4"))
    assert two.operations < six.operations
    assert two.touched < six.touched
    assert six.working_set == six.touched * kernel.shape.width
    assert six.code is None or six.code > two.code > 0


@WITH_MUSICA
def test_both_sides_solve_the_same_problem(small, calls):
    found = agreement(small, calls)
    assert found.holds
    assert found.difference > 0.0


@WITH_MUSICA
def test_another_density_of_air_is_noticed(small, calls):
    denser = {**small.environment, "M": 1.001 * np.asarray(small.environment["M"])}
    assert not agreement(replace(small, environment=denser), calls).holds


@WITH_MUSICA
def test_another_rate_is_noticed(small, calls):
    warmer = {**small.environment, "TEMP": 1.001 * np.asarray(small.environment["TEMP"])}
    assert not agreement(replace(small, environment=warmer), calls).holds


@WITH_MUSICA
def test_tolerances_of_micm_have_an_effect(small, calls):
    model = MicmModel(small)
    loose, tight, coarse = (
        measure(MicmCells(model, MicmSettings("rosenbrock", *each)), calls, repeats=1)
        for each in ((1e-1, 1e2), (1e-6, 1e2), (1e-6, 1e12))
    )
    assert tight.mean("steps", "first") > loose.mean("steps", "first")
    assert tight.error("first") < loose.error("first")
    assert coarse.mean("steps", "first") < tight.mean("steps", "first")


@WITH_MUSICA
@pytest.mark.parametrize("cells", [1, 4, 5])
def test_cells_of_micm_are_in_their_order(small, cells):
    contender = MicmCells(MicmModel(small), MicmSettings("rosenbrock", 1e-3, 1e2, 0.0, cells))
    contender.start()
    np.testing.assert_allclose(contender.result(), small.initial, rtol=1e-14)
    contender.disturb(np.arange(1.0, 10.0) * np.ones_like(small.initial))
    np.testing.assert_allclose(contender.result(), small.initial * np.arange(1.0, 10.0), rtol=1e-14)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep few settings."""
    few = {
        "RELATIVE": (1e-3, 1e-6), "FIRST_STEPS": ((0.0, True),), "METHODS": ("rodas4",), "ABSOLUTE": 1.0,
        "MICM_KINDS": ("rosenbrock",), "MICM_FIRST_STEPS": (0.0,), "ROUNDS": 1,
    }  # fmt: skip
    for name, value in few.items():
        monkeypatch.setattr(sweeps, name, value)


@pytest.mark.thorough
@WITH_MUSICA
@pytest.mark.usefixtures("narrow")
def test_the_report_has_ratios_by_mechanism(small):
    report = reports.report([comparisons.compare(small, progress=lambda name: None)])
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert report.ok
    names = ("ratio_to_micm", "ratio_to_micm_first_call", "ratio_to_micm_disturbed", "ratio_to_micm_tuned_first_step")
    assert all(content[name]["small"] > 0.0 for name in names)
    solvers = {row["solver"] for table in content["tables"] for row in table["rows"] if "solver" in row}
    assert solvers == {"airshed rodas4", "airshed gauss-seidel", "MICM rosenbrock"}


@pytest.mark.thorough
@pytest.mark.usefixtures("narrow")
def test_without_musica_airshed_is_measured_alone(small, monkeypatch):
    for module in (comparisons, reports):
        monkeypatch.setattr(module, "has_musica", lambda: False)
    report = reports.report([comparisons.compare(small, progress=lambda name: None)])
    assert report.ok
    assert "pip install musica" in str(report.facts["musica"])
    assert report.to_dict()["ratio_to_micm"] == {"small": None}
    assert "MICM" not in {row[1] for table in report.tables for row in table.rows}


def test_a_report_of_two_problems_is_not_ok(small):
    wrong = comparisons.Comparison(small, [], agreement=comparisons.Agreement(1.0))
    assert not reports.report([wrong]).ok
    assert not reports.report([replace(wrong, agreement=comparisons.Agreement(float("nan")))]).ok


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(CaseError, match=r"no benchmark of the mechanism 'emp': did you mean emep"):
        problem("emp", 4)


def test_a_mechanism_of_musica_needs_it(monkeypatch):
    monkeypatch.setattr("airshed.mechanism.openatmos.package.find_spec", lambda name: None)
    with pytest.raises(MechanismError, match="'ts1' needs the package musica, which is not installed"):
        problem("ts1", 4)


def test_the_command_names_its_mechanisms():
    answer = CliRunner().invoke(app, ["chemistry", "--mechanism", "emp"])
    assert answer.exit_code != 0
    assert all(name in CliRunner().invoke(app, ["chemistry", "--help"]).output for name in PROBLEMS)

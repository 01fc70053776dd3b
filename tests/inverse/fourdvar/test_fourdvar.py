"""4D-Var: analytic solutions, order of the gradient, twin experiments, and resumed minimisations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from airshed.core.errors import CaseError, NumericalError, OutputError
from airshed.inverse.fourdvar import (
    Block,
    ControlVector,
    Covariance,
    Domain,
    FourDVar,
    ObservationOperator,
    Observations,
    SampledFieldModel,
    Stop,
)
from airshed.inverse.fourdvar.control import axis_root
from airshed.inverse.fourdvar.cost import Controls, Cost, Pullback
from airshed.inverse.fourdvar.minimise import Analysis, Record, check_background
from airshed.inverse.fourdvar.posterior import estimate, hessian, probe
from airshed.inverse.fourdvar.results import diagnostics_report

from .toys import GRID, SPECIES, TIMES, Drift, Matrix, drift_control, many

RANDOM = np.random.default_rng(9)
FAR = Stop(200, 1e-11, 0.0)


def gaussian(count: int = 12) -> ControlVector:
    sigma = 0.5 + RANDOM.random(count)
    block = Block("x", ("place",), Covariance(sigma, [axis_root(np.arange(float(count)), 2.0)]), "gaussian")
    return ControlVector([replace(block, background=RANDOM.standard_normal(count))])


def linear_problem() -> tuple[Matrix, ControlVector, Observations]:
    control, y = gaussian(), many(7, sigma=0.3)
    return Matrix(RANDOM.standard_normal((7, 12))), control, replace(y, value=RANDOM.standard_normal(7))


def analytic(model: Matrix, control: ControlVector, y: Observations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x_a = x_b + K d with K = B G^T (G B G^T + R)^-1, its covariance (I - K G) B, and K."""
    block = control.blocks[0]
    b = np.stack([block.covariance(one) for one in np.eye(control.size)], axis=1)
    g, r = model.matrix, np.diag(y.sigma**2)
    k = b @ g.T @ np.linalg.inv(g @ b @ g.T + r)
    return block.background + k @ (y.value - g @ block.background), b - k @ g @ b, k


def twin(count: int = 150) -> tuple[SampledFieldModel, ControlVector, Observations, dict[str, np.ndarray]]:
    """Return a tracer model with unknown emission factors, its observations with errors, and the true factors."""
    control, y = drift_control(), many(count)
    model = SampledFieldModel(Drift(), ObservationOperator(y, Domain(GRID, TIMES, SPECIES, {})))
    truth = control.controls(np.random.default_rng(21).standard_normal(control.size))
    exact, _ = model.value_and_gradient(truth)
    noise = np.random.default_rng(22).standard_normal(count)
    return model, control, replace(y, value=exact + y.sigma * noise), truth


# ---- the solution ----------------------------------------------------------------------------------------------------


def test_a_linear_gaussian_case_is_the_analytic_one() -> None:
    model, control, y = linear_problem()
    analysis = FourDVar(model, control, y, stop=FAR).run()
    expected, _, _ = analytic(model, control, y)
    np.testing.assert_allclose(analysis.controls["x"], expected, rtol=0, atol=1e-8)


def test_spread_and_signal_are_the_analytic_ones() -> None:
    """Compare exact values from unit vectors, and estimates from random signs within their reported error."""
    model, control, y = linear_problem()
    fourdvar = FourDVar(model, control, y, stop=FAR)
    analysis = fourdvar.run()
    _, covariance, k = analytic(model, control, y)
    apply, dfs = hessian(fourdvar.cost(analysis.accepted), analysis.v), float(np.trace(k @ model.matrix))
    probes = [probe(apply, one, 12) for one in np.eye(control.size)]
    assert sum(signal for signal, _ in probes) == pytest.approx(dfs, rel=1e-7)
    root = control.blocks[0].covariance.root
    variance = sum(root(draw) ** 2 for _, draw in probes)
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-7)
    found = estimate(apply, control, probes=200, iterations=12)
    assert found.dfs == pytest.approx(dfs, abs=4 * found.dfs_error)
    assert 0.0 < found.dfs_error < 0.2
    np.testing.assert_allclose(found.spread["x"], np.sqrt(np.diag(covariance)), rtol=4 / np.sqrt(400))
    with pytest.raises(CaseError, match="at least one probe"):
        estimate(apply, control, probes=0)


def test_scipy_finds_the_same_minimum() -> None:
    model, control, y, _ = twin(60)
    cost = Cost(model, control, y)
    other = minimize(
        lambda v: ((found := cost(v)).cost, found.gradient), np.zeros(control.size), jac=True, method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    analysis = FourDVar(model, control, y, stop=Stop(300, 1e-10, 0.0)).run()
    assert analysis.history[-1].cost == pytest.approx(other.fun, rel=1e-10)
    np.testing.assert_allclose(analysis.v, other.x, atol=1e-5)


# ---- the gradient ----------------------------------------------------------------------------------------------------


def order(cost: Cost, v: np.ndarray) -> float:
    """Return the order of |J(v + e d) - J(v) - e grad J . d| in e."""
    d = RANDOM.standard_normal(v.size)
    here = cost(v)
    steps = 10.0 ** -np.arange(2.0, 5.0)
    rest = [abs(cost(v + e * d).cost - here.cost - e * here.gradient @ d) for e in steps]
    return float(np.polyfit(np.log(steps), np.log(rest), 1)[0])


def test_the_gradient_of_the_whole_cost_is_of_second_order() -> None:
    model, control, y, _ = twin()
    cost = Cost(model, control, y, np.arange(len(y)) % 3 > 0)
    for _ in range(3):
        assert order(cost, 0.5 * RANDOM.standard_normal(control.size)) == pytest.approx(2.0, abs=0.05)


def test_a_wrong_transpose_is_of_first_order() -> None:
    model, control, y = linear_problem()
    v = RANDOM.standard_normal(control.size)
    assert order(Cost(model, control, y), v) == pytest.approx(2.0, abs=0.05)
    spoilt = model.matrix.T.copy()
    spoilt[3, 2] *= 1.5
    assert order(Cost(Matrix(model.matrix, spoilt), control, y), v) < 1.3


# ---- a twin experiment -----------------------------------------------------------------------------------------------


def test_a_twin_recovers_log_normal_factors() -> None:
    model, control, y, truth = twin(600)
    analysis = FourDVar(model, control, y, stop=Stop(200, 1e-4, 0.0)).run()
    for name, true in truth.items():
        before, after = (np.sqrt(np.mean(np.log(f / true) ** 2)) for f in (np.ones_like(true), analysis.controls[name]))
        assert after < 0.5 * before, name
        assert (analysis.controls[name] > 0.0).all()
    last = analysis.history[-1]
    assert 2 * last.cost / len(y) == pytest.approx(1.0, abs=4 * np.sqrt(2 / len(y)))


def test_without_observations_nearby_the_background_stays() -> None:
    model, control, y, _ = twin(1)
    analysis = FourDVar(model, control, y, stop=FAR).run()
    assert analysis.controls["emission"][1, 5, 7] == pytest.approx(1.0, abs=0.02)


# ---- killed and resumed ----------------------------------------------------------------------------------------------


class KilledError(Exception):
    """Simulated end of the process."""


def killed_after(iteration: int) -> Callable[[Record], None]:
    def see(record: Record) -> None:
        if record.iteration == iteration:
            raise KilledError

    return see


def test_a_run_that_is_killed_after_every_iteration_has_the_same_bits(tmp_path: Path) -> None:
    model, control, y, _ = twin()
    stop = Stop(25, 1e-8, 0.0)
    whole = FourDVar(model, control, y, stop=stop).run()
    file = tmp_path / "state.npz"
    found: Analysis | None = None
    for iteration in range(whole.history[-1].iteration + 1):
        try:
            found = FourDVar(model, control, y, stop=stop, file=file).run(killed_after(iteration))
        except KilledError:
            continue
    assert found is None
    found = FourDVar(model, control, y, stop=stop, file=file).run()
    assert np.array_equal(found.v, whole.v)
    assert found.history == whole.history
    assert np.array_equal(found.simulated, whole.simulated)
    assert (tmp_path / "state.npz").stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


@dataclass
class DyingModel:
    """Model with a run that ends the process."""

    model: SampledFieldModel
    last: int
    runs: int = 0

    def value_and_gradient(self, controls: Controls) -> tuple[np.ndarray, Pullback]:
        self.runs += 1
        if self.runs > self.last:
            raise KilledError
        return self.model.value_and_gradient(controls)


def test_a_run_that_is_killed_within_iterations_has_the_same_bits(tmp_path: Path) -> None:
    model, control, y, _ = twin()
    stop = Stop(8, 0.0, 0.0)
    whole = FourDVar(model, control, y, stop=stop).run()
    for last in range(1, 4):
        file, found = tmp_path / f"{last}.npz", None
        for _ in range(60):
            try:
                found = FourDVar(DyingModel(model, last), control, y, stop=stop, file=file).run()
                break
            except KilledError:
                continue
        if found is not None:  # a process with fewer runs than an iteration never completes one
            assert found.history == whole.history
            assert np.array_equal(found.v, whole.v)
    assert found is not None


def test_without_the_pairs_the_iterates_are_others(tmp_path: Path) -> None:
    """Negative control: a memory without pairs gives other iterates."""
    model, control, y, _ = twin()
    whole = FourDVar(model, control, y, stop=Stop(10, 0.0, 0.0)).run()
    half = FourDVar(model, control, y, stop=Stop(5, 0.0, 0.0)).run()
    warm = FourDVar(model, control, y, stop=Stop(5, 0.0, 0.0)).run(start=half.v)
    assert warm.history[0].cost == half.history[-1].cost
    assert not np.array_equal(warm.v, whole.v)


def test_a_file_of_another_problem_is_refused(tmp_path: Path) -> None:
    model, control, y, _ = twin(20)
    file = tmp_path / "state.npz"
    FourDVar(model, control, y, stop=Stop(2), file=file).run()
    FourDVar(model, control, y, stop=Stop(4), file=file).run()  # stopping criteria may differ
    for changed in (
        FourDVar(model, control, replace(y, sigma=2 * y.sigma), file=file),
        FourDVar(model, drift_control(0.6), y, file=file),
        FourDVar(model, control, y, check=3.0, file=file),
    ):
        with pytest.raises(OutputError, match="belongs to an assimilation with other controls"):
            changed.run()


@pytest.mark.parametrize("content", [b"", b"no numbers", b"PK\x03\x04"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    model, control, y, _ = twin(20)
    file = tmp_path / "state.npz"
    file.write_bytes(content)
    with pytest.raises(OutputError, match="remove it to restart the assimilation"):
        FourDVar(model, control, y, file=file).run()


# ---- stopping criteria and reports -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "why"), [(Stop(3, 0.0, 0.0), "iterations"), (Stop(99, 0.5, 0.0), "gradient"), (Stop(99, 0.0, 0.5), "cost")]
)
def test_each_stop_rule_stops(stop: Stop, why: str) -> None:
    model, control, y, _ = twin()
    assert FourDVar(model, control, y, stop=stop).run().stopped == why


def test_the_background_costs_one_run() -> None:
    model, control, y = linear_problem()
    FourDVar(model, control, y, stop=Stop(0)).run()
    assert model.runs == 1


def test_far_observations_are_rejected_counted_and_listed() -> None:
    model, control, y, _ = twin()
    value = y.value.copy()
    value[5] += 100.0
    fourdvar = FourDVar(model, control, replace(y, value=value), check=50.0, stop=Stop(3))
    analysis = fourdvar.run()
    assert np.flatnonzero(~analysis.accepted).tolist() == [5]
    table = check_background(fourdvar.observations, analysis.background, 50.0).table()
    assert table.title.startswith("1 of 150 observations rejected")
    assert table.rows[0][0] == "stations.csv, line 2"
    with pytest.raises(CaseError, match="rejects all observations"):
        FourDVar(model, control, replace(y, value=y.value + 1e3), check=5.0).run()
    with pytest.raises(CaseError, match="give one above 0"):
        FourDVar(model, control, y, check=0.0).run()


def test_departures_that_factors_can_correct_are_not_rejected() -> None:
    model, control, y, _ = twin()
    twice = replace(y, value=2.0 * y.value)
    stop = Stop(0)
    assert FourDVar(model, control, twice, check=5.0, stop=stop).run().accepted.all()
    with pytest.raises(CaseError, match="rejects all"):
        FourDVar(model, control, twice, check=5.0, background_share=0.0, stop=stop).run()


def test_a_rejected_observation_changes_nothing() -> None:
    model, control, y, _ = twin(60)
    value = y.value.copy()
    value[5] = 1e4
    accepted = np.arange(60) != 5
    one, other = (
        Cost(model, control, replace(y, value=v), accepted)(np.full(control.size, 0.1)) for v in (value, y.value)
    )
    assert one.cost == other.cost
    assert np.array_equal(one.gradient, other.gradient)


def test_the_report_is_complete() -> None:
    model, control, y, _ = twin(60)
    fourdvar = FourDVar(model, control, y, stop=Stop(60, 1e-6, 0.0))
    analysis = fourdvar.run()
    posterior = estimate(hessian(fourdvar.cost(analysis.accepted), analysis.v), control, probes=3, iterations=40)
    found = diagnostics_report(control, y, analysis, posterior)
    assert found.ok
    assert 0.0 < float(str(found.facts["degrees of freedom for signal"])) < 60
    text = found.to_text()
    for word in ("J background", "J NO2 surface", "rms before", "2 J / p", "stopped by", "emission", "sigma after"):
        assert word in text
    cost = found.tables[0].rows
    assert all(row[1] == pytest.approx(row[2] + row[3]) for row in cost)
    assert all(after[1] < before[1] for before, after in pairwise(cost))


class Broken:
    """Model that returns values that are not finite, always or for a large factor."""

    def __init__(self, where: float) -> None:
        self.where = where

    def value_and_gradient(self, controls: dict[str, np.ndarray]) -> tuple[np.ndarray, object]:
        x = controls["x"]
        y = np.array([np.nan if x[0] > self.where else x[0]])
        return y, lambda w: {"x": np.array([w[0]])}


def test_controls_without_any_effect_are_refused_and_observations_that_fit_are_not() -> None:
    model, control, y = linear_problem()
    with pytest.raises(CaseError, match="no control changes any simulated observation"):
        FourDVar(Matrix(0.0 * model.matrix), control, y).run()
    fitting = replace(y, value=model.matrix @ control.blocks[0].background)
    analysis = FourDVar(model, control, fitting).run()
    assert diagnostics_report(control, fitting, analysis, None).facts["gradient reduced to"] == 0.0


def test_a_model_that_fails_is_reported_or_avoided() -> None:
    control = ControlVector([Block("x", ("one",), Covariance(np.array([5.0]), [None]), "gaussian")])
    y = replace(many(1, sigma=0.1), value=np.array([2.0]))
    with pytest.raises(NumericalError, match="background simulates"):
        FourDVar(Broken(-1.0), control, y).run()
    found = FourDVar(Broken(2.5), control, y, stop=FAR).run()
    assert found.controls["x"][0] == pytest.approx(2.0, abs=1e-2)
    with pytest.raises(NumericalError, match="warm start"):
        FourDVar(Broken(2.5), control, y).run(start=np.array([1.0]))

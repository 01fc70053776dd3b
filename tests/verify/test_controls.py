"""Negative controls: each check of `airshed verify` fails for a broken model."""

import dataclasses
import shutil

import numpy as np
import pytest

import airshed.models.air.forcing
import airshed.models.air.programs.context
from airshed.kernels import cpp as template
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.models.air.budget import Budget
from airshed.models.air.emissions.sources import PackedSources
from airshed.models.air.processes import vertical_mixing
from airshed.models.air.programs import air_check, two_step
from airshed.program.weights import two_step_weights
from airshed.verify import column, west_europe
from airshed.verify.checks import DEPOSITION
from airshed.verify.transport import plane

from .small import carried_coarsely, few_columns

UNLIMITED = (
    "    return maximum(low, pack{}) + minimum(high, pack{});",
    "    return (void)high, (void)low, smooth;",
)
FIRST_ORDER = (
    "    return maximum(low, pack{}) + minimum(high, pack{});",
    "    return (void)high, (void)low, (void)smooth, pack{};",
)
UNBALANCED_CLIPPING = (
    "sums.reacted = fused(t.flux.weight[z], rate * sums.bounded, sums.reacted)",
    "sums.reacted = fused(t.flux.weight[z], rate * plain(solved), sums.reacted)",
)


def missed(figures):
    return {figure.what for figure in figures if not figure.ok}


@pytest.fixture
def kernel_text(monkeypatch, tmp_path):
    """Return a function that changes the text of the compiled code for a test."""

    def change(file, old, new):
        folder = tmp_path / "cpu"
        shutil.copytree(template._FOLDER, folder)
        text = (folder / file).read_text()
        assert text.count(old) == 1
        (folder / file).write_text(text.replace(old, new))
        monkeypatch.setattr(template, "_FOLDER", folder)

    return change


@pytest.fixture
def after_step(monkeypatch):
    """Return a function that sets a change of the state after each step."""

    def meddle(change):
        step = Stepper.advance

        def stepped(self, *arguments):
            sums = step(self, *arguments)
            change(self.state)
            return sums

        monkeypatch.setattr(Stepper, "advance", stepped)

    return meddle


@pytest.mark.compiles
def test_a_slightly_wrong_wind_is_detected(monkeypatch):
    swirl = plane.swirl

    def stronger_at_first(grid):
        return lambda seconds: swirl(grid)(seconds) * (1.05 if seconds < 43200.0 else 1.0)

    monkeypatch.setitem(plane._FLOWS, "swirl", stronger_at_first)
    assert {"l1 of the cosine hump", "l1 of the Gaussian"} <= missed(plane.check("swirl"))


@pytest.mark.compiles
def test_a_scheme_without_limiter_has_new_extremes(kernel_text, monkeypatch):
    monkeypatch.setattr(air_check, "MOST", np.inf)  # otherwise the run stops at a mixing ratio above 1
    kernel_text("transport/transport.hpp", *UNLIMITED)
    assert {"largest new extreme", "clipped at zero, share of mass"} <= missed(plane.check("swirl"))


@pytest.mark.compiles
def test_a_scheme_of_first_order_is_detected_on_coarse_grids(kernel_text):
    kernel_text("transport/transport.hpp", *FIRST_ORDER)
    assert "order of l1, cosine hump, 25 to 50" in missed(carried_coarsely("swirl"))


@pytest.mark.compiles
def test_a_leak_is_detected(after_step):
    def leak(state):
        state.q *= 1.0 - 1e-9

    after_step(leak)
    assert "change of mass" in missed(plane.check("swirl"))


@pytest.mark.compiles
def test_the_order_falls_without_the_weights_of_unequal_layers(monkeypatch):
    equal = np.tile([1.0 / 3.0, 1.0 / 6.0] * 2, (1, 1))
    monkeypatch.setattr(
        airshed.models.air.programs.context, "parabola_weights", lambda thickness: equal.repeat(thickness.size, axis=0)
    )
    assert {"l1 of a smooth front", "order of l1, 40 to 80"} <= missed(column.check())


@pytest.mark.compiles
def test_a_wrong_exchange_is_detected(monkeypatch):
    right = vertical_mixing.turbulent_exchange
    monkeypatch.setattr(vertical_mixing, "turbulent_exchange", lambda *given: 1.01 * right(*given))
    assert {"greatest error", "order in dz, 20 to 40"} <= missed(column.check())


@pytest.mark.compiles
def test_first_order_steps_are_detected(monkeypatch):
    monkeypatch.setattr(two_step, "two_step_weights", lambda step, *_, **__: two_step_weights(step, None))
    assert "order in time, 600 s to 300 s" in missed(column.check())


UNIFORM = "uniform mixing ratio, greatest deviation"
AIR = "advanced air against the given, greatest deviation"


@pytest.mark.compiles
def test_inconsistent_air_is_detected(after_step):
    def blow(state):
        state.air_tendency *= 1.0 + 1e-6

    after_step(blow)
    assert UNIFORM in missed(west_europe.check_uniform(west_europe.real_case("2 h")))


@pytest.mark.compiles
def test_wrong_boundary_air_is_detected():
    other = {"values": {"TRACER": "1.000001 ppb"}}
    start = {"values": {"TRACER": "1 ppb"}}
    assert missed(west_europe.check_uniform(west_europe.real_case("2 h", boundary=other, initial=start))) == {UNIFORM}


@pytest.mark.compiles
def test_a_vertical_wind_without_the_change_of_density_is_detected(monkeypatch):
    """The mixing ratio stays uniform; only the comparison of the air detects the error."""
    right = airshed.models.air.forcing.upward_air_flux
    monkeypatch.setattr(
        airshed.models.air.forcing, "upward_air_flux", lambda east, north, change: right(east, north, 0.0 * change)
    )
    assert missed(west_europe.check_uniform(west_europe.real_case("2 h"))) == {AIR}


@pytest.mark.compiles
def test_clipped_plumes_are_detected(kernel_text):
    kernel_text("transport/transport.hpp", *UNLIMITED)
    assert "clipped at zero, share of emitted" in missed(west_europe.check_uniform(west_europe.real_case("2 h")))


RESIDUALS = {"background: residual over throughput", "plumes: residual over throughput"}


def losing(sums, term, share):
    """Sums by term of a step, with a fraction of one term missing."""
    return {**sums, term: (1.0 - share) * sums[term]}


@pytest.mark.compiles
@pytest.mark.parametrize("term", ["inflow", "outflow", "deposited"])
def test_a_budget_with_a_reduced_term_is_detected(monkeypatch, term):
    add = Budget.add

    def forgetful(self, weights, sums, *others):
        add(self, weights, losing(sums, term, 1e-6), *others)

    monkeypatch.setattr(Budget, "add", forgetful)
    assert missed(west_europe.check_budget(west_europe.real_case("2 h", deposition=DEPOSITION))) & RESIDUALS


@pytest.mark.compiles
def test_a_wrong_emission_is_detected(monkeypatch):
    at = PackedSources.at

    def doubled(self, seconds):
        packed, totals = at(self, seconds)
        return 2.0 * packed, 2.0 * totals

    monkeypatch.setattr(PackedSources, "at", doubled)
    assert missed(west_europe.check_budget(west_europe.real_case("2 h", deposition=DEPOSITION))) == {
        "plumes: emitted against the rates"
    }


@pytest.mark.compiles
def test_a_case_without_deposition_is_detected():
    assert missed(west_europe.check_budget(west_europe.real_case("1 h"))) == {"plumes: share deposited, there at all"}


def test_the_drift_of_too_few_sweeps_is_detected():
    once = west_europe.cut_case("1 h", start=west_europe.MORNING, chemistry={"sweeps": 1})
    assert missed(west_europe.check_drift(once)) == {"drift over emitted, 1 sweeps"}


def test_missing_atoms_of_a_family_are_detected(monkeypatch):
    add = Budget.add

    def forgetful(self, weights, sums, *others):
        add(self, weights, losing(sums, "outflow", 1e-3), *others)

    monkeypatch.setattr(Budget, "add", forgetful)
    assert "residual over throughput" in missed(west_europe.check_drift(west_europe.cut_case("1 h")))


@pytest.mark.compiles
def test_sweeps_do_not_converge_without_clipping_in_the_chemistry(kernel_text):
    kernel_text("column/column.hpp", *UNBALANCED_CLIPPING)
    assert missed(west_europe.check_convergence({16: 1e-6})) == {"drift over emitted, 16 sweeps"}


@pytest.mark.compiles
def test_a_different_bit_is_detected(monkeypatch):
    run = west_europe.final_state

    def differing(case):
        state = run(case)
        if case.run.threads > 1:
            state["O3"][0, 1, 2] = np.nextafter(state["O3"][0, 1, 2], 1.0)
        return state

    monkeypatch.setattr(west_europe, "final_state", differing)
    assert missed(west_europe.compare(few_columns("10 min"))) == {"numbers that differ in any bit"}


@pytest.mark.compiles
def test_a_difference_of_one_in_a_thousand_is_detected(monkeypatch):
    run = west_europe.final_state

    def distant(case):
        factor = 1.001 if case.chemistry.precision == "single" else 1.0
        return {name: factor * values for name, values in run(case).items()}

    monkeypatch.setattr(west_europe, "final_state", distant)
    assert len(missed(west_europe.compare(few_columns("10 min")))) == len(west_europe.COMPARED)


def test_a_new_extreme_below_is_an_error_too():
    exact = np.array([0.0, 1.0, 0.0])
    errors = plane.Errors.of(exact - 1e-3, exact, np.ones(3))
    assert errors.undershoot == pytest.approx(1e-3)
    assert errors.overshoot == 0.0
    assert dataclasses.astuple(plane.Errors.of(exact, exact, np.ones(3))) == (0.0, 0.0, 0.0, 0.0, 0.0)

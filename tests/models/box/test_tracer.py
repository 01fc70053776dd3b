"""Boxes with analytic solutions: emission and deposition of a passive tracer, expanding air, the sun."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.box.toy import CLOSED

from airshed.core.constants import BOLTZMANN
from airshed.mechanism import ReactionNetwork
from airshed.models.air.light import cos_zenith
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun, box

Make = Callable[..., BoxRun]

START, SOURCE, LOSS, HOURS = 1e11, 2e6, 5e-5, 6.0


def analytic(seconds: np.ndarray) -> np.ndarray:
    """Return c = c0 exp(-D t) + E/D (1 - exp(-D t))."""
    decay = np.exp(-LOSS * seconds)
    return START * decay + SOURCE / LOSS * (1.0 - decay)


def ends(make: Make, steps: tuple[float, ...], changes: dict) -> list[float]:
    return [float(make({**changes, "solver.step": f"{step} s"}).run()["TRACER"][-1]) for step in steps]


def test_emission_and_deposition_to_second_order(tracer_run: Make) -> None:
    changes = {
        "initial": {"TRACER": f"{START} molecules/cm3"},
        "emission": {"TRACER": f"{SOURCE} molecules/cm3/s"},
        "deposition": {"tracer": f"{LOSS} 1/s"},
    }
    exact = float(analytic(np.array(HOURS * 3600.0)))
    error = [abs(end / exact - 1.0) for end in ends(tracer_run, (600, 300, 150, 75), changes)]
    orders = np.log2(np.array(error[:-1]) / error[1:])
    assert np.all((orders > 1.9) & (orders < 2.1)), orders
    assert error[-1] < 3e-6
    backward_euler = START
    for _ in range(36):
        backward_euler = (backward_euler + 600.0 * SOURCE) / (1.0 + 600.0 * LOSS)
    assert abs(backward_euler / exact - 1.0) > 5 * error[0]


def test_a_jump_needs_its_restart(tracer_run: Make) -> None:
    """The source starts at 2 h: the step that ends there must not include it, and the next step is an Euler start."""
    changes = {
        "emission": {"TRACER": f"where(t >= 7200, {SOURCE}, 0)"},
        "deposition": {"TRACER": f"{LOSS} 1/s"},
    }
    exact = SOURCE / LOSS * (1.0 - np.exp(-LOSS * 4 * 3600.0))
    kept = [abs(end / exact - 1.0) for end in ends(tracer_run, (300, 150), {**changes, "time.restarts": ["2 h"]})]
    lost = [abs(end / exact - 1.0) for end in ends(tracer_run, (300, 150), changes)]
    assert 1.9 < np.log2(kept[0] / kept[1]) < 2.1
    assert np.log2(lost[0] / lost[1]) < 1.3
    assert lost[1] > 10 * kept[1]


def test_outputs_and_the_start(tracer_run: Make) -> None:
    changes = {
        "time.start": "4 h",
        "time.length": "5.5 h",
        "time.output_every": "1 h",
        "initial": {"TRACER": "40 ppb", "TRACER2": "1e9*t"},
    }
    series = tracer_run(changes).run()
    assert np.array_equal(series["time"], 3600.0 * np.array([4, 5, 6, 7, 8, 9, 9.5]))
    assert np.allclose(series["TRACER"], 40e-9 * 2.5e19, rtol=1e-14)
    assert np.allclose(series["TRACER2"], 1e9 * 14400.0, rtol=1e-14)
    assert series["TRACER"].attrs["units"] == "molecules cm-3"
    assert series["temperature"].attrs["units"] == "K"


def test_air_that_expands_keeps_mixing_ratios(tracer_run: Make) -> None:
    changes = {
        "fixed.M": None,
        "environment.pressure": "1000 hPa",
        "environment.temperature": "290 + 10*sin(t/3600)",
        "initial": {"TRACER": "40 ppb"},
        "time.output_every": "30 min",
    }
    series = tracer_run(changes).run()
    density = 1e5 / (BOLTZMANN * series["temperature"]) * 1e-6
    assert np.allclose(series["M"], density, rtol=1e-14)
    assert float(density.max() - density.min()) > 5e17
    assert np.allclose(series["TRACER"] / density, 40e-9, rtol=1e-13)


def test_emission_into_air_that_expands(tracer_run: Make) -> None:
    """The source is per current volume of air: dq/dt = E / M."""
    changes = {
        "fixed.M": "2.5e19/(1 + t/86400)",
        "emission": {"TRACER": "1e6 molecules/cm3/s"},
        "time.output_every": "1 h",
    }
    series = tracer_run(changes).run()
    expected = 1e6 * (series["time"] + series["time"] ** 2 / 172800.0) / 2.5e19
    assert np.allclose(series["TRACER"] / series["M"], expected, rtol=1e-3, atol=0.0)
    assert not np.allclose(series["TRACER"] / series["M"], 1e6 * series["time"] / 2.5e19, rtol=1e-3, atol=0.0)


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision(tracer_run: Make) -> None:
    changes = {"initial": {"TRACER": "40 ppb"}, "deposition": {"TRACER": "1e-5 1/s"}}
    double, single = (
        float(tracer_run({**changes, "solver.precision": precision}).run()["TRACER"][-1])
        for precision in ("double", "single")
    )
    assert 0.0 < abs(single / double - 1.0) < 1e-5


def sun(emep: ReactionNetwork, problem: Callable[..., BoxConditions], **rates: str) -> BoxRun:
    location = {"lat": 50, "lon": 14, "date": "2022-08-31"}
    environment = {"temperature": "298 K", "humidity": "50 %", "location": location}
    conditions = problem(solver={}, rates=rates, environment=environment, fixed__H2O=None, time__length="24 h")
    return BoxRun(emep, conditions)


def test_sun_by_location(emep: ReactionNetwork, problem: Callable[..., BoxConditions]) -> None:
    series = sun(emep, problem).run()
    seconds = series["time"].values - 14 * 240.0
    when = np.datetime64("2022-08-31", "ns") + (seconds * 1e9).astype("timedelta64[ns]")
    cosine = cos_zenith(when, 14.0, 50.0)
    up = cosine > 0.01
    assert 10 < up.sum() < 16
    assert np.array_equal(series["daylight"], cosine > 0.0)
    # an output at a jump has the conditions just before it
    assert np.allclose(1.0 / series["sec_zenith"][up], cosine[up], rtol=1e-6)


def test_sun_by_its_cosine(emep: ReactionNetwork, problem: Callable[..., BoxConditions]) -> None:
    cosine = "0.7 - cos((t/43200)*pi)*0.3"
    given_cosine = sun(emep, problem, SUN=f"max({cosine}, 0)").run()
    given_secant = sun(emep, problem, sec_zenith=f"1/({cosine})").run()
    assert np.allclose(given_cosine["O3"], given_secant["O3"], rtol=1e-12)
    darker = sun(emep, problem, SUN=cosine, daylight="0.5").run()
    assert not np.allclose(given_cosine["O3"], darker["O3"], rtol=1e-3)


def test_humidity_is_relative_to_saturation(emep: ReactionNetwork, problem: Callable[..., BoxConditions]) -> None:
    run = sun(emep, problem)
    water = run.model.forcing.at(np.array([0.0]))["H2O"]
    assert float(np.ravel(water)[0]) == pytest.approx(0.5 * 3169.0 / (BOLTZMANN * 298.15) * 1e-6, rel=0.01)


@settings(max_examples=15)
@given(step=st.floats(50, 5000), every=st.floats(500, 20000), restart=st.floats(0, 86399), length=st.floats(600, 2e5))
def test_any_division_into_steps(
    toy: ReactionNetwork, step: float, every: float, restart: float, length: float
) -> None:
    """A source without a sink is integrated exactly with any steps, so that every gap or overlap would be detected."""
    conditions = BoxConditions.from_dict(
        {
            "time": {"length": f"{length} s", "output_every": f"{every} s", "restarts": [f"{restart} s"]},
            "environment": {"temperature": "298 K"},
            "fixed": {"M": "2.5e19 molecules/cm3", "X": "0 molecules/cm3"},
            "rates": CLOSED,
            "deposition": {"TRACER": "0 1/s"},
            "emission": {"TRACER": "1e6 molecules/cm3/s"},
            "solver": {"method": "gauss-seidel", "step": f"{step} s"},
        }
    )
    series = box(toy, conditions)
    assert float(series["time"][-1]) == length
    assert np.allclose(series["TRACER"], 1e6 * series["time"], rtol=1e-9)

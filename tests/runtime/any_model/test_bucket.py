"""A model of points whose processes are declared by @update: by hand, on ranks, after a restart, and while it runs."""

import signal
from math import exp
from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError

SHARE, RAIN = 0.5, (0.0, 60.0, 10.0, 0.0, 25.0)
DAYS = ("--set", "time.length=9 day", "--set", "output.0.every=1 day", "--set", "restart.every=1 day")


def by_hand(days: int, capacity: float, shares: dict[int, float] | None = None) -> list[float]:
    """Water, biomass, runoff and drainage of a cell after some days; `shares` are set before a day."""
    water, biomass, runoff, drained, share = 30.0, 100.0, 0.0, 0.0, SHARE
    for day in range(days):
        share = (shares or {}).get(day, share)
        filled = water + RAIN[day % len(RAIN)]
        water, runoff = min(filled, 80.0), max(filled - 80.0, 0.0)
        drained = share * max(water - capacity, 0.0)
        water -= drained
        biomass += 0.125 * water * exp(-0.01 * biomass) + drained
    return [water, biomass, runoff, drained]


def now(simulation: airshed.Simulation, cell: int) -> list[float]:
    return [float(simulation[name][cell]) for name in ("water", "biomass", "runoff", "drained")]


@pytest.fixture
def case(run, kind, tmp_path: Path) -> Path:
    """The file of a case of 30 days."""
    kind("bucket")
    text = (tmp_path / "row.toml").read_text().replace('"row"', '"bucket"').replace('"10 min"', '"1 day"')
    (tmp_path / "bucket.toml").write_text(text.replace('"1 h"', '"30 day"'))
    return tmp_path / "bucket.toml"


def test_its_days_are_those_by_hand_and_a_number_can_be_set(case: Path) -> None:
    capacities = np.linspace(20.0, 50.0, 7)
    with airshed.Simulation(case) as simulation:
        simulation.run("2 day")
        for cell, capacity in enumerate(capacities):
            assert now(simulation, cell) == pytest.approx(by_hand(2, capacity), rel=1e-14)
        assert max(now(simulation, 3)[2:]) > 0.0, "it runs off and drains"
        simulation["drainage_share"] = 0.25
        assert simulation["drained"].attrs == {"units": "mm", "long_name": "Water that drains in a day."}
        simulation.run("9 day")
        found = now(simulation, 3)
        assert found == pytest.approx(by_hand(9, capacities[3], {2: 0.25}), rel=1e-14)
        assert found != pytest.approx(by_hand(9, capacities[3]), rel=1e-3), "without the change it is another"
        with pytest.raises(CaseError, match=r"drainage_share cannot be 2.0"):
            simulation["drainage_share"] = 2.0
        with pytest.raises(CaseError, match=r"water cannot be set .*settable are: rain, drainage_share"):
            simulation["water"] = 2.0


def water_by_hand(rain: list[float], capacity: float) -> float:
    water = 30.0
    for fallen in rain:
        water = min(water + fallen, 80.0)
        water -= SHARE * max(water - capacity, 0.0)
    return water


def test_weather_that_is_set_holds_until_it_is_set_again(case: Path) -> None:
    capacities, rain = np.linspace(20.0, 50.0, 7), np.linspace(0.0, 60.0, 7)
    with airshed.Simulation(case) as simulation:
        assert simulation["rain"].values.tolist() == [RAIN[0]] * 7, "before the first step it is that of the first"
        simulation.run("2 day")
        assert simulation["rain"].values.tolist() == [RAIN[1]] * 7, "it is that of the last step"
        simulation["rain"] = rain
        assert simulation["rain"].values.tolist() == rain.tolist()
        simulation.run("4 day")
        simulation["rain"] = "1 cm"
        simulation.run("5 day")
        for cell, capacity in enumerate(capacities):
            days = [*RAIN[:2], rain[cell], rain[cell], 10.0]
            assert float(simulation["water"][cell]) == pytest.approx(water_by_hand(days, capacity), rel=1e-14)
        assert water_by_hand([*RAIN[:5]], 50.0) != pytest.approx(water_by_hand(days, 50.0), rel=1e-3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(6), r"rain has the shape \(7,\); the values have \(6,\)"),
        (np.array([1.0] * 6 + [np.nan]), r"rain cannot be nan, as in cell \(6,\)"),
        (float("inf"), "rain cannot be inf; give numbers"),
        (True, "rain cannot be True: give numbers \\[mm\\], or text with a unit"),
        ("5 K", "rain"),
    ],
)
def test_weather_that_cannot_be_is_refused(case: Path, value: object, message: str) -> None:
    with airshed.Simulation(case) as simulation:
        with pytest.raises(CaseError, match=message):
            simulation["rain"] = value
        assert simulation["rain"].values.tolist() == [RAIN[0]] * 7


def set_rain(simulation: airshed.Simulation, days: int) -> None:
    """Set the rain of the second day once more, for the third one and on, and run some days."""
    simulation.run("2 day")
    simulation["rain"] = np.full(7, RAIN[1])
    simulation.run(f"{days} day")


def test_a_run_that_goes_on_keeps_weather_that_was_set(case: Path, tmp_path: Path) -> None:
    with airshed.Simulation(case) as simulation:
        set_rain(simulation, 6)
        expected = simulation["water"].values
        other = simulation["biomass"].values
    for days in (2, 4):
        folder = tmp_path / f"left at {days}"
        with airshed.Simulation(case, output=folder) as simulation:
            set_rain(simulation, days)
        with airshed.Simulation(case, output=folder, resume=True) as simulation:
            simulation.run("6 day")
            np.testing.assert_array_equal(simulation["water"].values, expected)
            np.testing.assert_array_equal(simulation["biomass"].values, other)
    with airshed.Simulation(case) as simulation:
        simulation.run("6 day")
        assert not np.array_equal(simulation["water"].values, expected), "without the change it is another"


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_process_that_is_off_does_nothing(case: Path) -> None:
    off = airshed.load_case(case, ["growth.on=false"])
    with airshed.Simulation(off) as simulation:
        simulation.run("5 day")
        assert now(simulation, 0) == pytest.approx([by_hand(5, 20.0)[0], 100.0, *by_hand(5, 20.0)[2:]], rel=1e-14)


@pytest.mark.thorough
def test_two_ranks_have_the_bits_of_one_also_after_a_kill(run, case: Path, tmp_path: Path) -> None:
    assert run("run", case.name, "--output", "one", *DAYS).returncode == 0
    killed = run("run", case.name, "--output", "two", *DAYS, die="after two/restart 9")
    assert killed.returncode == -signal.SIGKILL
    again = run("run", case.name, "--output", "two", "--resume", "-n", "2", *DAYS)
    assert (again.returncode, "resumed at" in again.stderr) == (0, True), again.stderr
    with airshed.open_run(tmp_path / "one") as one, airshed.open_run(tmp_path / "two") as two:
        assert one.load().equals(two.load())
        assert set(one.data_vars) == {"water", "biomass", "runoff", "drained"}
        assert float(one["biomass"][-1, 3]) == pytest.approx(by_hand(9, 35.0)[1], rel=1e-6)


def test_batches_of_any_size_have_the_bits_of_single_days(case: Path) -> None:
    def run(batch: int, until: str = "9 day", **how: object) -> list[bytes]:
        with airshed.Simulation(airshed.load_case(case, [f"batch={batch}"])) as simulation:
            simulation.run(until, **how)
            return [np.array(simulation[name]).tobytes() for name in ("water", "biomass", "runoff", "drained")]

    found = run(1)
    assert [run(batch) for batch in (2, 9, 30)] == [found] * 3
    assert run(30, observer=lambda info: None, stride=2) == found
    assert run(30, "8 day") != found


def test_results_of_each_day_can_be_recorded(case: Path) -> None:
    with airshed.Simulation(case) as simulation:
        with pytest.raises(CaseError, match="no step changes dranied; did you mean drained"):
            simulation.model.record({"dranied": np.empty((9, 7))})
        kept = {"water": np.empty((9, 7), np.float32), "drained": np.empty((9, 7))}
        simulation.model.record(kept)
        simulation.run("2 day")
        simulation.run("9 day")
        for cell, capacity in enumerate(np.linspace(20.0, 50.0, 7)):
            days = np.array([by_hand(day, capacity) for day in range(1, 10)])
            np.testing.assert_allclose(kept["water"][:, cell], days[:, 0], rtol=1e-6)
            np.testing.assert_allclose(kept["drained"][:, cell], days[:, 3], rtol=1e-6)
        assert all(seconds > 0.0 for seconds in simulation.model.timings().parts.values())
        with pytest.raises(CaseError, match="the arrays for recording have 9 steps; the run has more"):
            simulation.run("10 day")


def test_batches_end_where_something_is_due(case: Path, tmp_path: Path) -> None:
    often = airshed.load_case(case, ["batch=30", "time.length=20 day", "output.0.every=3 day", "restart.every=7 day"])
    batches: list[int] = []
    with airshed.Simulation(often, output=tmp_path / "out") as simulation:
        through = simulation.model.step_through
        simulation.model.step_through = lambda ends: (batches.append(len(ends)), through(ends))
        simulation.run("17 day")
        simulation.run(observer=lambda info: None, stride=2)
    assert batches == [3, 3, 1, 2, 3, 2, 1, 2, 1, 2]


def test_a_step_of_another_length_is_refused(run, case: Path) -> None:
    refused = run("run", case.name, "--output", "a", "--set", "output.0.every=8 h")
    assert refused.returncode == 2
    assert "the step length of this model is 24 h, but a step of 8 h is requested; set output" in refused.stderr

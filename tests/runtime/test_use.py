"""Requests to a simulation are executed or refused with a message: times, values without units, a closed one."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.runtime.test_run_folder import CASE

import airshed
from airshed.core.errors import AirshedError, CaseError

START = datetime(2022, 1, 1)


def make() -> airshed.Simulation:
    return airshed.Simulation(airshed.Case.from_dict(CASE))


@pytest.fixture(scope="module")
def later() -> airshed.Simulation:
    """A simulation that is half an hour after its start."""
    simulation = make()
    simulation.run(until="30 min")
    return simulation


DATES = {
    "text": "2022-01-01T00:40",
    "text with seconds": "2022-01-01T00:40:00Z",
    "text with an offset": "2022-01-01T02:40:00+02:00",
    "datetime": START + timedelta(minutes=40),
    "datetime with an offset": datetime(2022, 1, 1, 2, 40, tzinfo=timezone(timedelta(hours=2))),
    "datetime in UTC": datetime(2022, 1, 1, 0, 40, tzinfo=UTC),
    "datetime64": np.datetime64("2022-01-01T00:40"),
}


@pytest.mark.parametrize("until", DATES.values(), ids=DATES)
def test_dates_are_times_to_run_to(until: Any) -> None:
    with make() as simulation:
        simulation.run(until=until)
        assert simulation.seconds == 2400.0


@pytest.mark.parametrize("until", ["10 min", 0, -1.0, timedelta(minutes=1), "2022-01-01", START, "2021-12-31T23:00"])
def test_a_time_that_is_past_is_refused(later: airshed.Simulation, until: Any) -> None:
    with pytest.raises(CaseError, match="is past: the simulation is at 30 min"):
        later.run(until=until)
    assert later.seconds == 1800.0


WRONG = ["2022-13-45", "31.08.2022", "soon", "", "1", "5 kg", True, [1], np.datetime64("NaT"), np.nan, "2099-01-01"]


@pytest.mark.parametrize("until", ["soon", "31.08.2022", "1"])
def test_a_wrong_time_is_refused_with_the_forms_of_times(later: airshed.Simulation, until: str) -> None:
    with pytest.raises(CaseError, match=r'give seconds since the start, a text such as "6 h", or a date such as'):
        later.run(until=until)


@pytest.mark.parametrize("until", WRONG, ids=map(repr, WRONG))
def test_what_is_no_time_of_the_case_is_refused(later: airshed.Simulation, until: Any) -> None:
    with pytest.raises(CaseError, match="until"):
        later.run(until=until)


def test_now_is_no_past(later: airshed.Simulation) -> None:
    later.run(until="30 min")
    assert later.seconds == 1800.0


@pytest.mark.parametrize("value", [1.0, 1, np.float64(1e-9), np.array(1e-9)])
def test_a_field_is_not_set_to_a_number_without_a_unit(value: Any) -> None:
    with make() as simulation:
        before = simulation.values("TRACER")
        with pytest.raises(CaseError, match=r'has no unit: give a text with one, such as ".* ppb", or an array'):
            simulation["TRACER"] = value
        assert np.array_equal(simulation.values("TRACER"), before)


def test_a_field_is_set_to_a_quantity_or_an_array() -> None:
    with make() as simulation:
        simulation["TRACER"] = "10 ppb"
        assert np.allclose(simulation.values("TRACER"), 1e-8)
        simulation["TRACER"] = np.full(simulation.values("TRACER").shape, 2e-8)
        assert np.allclose(simulation.values("TRACER"), 2e-8)


def test_a_field_is_set_to_a_data_array_in_its_unit() -> None:
    with make() as simulation:
        field = simulation["TRACER"]
        simulation["TRACER"] = xr.full_like(field, 5.0).assign_attrs(units="ppb")
        assert np.allclose(simulation.values("TRACER"), 5e-9)
        row = xr.DataArray(np.arange(4.0), dims="lon", attrs={"units": "ppt"})
        simulation["TRACER"] = row  # constant along the other dimensions
        assert np.allclose(simulation.values("TRACER"), 1e-12 * np.arange(4.0))
        simulation["TRACER"] = simulation["TRACER"].transpose("lon", "lat", "level") * 2.0
        assert np.allclose(simulation.values("TRACER"), 2e-12 * np.arange(4.0))
        simulation["TRACER"] = xr.DataArray(3e-9)  # without a unit it is in that of the field
        assert np.allclose(simulation.values("TRACER"), 3e-9)


WRONG_ARRAYS = {
    "another unit": (xr.DataArray(1.0, attrs={"units": "K"}), "cannot be converted to mol mol-1"),
    "another dimension": (xr.DataArray([1.0], dims="time", attrs={"units": "ppb"}), "the array differs in time"),
    "another size": (xr.DataArray([1.0, 2.0], dims="lat", attrs={"units": "ppb"}), "the array differs in lat"),
}


@pytest.mark.parametrize("wrong", WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_a_data_array_that_does_not_fit_is_refused(wrong: tuple[xr.DataArray, str]) -> None:
    array, message = wrong
    with make() as simulation:
        before = simulation.values("TRACER")
        with pytest.raises(CaseError, match=message):
            simulation["TRACER"] = array
        assert np.array_equal(simulation.values("TRACER"), before)


USES: dict[str, Callable[[airshed.Simulation], object]] = {
    "a field": lambda simulation: simulation["TRACER"],
    "values": lambda simulation: simulation.values("TRACER"),
    "to set": lambda simulation: simulation.__setitem__("TRACER", "1 ppb"),
    "run": lambda simulation: simulation.run(),
    "step": lambda simulation: simulation.step(),
    "next step": lambda simulation: simulation.next_step(),
    "budget": lambda simulation: simulation.budget(),
    "summary": lambda simulation: simulation.summary(),
    "snapshot": lambda simulation: simulation.snapshot(),
    "branch": lambda simulation: simulation.branch(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_closed_simulation_refuses(use: Callable[[airshed.Simulation], object]) -> None:
    with make() as simulation:
        pass
    with pytest.raises(CaseError, match="was closed"):
        use(simulation)
    simulation.close()  # again, which does nothing


def test_fields_are_listed(later: airshed.Simulation) -> None:
    assert list(later) == list(later.model.fields)
    assert "TRACER" in later
    assert "O9" not in later


NAMES = {
    "chemistry.mechanism": ("emepp", "did you mean 'emep'"),
    "chemistry.species_map": ("emepp", "did you mean emep"),
    "boundary.profiles": ("clean", "did you mean clean-air"),
}


@pytest.mark.parametrize("key", NAMES)
def test_a_name_that_nothing_has_is_refused_by_the_case(key: str) -> None:
    name, hint = NAMES[key]
    with pytest.raises(AirshedError, match=rf"{key}.*{hint}"):
        airshed.Case.load("tracer-rotation", [f"{key}={name}"])


def test_a_closed_simulation_at_its_end_refuses_a_run() -> None:
    with make() as simulation:
        simulation.run()
        simulation.run()  # at the end nothing is left to do
    with pytest.raises(CaseError, match="was closed"):
        simulation.run()

"""Components have the bits of a simulation, accept new values of inputs, and refuse invalid calls."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airshed
from airshed.bmi import Air, Component
from airshed.core.errors import CaseError

from .conftest import COMPONENTS, Started

DAY = 86400.0
SET = {
    "air": ("TRACER", 5e-9),
    "lorenz": ("x", 5.0),
    "bucket": ("rain", 40.0),
    "pasture": ("rain", 40.0),
}
TIMES = {
    "air": (0.0, 1000.0, 1700.0, 2400.0), "lorenz": (0.0, 1.0, 1.05, 4.0), "bucket": (0.0, 3 * DAY, 4 * DAY, 20 * DAY),
    "row": (0.0, 200.0, 450.0, 3600.0), "pasture": (0.0, 3 * DAY, 4 * DAY, 20 * DAY),
}  # fmt: skip

Case = Callable[[str], Path]


def all_values(component: Component) -> dict[str, Any]:
    names = component.get_output_var_names()
    return {
        name: component.get_value(name, np.empty(component.get_grid_size(component.get_var_grid(name))))
        for name in names
    }


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("model", COMPONENTS)
def test_it_has_the_bits_of_the_simulation(started: Started, case: Case, model: str) -> None:
    component = started(model)
    with airshed.Simulation(case(model)) as simulation:
        simulation.run()
        expected = {name: simulation[name].values.reshape(-1) for name in simulation.model.fields}
    for time in TIMES[model]:
        component.update_until(time)
        assert component.get_current_time() == time
        if time < component.get_end_time():
            assert not same(all_values(component), expected)
            component.update()
            assert component.get_current_time() > time
    assert same(all_values(component), expected)
    with pytest.raises(CaseError, match="the case ends at"):
        component.update()
    assert component.get_time_step() > 0.0
    component.finalize()


@pytest.mark.parametrize(
    "model", [pytest.param(each, marks=pytest.mark.thorough) if each == "pasture" else each for each in SET]
)
def test_set_values_have_the_effect_of_the_simulation(started: Started, case: Case, model: str) -> None:
    name, value = SET[model]
    middle, component = TIMES[model][1], started(model)
    found = {}
    for way in ("set", "not set"):
        with airshed.Simulation(case(model)) as simulation:
            simulation.run(middle)
            if way == "set":
                simulation.set({name: value})
            simulation.run()
            found[way] = {each: simulation[each].values.reshape(-1) for each in simulation.model.fields}
    component.update_until(middle)
    component.set_value(name, np.full(component.get_grid_size(component.get_var_grid(name)), value))
    component.update_until(component.get_end_time())
    assert same(all_values(component), found["set"])
    assert not same(found["set"], found["not set"])


def test_some_cells_can_be_set(started: Started) -> None:
    bucket, untouched = started("bucket"), started("bucket")
    bucket.set_value_at_indices("rain", np.array([6, 2]), np.array([10.0, 30.0]))
    assert bucket.get_value("rain", np.empty(7)).tolist() == [0.0, 0.0, 30.0, 0.0, 0.0, 0.0, 10.0]
    for each in (bucket, untouched):
        each.update()
    gained = bucket.get_value("water", np.empty(7)) - untouched.get_value("water", np.empty(7))
    assert (gained > 0.0).tolist() == [False, False, True, False, False, False, True]


def test_a_pointer_always_has_the_present_values(started: Started) -> None:
    for model, name in (("air", "TRACER"), ("lorenz", "y"), ("bucket", "water")):
        component = started(model)
        pointer, before = component.get_value_ptr(name), component.get_value_ptr(name).copy()
        component.update()
        after = component.get_value(name, np.empty(before.size))
        assert pointer.tolist() == after.tolist() != before.tolist()
        component.update_until(TIMES[model][1])
        assert pointer.tolist() == component.get_value(name, np.empty(before.size)).tolist()
        assert (pointer.ndim, pointer.flags.c_contiguous) == (1, True)
        with pytest.raises(ValueError, match="read-only"):
            pointer[0] = 1.0
    lorenz = started("lorenz")
    pointer = lorenz.get_value_ptr("x")
    lorenz.set_value("x", np.array([7.0]))
    assert pointer.tolist() == [7.0]


def test_its_output_is_that_of_a_run(case: Case, started: Started, tmp_path: Path) -> None:
    file = case("bucket")
    with airshed.Simulation(file, output=tmp_path / "run") as simulation:
        simulation.run()
    for way in ("update", "update_until"):
        bucket = COMPONENTS["bucket"](output=tmp_path / way)
        bucket.initialize(str(file))
        if way == "update_until":
            bucket.update_until(bucket.get_end_time())
        while bucket.get_current_time() < bucket.get_end_time():
            bucket.update()
        bucket.finalize()
        with airshed.open_run(tmp_path / way) as found, airshed.open_run(tmp_path / "run") as expected:
            assert found.load().equals(expected.load())
            assert found.sizes["time"] == 5


def test_a_case_of_another_model_is_refused(case: Case) -> None:
    with pytest.raises(CaseError, match=r"lorenz.toml is a case of the model lorenz; Air takes those of air"):
        Air().initialize(str(case("lorenz")))
    anything = Component()
    anything.initialize(str(case("lorenz")))
    assert anything.get_component_name() == "Airshed lorenz"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.initialize("air.toml"), "Air is initialized already; finalize it"),
        (lambda c: c.update_until(-1.0), "time = -1 s is before the present time, 0 s"),
        (lambda c: c.update_until(1e9), "is after the end of the case"),
        (lambda c: c.update_until(float("nan")), "is not a time"),
        (lambda c: c.get_var_units("TRACR"), "there is no field 'TRACR'; did you mean TRACER"),
        (lambda c: c.get_value("TRACER", np.empty(3)), "TRACER: give a NumPy array for 256 values, not one of 3"),
        (lambda c: c.get_value("TRACER", [0.0] * 256), "for 256 values, not a list"),
        (lambda c: c.get_value("TRACER", np.empty(256, int)), "an array of int64 cannot take float64"),
        (lambda c: c.set_value("cloud_cover", np.zeros(64)), "cloud_cover cannot be set .*settable are: TRACER"),
        (lambda c: c.set_value("TRACER", np.zeros(2)), "has 256 values; 2 cannot be set"),
        (
            lambda c: c.set_value("TRACER", np.full(256, -1.0)),
            "TRACER cannot be -1.0: mixing ratios lie between 0 and 1",
        ),
        (lambda c: c.get_value_at_indices("TRACER", np.empty(1), np.array([256])), "has the indices 0 to 255"),
        (lambda c: c.get_value_at_indices("TRACER", np.empty(1), np.array([-1])), "has the indices 0 to 255"),
        (lambda c: c.get_value_at_indices("TRACER", np.empty(1), np.array([0.5])), "as integers"),
        (lambda c: c.get_value_at_indices("TRACER", np.empty(1), np.array([0, 1])), "for 2 values, not one of 1"),
        (
            lambda c: c.set_value_at_indices("TRACER", np.array([0]), np.zeros(2)),
            "2 values cannot be set at 1 indices",
        ),
        (lambda c: c.get_grid_rank(2), "there is no grid 2; grids are numbered from 0 to 1"),
        (lambda c: c.get_grid_shape(0, np.empty(2)), "the shape of grid 0: give a NumPy array for 3 values"),
        (lambda c: Air().update(), "Air has no case; call initialize"),
        (lambda c: Air().initialize(""), "has no case.toml"),
    ],
)
def test_invalid_calls_are_refused_and_change_nothing(started: Started, call: Any, message: str) -> None:
    air = started("air")
    before = all_values(air)
    with pytest.raises(CaseError, match=message):
        call(air)
    assert same(all_values(air), before)
    air.update()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(2), "drainage_share has 1 values; 2 cannot be set"),
        (np.array("a"), "give numbers"),
        (np.array(1.5), "cannot be 1.5: Input should be less than or equal to 1"),
    ],
)
def test_a_number_that_cannot_be_set_is_refused(started: Started, value: Any, message: str) -> None:
    bucket = started("bucket")
    before = all_values(bucket)
    with pytest.raises(CaseError, match=message):
        bucket.set_value("drainage_share", value)
    assert same(all_values(bucket), before)


def test_it_can_be_initialized_again(case: Case, started: Started) -> None:
    bucket = started("bucket")
    first = all_values(bucket)
    bucket.update()
    bucket.finalize()
    bucket.finalize()
    with pytest.raises(CaseError, match="Bucket has no case"):
        bucket.get_current_time()
    bucket.initialize(str(case("bucket")))
    assert same(all_values(bucket), first)


def test_a_spin_up_begins_before_zero(case: Case) -> None:
    file = case("air")
    file.write_text(file.read_text().replace('length = "40 min"', 'length = "40 min"\nspinup = "10 min"'))
    air = Air()
    air.initialize(file)
    assert (air.get_start_time(), air.get_current_time(), air.get_end_time()) == (-600.0, -600.0, 2400.0)
    air.update_until(0.0)
    air.update()
    assert 0.0 < air.get_current_time() <= 2400.0
    assert air.get_start_time() == -600.0

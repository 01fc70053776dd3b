"""Fields with an axis in a model of points: arrays in updates, one field for each element outside of them."""

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.models.points.derivatives import adjoint
from airshed.process import Process, flux, update

from .layered import CELLS, LAYERS, WATER, WEATHER, Drainage, Growth, Infiltration, Use, fields, model, points


def flat_names(name: str) -> list[str]:
    return [f"{name}_{number}" for number in range(1, LAYERS + 1)]


def test_a_field_with_an_axis_is_a_field_for_each_element() -> None:
    found = points(Infiltration, Drainage)
    assert found.outputs == (*flat_names("water"), *flat_names("taken"), "drained", "leached")
    assert [each.name for each in found.fields.state] == [*flat_names("water"), "leached"]
    water = found.fields.state[1]
    assert (water.text, water.dims, water.valid) == ("Water of layer 2", ("point",), (0.0, 1e4))
    assert [each.name for each in found.fluxes] == [*flat_names("taken"), "drained"]
    assert {each.dims for each in found.fluxes} == {("point",)}


def test_loops_over_the_axis_are_unrolled() -> None:
    random = np.random.default_rng(1)
    water, capacity, uptake = (random.uniform(0.0, 50.0, (LAYERS, CELLS)) for _ in range(3))
    step = points(Infiltration, Drainage)
    values = step.split({"water": water, "capacity": capacity, "uptake": uptake, "rain": 12.0, "leached": 1.0})
    assert set(values) == {
        *flat_names("water"), *flat_names("capacity"), *flat_names("uptake"), "rain", "leached",
    }  # fmt: skip
    found = step.reference(values)
    water[0] += 12.0
    taken = np.minimum(uptake, water)
    water, inflow = water - taken, 0.0
    for layer in range(LAYERS):
        total = water[layer] + inflow
        inflow = np.maximum(total - capacity[layer], 0.0)
        np.testing.assert_array_equal(found[f"water_{layer + 1}"], total - inflow)
        np.testing.assert_array_equal(found[f"taken_{layer + 1}"], taken[layer])
    np.testing.assert_array_equal(found["leached"], 1.0 + inflow)


def test_the_size_of_the_axis_is_that_of_the_model() -> None:
    assert points(Infiltration, Drainage, layers=7).outputs[6] == "water_7"


def test_fluxes_of_a_process_that_is_off_are_zero_along_the_axis() -> None:
    step = points(Infiltration, Drainage, Growth, Use)
    assert str(step.formulas.outputs[-1]) == f"{points(Infiltration, Drainage).formulas.outputs[-1]} + 0.0"
    assert "roots_3" in points(Infiltration, Drainage, Growth, Use, growth={"on": True}).outputs


def test_the_adjoint_has_a_field_for_each_element() -> None:
    found = adjoint(points(Infiltration, Drainage), ["drained"])
    assert {f"{name}_adjoint" for name in (*flat_names("water"), *flat_names("capacity"))} <= set(found.results)
    assert {"rain_adjoint", *(f"{name}_adjoint" for name in flat_names("uptake"))} <= set(found.summed)


def test_a_run_has_the_elements_as_fields_and_a_restart_keeps_them() -> None:
    """Values of the start may be arrays along the axis; the compiled step has the values of the reference."""
    first, second = model(), model()
    np.testing.assert_array_equal([first.state[name] for name in flat_names("water")], WATER)
    start = {name: first.state[name].copy() for name in (*flat_names("water"), "leached")}
    expected = first.points.reference({**start, **WEATHER, **dict.fromkeys(flat_names("capacity"), 20.0)})
    first.step_through([1.0])
    for name, value in expected.items():
        np.testing.assert_array_equal(first.view(name), value)
    assert list(first.fields)[:4] == [*flat_names("water"), "leached"]
    second.restore(first.save().copied())
    np.testing.assert_array_equal(second.view("water_2"), first.view("water_2"))
    first.close()
    second.close()


WRONG = [
    (("water",), lambda water: water[:2], "water has 3 elements, but the function returns 2"),
    (("water",), lambda water: water + water[:2], "combines arrays of 2 and 3 elements"),
    (("water",), lambda water: water[5], "list index out of range"),
    (("leached",), lambda water: water, "a formula has a TracedArray where a number is expected"),
    (("water",), lambda water: np.sum(water), "cannot have sum"),
    (("water",), lambda water: water if water else 0.0, "write where"),
    (("water",), lambda leached: leached[0], "takes an element of a value that has no axis"),
    (("water", "leached"), lambda water: water, "returns 1 value, but must return water, leached"),
    (("water",), lambda water: np.sum(water[0:2]), "cannot have sum; write a loop over the elements"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "function", "message"), WRONG, ids=[message[:30] for *_, message in WRONG])
def test_a_function_that_does_not_fit_the_axis_is_refused(names, function, message: str) -> None:
    with pytest.raises(CaseError, match=rf"process Wrong: acts\(\).*{message}"):
        points(type("Wrong", (Process,), {"acts": update(*names)(function)}))


def test_names_of_elements_are_names_of_fields() -> None:
    other = type("Other", (Process,), {"water_2": flux("mm", "The same."), "acts": update("water_2")(lambda water: 0)})
    with pytest.raises(CaseError, match="water_2 is a field of the model and a flux of Other; rename one"):
        points(other)
    with pytest.raises(CaseError, match="water has 3 elements along its axis, but 2 values"):
        fields(LAYERS).split({"water": np.zeros((2, CELLS))})

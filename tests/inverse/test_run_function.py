"""A run as a function: its adjoint compared with differences, its fields with a plain run, and invalid input."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.core.errors import AirshedError, CaseError
from airshed.inverse.function.run_function import Key, RunFunction, requested_inputs, with_separate_countries

from .small import FASTER, small

pytestmark = pytest.mark.compiles

SPECIES = ["O3", "NO", "NO2", "VOC", "RO2", "HNO3"]
OUTPUTS = {"O3": ["30 min", "1 h"], "NO": "1 h"}
INPUTS: dict[str, Any] = {
    "factors": {"NO": ["NO"], "cells": {"species": ["NO2", "NO"], "resolution": "cell", "parts_of_day": 24}},
    "initial": SPECIES, "boundary": ["O3", "NO2"], "top": "O3", "rates": FASTER,
}  # fmt: skip

Values = dict[Any, np.ndarray]


@pytest.fixture(scope="module")
def function(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFunction]:
    made = RunFunction(small(tmp_path_factory.mktemp("small")), OUTPUTS, INPUTS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def point(function: RunFunction) -> Values:
    """Return inputs other than those of the case: limiters are not differentiable in uniform air."""
    random = np.random.default_rng(0)
    return {key: value * (1.0 + 0.2 * random.random(value.shape)) for key, value in function.own.items()}


@pytest.fixture(scope="module")
def weights(function: RunFunction) -> Values:
    random = np.random.default_rng(1)
    return {name: random.standard_normal(shape) for name, shape in function.shapes.items()}


def along(function: RunFunction, point: Values, weights: Values, key: Key) -> tuple[float, np.ndarray]:
    """Return the derivative of the weighted fields along a direction of one input by differences, and the direction."""
    way = np.random.default_rng(2).standard_normal(point[key].shape) * point[key]

    def value(size: float) -> float:
        fields = function({**point, key: point[key] + size * way})
        return float(sum(np.sum(weights[name] * fields[name]) for name in fields))

    step = 1e-6
    near, far = value(step) - value(-step), value(2.0 * step) - value(-2.0 * step)
    return (8.0 * near - far) / (12.0 * step), way


KEYS = [
    ("factors", "NO"), ("factors", "cells"), ("initial", "VOC"), ("boundary", "NO2"), ("boundary", "O3"),
    ("rates", "R1"), ("rates", "R3"),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
def test_adjoints_agree_with_differences(
    function: RunFunction, point: Values, weights: Values, key: Key
) -> None:  # fmt: skip
    expected, way = along(function, point, weights, key)
    assert float(np.sum(function.vjp(point, weights)[key] * way)) == pytest.approx(expected, rel=1e-5)


def test_lost_cotangents_of_a_time_are_detected(
    function: RunFunction, point: Values, weights: Values
) -> None:  # fmt: skip
    expected, way = along(function, point, weights, KEYS[0])
    lost = {**weights, "O3": weights["O3"] * np.array([0.0, 1.0])[:, None, None, None]}
    assert float(np.sum(function.vjp(point, lost)[KEYS[0]] * way)) != pytest.approx(expected, rel=1e-2)


def test_air_from_above_has_an_effect_where_air_descends(tmp_path: Path) -> None:
    faster = ("lon", np.array([2.0, 6.0]))  # air diverges and descends
    mixing = {"atmosphere_heat_diffusivity": 8.0, "precipitation_flux": 0.0, "air_temperature": 288.0}
    winds = xr.Dataset({"eastward_wind": faster, "northward_wind": 0.0, **mixing}, {"lon": [7.0, 8.2]})
    made = RunFunction(small(tmp_path), {"O3": "1 h"}, {"top": "O3"}, meteorology=winds)
    at, ones = np.asarray(1e-7), {"O3": np.ones((1, 3, 5, 6))}
    above, below = (made({("top", "O3"): at + change})["O3"].sum() for change in (1e-10, -1e-10))
    found = float(made.vjp({("top", "O3"): at}, ones)["top", "O3"])
    made.close()
    assert found > 1.0
    assert found == pytest.approx((above - below) / 2e-10, rel=1e-5)


def test_the_run_with_the_inputs_of_the_case_is_the_plain_run(function: RunFunction, tmp_path: Path) -> None:
    with airshed.Simulation(small(tmp_path)) as simulation:
        simulation.run()
        plain = simulation["O3"].values
    with_rates = function({})["O3"][-1]
    assert with_rates == pytest.approx(plain, rel=1e-12)
    made = RunFunction(small(tmp_path), OUTPUTS, {kind: INPUTS[kind] for kind in INPUTS if kind != "rates"})
    found = made({})["O3"]
    made.close()
    assert np.array_equal(found[-1], plain)
    assert not np.array_equal(found[0], plain)


def test_repeated_backward_passes_have_the_same_bits(
    function: RunFunction, point: Values, weights: Values
) -> None:  # fmt: skip
    function(point)
    first, second = function.vjp(point, weights), function.vjp(point, weights)
    function({})
    third = function.vjp(point, weights)
    twice = function.vjp(point, {name: 2.0 * each for name, each in weights.items()})
    for key, value in first.items():
        assert np.array_equal(second[key], value)
        assert np.array_equal(third[key], value)
        assert twice[key] == pytest.approx(2.0 * value, rel=1e-12, abs=0)


def test_factors_act_on_their_part_only(function: RunFunction) -> None:
    plain, more = function({}), function({("factors", "NO"): np.asarray(2.0)})
    assert more["NO"].sum() > 1.01 * plain["NO"].sum()
    late = np.ones((24, 5, 6))
    late[11:] = 3.0  # the case ends at 11 h UTC
    assert np.array_equal(function({("factors", "cells"): late})["NO"], plain["NO"])


@pytest.mark.parametrize(
    ("outputs", "inputs", "words"),
    [
        ({}, INPUTS, "outputs: give species with their times"),
        ({"O4": "1 h"}, INPUTS, "outputs: 'O4' is not a species; "),
        ({"O3": "2 h"}, INPUTS, "outputs O3 = '2 h': give ascending times within the case, 0 to 1 h"),
        ({"O3": ["1 h", "30 min"]}, INPUTS, "give ascending times"),
        ({"O3": 0.0}, INPUTS, "give a later time"),
        ({"O3": "1 km"}, INPUTS, "outputs O3"),
        (OUTPUTS, {}, "no input is given; choose from factors, initial, boundary, top, rates"),
        (OUTPUTS, {"factor": {}}, "inputs: 'factor' is not a kind of input; did you mean factors"),
        (OUTPUTS, {"factors": ["NO"]}, "give a table of factors by their names"),
        (OUTPUTS, {"factors": {"a": {"specie": ["NO"]}}}, "'specie' is not a setting; did you mean species"),
        (OUTPUTS, {"factors": {"a": {"species": ["NO"], "resolution": "county"}}}, "inputs factors a"),
        (OUTPUTS, {"factors": {"a": ["O3"]}}, "the control a acts on O3, which no source of this case emits"),
        (OUTPUTS, {"factors": {"a": {"species": ["NO"], "regions": ["DE"]}}}, "'DE' in regions has no emission here"),
        (OUTPUTS, {"initial": ["O3", "O3"]}, "give names, each of them once"),
        (OUTPUTS, {"boundary": "O4"}, "inputs boundary: 'O4' is not a species of the mechanism"),
        (OUTPUTS, {"rates": "R9"}, "'R9' is not a reaction; known are R1, R2"),
    ],
)
def test_invalid_requests_are_refused_in_a_line(
    tmp_path: Path, outputs: dict[str, Any], inputs: dict[str, Any], words: str
) -> None:
    with pytest.raises(AirshedError) as told:
        RunFunction(small(tmp_path), outputs, inputs)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (("factors", "NOx"), 1.0, "'NOx' is not an input factors of this run; did you mean NO"),
        (("factors", "NO"), [1.0], r"input factors NO has the shape (1,); it must be ()"),
        (("factors", "NO"), np.nan, "input factors NO has values that are not finite"),
        (("initial", "O3"), np.full((3, 5, 6), -1e-9), "input initial O3 has mixing ratios below 0"),
        (("rates", "R1"), 0.0, "input rates R1: the factor is 0; it must be above 0"),
    ],
)
def test_invalid_values_are_refused_and_the_next_run_is_valid(
    function: RunFunction, key: Key, value: Any, words: str
) -> None:
    before = function({})["O3"]
    with pytest.raises(CaseError) as told:
        function({key: np.asarray(value)})
    assert words in str(told.value)
    assert np.array_equal(function({})["O3"], before)


def test_a_run_that_was_closed_is_refused(tmp_path: Path) -> None:
    made = RunFunction(small(tmp_path), OUTPUTS, {"top": "O3"})
    made.close()
    with pytest.raises(CaseError, match="this run is closed; create a new one"):
        made({})


def test_an_inventory_separates_countries_where_a_factor_acts_on_some(tmp_path: Path) -> None:
    some, all_of_them = ({"factors": {"a": {"species": ["NO"], **more}}} for more in ({"regions": ["DE"]}, {}))
    case = small(tmp_path)
    assert with_separate_countries(case, requested_inputs(some)[0]).assimilation.separates_countries
    assert with_separate_countries(case, requested_inputs(all_of_them)[0]) is case


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_without_the_framework_a_line_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"airshed.inverse.{name}", raising=False)
    with pytest.raises(CaseError, match=rf'airshed.inverse.{name} needs .*: pip install "airshed\[{name}\]"$'):
        importlib.import_module(f"airshed.inverse.{name}")

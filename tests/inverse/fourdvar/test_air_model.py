"""The air-quality model with controls: the gradient of the cost is the derivative of the computed cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import CaseError, NumericalError
from airshed.inverse.fourdvar import Domain, ObservationOperator, SampledFieldModel
from airshed.inverse.fourdvar.air_model import AirFieldModel
from airshed.inverse.fourdvar.cost import Cost
from airshed.inverse.fourdvar.study import control_vector
from airshed.inverse.function import inputs
from airshed.runtime.simulation import Simulation

from .air_cases import CONTROLS, case, observations

TIMES = np.arange(0.0, 5401.0, 600.0)


@contextmanager
def cost_of(folder: Path, **sections: Any) -> Iterator[tuple[Cost, AirFieldModel]]:
    given, seen = case(folder, **sections), observations()
    with Simulation(given) as simulation:
        model = AirFieldModel(simulation, TIMES.tolist(), ("NO2", "O3"))
        domain = Domain(simulation.model.grid, TIMES, ("NO2", "O3"), {})
        yield (
            Cost(SampledFieldModel(model, ObservationOperator(seen, domain)), control_vector(given, domain.grid), seen),
            model,
        )
        model.close()


def error_of_gradient(cost: Cost, seed: int, step: float = 1e-4) -> float:
    """Return the difference between w.grad J and central differences, relative to the sum of the sizes of its terms."""
    random = np.random.default_rng(seed)
    v, w = 0.3 * random.standard_normal(cost.control.size), random.standard_normal(cost.control.size)
    found = cost(v).gradient * w
    expected = (cost(v + step * w).cost - cost(v - step * w).cost) / (2.0 * step)
    return abs(expected - float(found.sum())) / float(np.linalg.norm(found))


def test_the_gradient_of_the_whole_cost(tmp_path: Path) -> None:
    with cost_of(tmp_path) as (cost, _):
        assert max(error_of_gradient(cost, seed) for seed in range(2)) < 1e-6


def test_taylor_of_each_control_is_of_second_order(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    with cost_of(tmp_path) as (cost, _):
        v = 0.3 * random.standard_normal(cost.control.size)
        here = cost(v)
        for block in cost.control.blocks:
            way = {each.name: np.zeros(each.shape) for each in cost.control.blocks}
            way[block.name] = random.standard_normal(block.shape)
            w, steps = cost.control.join(way), [4e-4, 2e-4, 1e-4]
            rests = [abs(cost(v + e * w).cost - here.cost - e * float(here.gradient @ w)) for e in steps]
            orders = np.log2(np.array(rests[:-1]) / rests[1:])
            assert np.abs(orders - 2.0).max() < 0.05, (block.name, orders)


def test_a_gradient_without_a_factor_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the other factors on the same emission are omitted."""
    monkeypatch.setattr(inputs, "prod", lambda factors: 1.0)
    with cost_of(tmp_path) as (cost, _):
        assert error_of_gradient(cost, 0) > 1e-3


def test_a_second_backward_pass_and_another_run_have_the_same_bits(tmp_path: Path) -> None:
    with cost_of(tmp_path) as (cost, _):
        v = 0.1 * np.ones(cost.control.size)
        controls = cost.control.controls(v)
        simulated, pullback = cost.model.value_and_gradient(controls)
        first, second = pullback(np.ones(len(simulated))), pullback(np.ones(len(simulated)))
        cost(-v)
        again, pullback = cost.model.value_and_gradient(controls)
        third = pullback(np.ones(len(simulated)))
        assert np.array_equal(simulated, again)
        assert all(np.array_equal(first[name], each[name]) for each in (second, third) for name in first)


def test_factors_of_one_change_nothing_and_a_factor_scales_its_part_alone(tmp_path: Path) -> None:
    with cost_of(tmp_path) as (cost, model):
        factors: Any = model._runs._inputs["emission"]
        plain = [np.array(each._parts[0].source.rate(3600.0)) for each in factors._sources]
        controls = {block.name: np.ones(block.shape) for block in cost.control.blocks}
        factors._factors.controls = controls
        for source, rate in zip(factors._sources, plain, strict=True):
            np.testing.assert_array_equal(source.rate(3600.0), rate)
        controls["hours"][11] = 2.0  # 10:20 + 1 h
        controls["cells"][0, 1, 1] = 3.0
        points, areas = factors._sources
        np.testing.assert_array_equal(points.rate(3600.0), 2.0 * plain[0])
        np.testing.assert_array_equal(points.rate(0.0), plain[0])
        expected = 2.0 * plain[1]
        expected[0, :, 1, 1] *= 3.0
        np.testing.assert_array_equal(areas.rate(3600.0), expected)


def test_a_failed_run_has_infinite_cost_and_the_next_one_is_valid(tmp_path: Path) -> None:
    def fail(part: str, done: float) -> None:
        if done > 0.5:
            raise NumericalError("a mixing ratio is not finite")

    with cost_of(tmp_path) as (cost, model):
        v, progress = np.zeros(cost.control.size), model._runs.progress
        before = cost(v)
        model._runs.progress = fail
        assert cost(v).cost == np.inf
        model._runs.progress = progress
        after = cost(v)
        assert after.cost == before.cost
        assert np.array_equal(after.gradient, before.gradient)


def test_controls_without_effect_are_refused(tmp_path: Path) -> None:
    observed = {"stations": ["a.csv"], "species": ["NO2"]}
    for control, message in (
        ({"name": "x", "species": ["O3"]}, "the control x acts on O3, which no source of this case emits"),
        ({"name": "x", "species": ["NO"], "regions": ["DE"]}, "'DE' in regions has no emission here"),
    ):
        section = {"scheme": "4dvar", "observations": observed, "control": [*CONTROLS, control]}
        with pytest.raises(CaseError, match=message), cost_of(tmp_path, assimilation=section):
            pass

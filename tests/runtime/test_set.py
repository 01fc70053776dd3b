"""Changes of a simulation by a patch: fields in place, settings by a rebuilt model, all or none of them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.core.errors import CaseError
from airshed.runtime.registry import load_case

pytestmark = pytest.mark.standard

CASE = "tracer-rotation"


@pytest.fixture
def simulation() -> Iterator[airshed.Simulation]:
    with airshed.Simulation(load_case(CASE, {"run.threads": 1})) as made:
        made.step()
        yield made


def test_a_field_is_set_in_place_and_a_setting_rebuilds_the_model(simulation: airshed.Simulation) -> None:
    model, before = simulation.model, simulation.values("TRACER")
    simulation.set({"TRACER2": 2e-9})
    assert simulation.model is model
    assert np.allclose(simulation.values("TRACER2"), 2e-9)
    simulation.set({"emissions.point.0.rate": "3 mol/s", "time.courant": 0.3, "TRACER2": "5 ppb"})
    assert simulation.model is not model
    assert np.array_equal(simulation.values("TRACER"), before)
    assert np.allclose(simulation.values("TRACER2"), 5e-9)
    assert (simulation.case.emissions.point[0].rate.text, simulation.case.time.courant) == ("3 mol/s", 0.3)
    assert simulation.step().step == 2
    assert simulation.effect("TRACER2") == "in place"
    assert simulation.effect("emissions.point.0.rate") == "rebuild"
    assert simulation.effect("grid.spacing") == "fixed"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"TRACER2": 3e-9, "TRACER": -1.0}, "TRACER cannot be -1.0"),
        ({"TRACER2": 3e-9, "transport.diffusion": "maybe"}, "transport.diffusion must be true or false"),
        ({"emissions.point.0.rate": "2 mol/s", "TRACER": -1.0}, "TRACER cannot be -1.0"),
        ({"TRACER2": 3e-9, "grid.spacing": "1 deg"}, "grid.spacing cannot change while the model runs"),
        ({"TRACER2": 3e-9, "air_density": 1.0}, "air_density cannot be set while the model runs"),
    ],
)
def test_a_patch_with_a_wrong_value_changes_nothing(
    simulation: airshed.Simulation, changes: dict[str, object], message: str
) -> None:
    model, before = simulation.model, simulation.snapshot()
    with pytest.raises(CaseError, match=message):
        simulation.set(changes)
    assert simulation.model is model
    after = simulation.snapshot()
    assert all(np.array_equal(after.tiled[name], array) for name, array in before.tiled.items())
    assert after.metadata == before.metadata


def test_a_setting_cannot_change_where_output_is_written(tmp_path: Path) -> None:
    with airshed.Simulation(load_case(CASE, {"run.threads": 1}), output=tmp_path / "run") as simulation:
        assert simulation.effect("transport.diffusion") == "fixed"
        with pytest.raises(CaseError, match="while output is written"):
            simulation.set({"transport.diffusion": False})
        simulation.set({"TRACER2": 2e-9})

"""Steering of pasture: stocking, weather and biomass change, fires are lit; budgets close, replays have equal bits."""

from collections.abc import Iterator

import numpy as np
import pytest

import airshed
from airshed.serve.client import Remote, ServerError
from airshed.serve.protocol.types import Paint

BURNT = {"window": (20, 40, 20, 40), "operation": "multiply"}


@pytest.fixture(scope="module")
def queensland(serve) -> Iterator[Remote]:
    with airshed.connect(serve("queensland", "run.threads=1").url) as client:
        yield client


@pytest.fixture
def pasture(queensland: Remote) -> Remote:
    queensland.restart()
    queensland.step(30)
    return queensland


def residuals(remote: Remote) -> list[float]:
    """Return the greatest relative residual of each balance."""
    notes = [each.note for each in remote.summary().tables if each.title.startswith("Balance of")]
    return [float(note.rpartition(": ")[2].split()[0]) for note in notes]


def test_info_says_what_there_is(pasture: Remote) -> None:
    info = pasture.info()
    groups = {each.name: each.group for each in info.variables}
    assert (groups["green_leaf"], groups["rain"], groups["growth"]) == ("state", "weather", "flux")
    assert groups["grazing_stocking_rate"] == "grazing"
    assert {"fire", "growth", "grazing", "balance"} <= set(info.processes)
    assert info.species == []
    paintable = {each.name for each in info.variables if each.paintable}
    assert {"green_leaf", "water_1", "litter", "rain"} <= paintable
    assert not {"growth", "rain_total", "standing_dry_matter"} & paintable
    assert {each.unit for each in info.variables if each.name == "green_leaf"} == {"kg ha-1"}


def test_fields_stay_within_their_ranges(pasture: Remote) -> None:
    variables = pasture.info().variables
    assert [each.name for each in variables if each.valid is None] == []
    assert {each.name: each.valid for each in variables}["rain"] == (0.0, 1200.0)
    assert {each.name for each in variables if each.settable and None in each.valid} == {"grazing_stocking_rate"}
    for each in (each for each in variables if each.dims):
        low, high = each.valid
        values = pasture.values(each.name)
        assert low is None or np.nanmin(values) >= low, each.name
        assert high is None or np.nanmax(values) <= high * (1.0 + 1e-6), each.name


def test_biomass_is_burnt_by_painting_and_balances_close(pasture: Remote) -> None:
    before = pasture["green_leaf"].values
    for name in ("green_leaf", "green_stem", "dead_leaf", "dead_stem"):
        pasture.command(Paint(variable=name, value=0.1, **BURNT))
    pasture.command(Paint(variable="water_1", value=5.0, **{**BURNT, "operation": "add"}))
    after = pasture["green_leaf"].values
    assert np.allclose(after[20:40, 20:40], 0.1 * before[20:40, 20:40], rtol=1e-6, equal_nan=True)
    assert np.array_equal(after[:20], before[:20], equal_nan=True)
    name = pasture.snapshot()
    pasture.step(20)
    assert len(residuals(pasture)) == 2
    assert max(residuals(pasture)) < 1e-10
    assert pasture.replay().equal
    later = pasture["standing_dry_matter"].values
    pasture.restore(name)
    pasture.step(20)
    assert np.array_equal(pasture["standing_dry_matter"].values, later, equal_nan=True)


@pytest.mark.thorough
def test_settings_change_after_something_was_painted(pasture: Remote) -> None:
    pasture.command(Paint(variable="rain", value=20.0, **{**BURNT, "operation": "set"}))
    pasture.command(Paint(variable="green_leaf", value=0.5, **BURNT))
    pasture.set({"grazing.eaten_share": 0.5})
    pasture.set({"grazing.stocking_rate": 0.4})
    pasture.step(5)
    assert np.nanmax(np.abs(pasture["rain"].values[20:40, 20:40] - 20.0)) < 1e-6
    with pasture.branch(None, {"grazing.on": False}) as branch:
        before = branch["eaten_total"].values
        branch.step(3)
        assert np.array_equal(branch["eaten_total"].values, before, equal_nan=True)
        assert "grazing" not in branch.info().processes
        branch.set({"grazing.on": True})
        assert {each.name: each.value for each in branch.info().variables}["grazing_stocking_rate"] == 0.4
        assert branch.replay().equal
        branch.end()
    pasture.step(3)
    assert np.nanmax(pasture["eaten"].values) > 0.0
    assert pasture.replay().equal


@pytest.mark.thorough
def test_a_fire_is_lit_on_a_day(pasture: Remote) -> None:
    day = str(np.datetime64(pasture.state.time[:10]) + 2)
    pasture.set({"events.fire.0.date": day})
    pasture.set({"events.fire.0.fraction": 0.8})
    assert pasture.info().values["events"]["fire"] == [{"date": day, "fraction": 0.8}]
    pasture.step(2)
    assert np.nanmax(pasture["burnt"].values) == 0.0
    pasture.step(1)
    assert np.nanmax(pasture["burnt"].values) > 0.0
    assert np.nanmax(pasture["burnt_fraction"].values) == np.float32(0.8)
    assert pasture.replay().equal


def test_invalid_settings_are_refused_and_change_nothing(pasture: Remote) -> None:
    for name, value, message in (
        ("green_leaf", -1.0, r"green_leaf cannot be -1.0; give numbers between 0 and 1e\+06"),
        ("rain", -30.0, "rain cannot be -30.0; give numbers between 0 and 1200"),
        ("grazing.stocking_rate", -1.0, "grazing_stocking_rate"),
        ("grazing.stocking_rate", "3 kg", "grazing_stocking_rate"),
        ("growth", 1.0, "cannot be set"),
        ("litter.rate", 2.0, "litter.rate"),
        ("events.fire.0.fraction", 0.5, "date"),
        ("events.fire.7.date", "09-01", "no item 7"),
        ("inputs.folder", "other", "cannot change"),
    ):
        with pytest.raises(ServerError, match=message):
            pasture.set({name: value})
    pasture.step(1)
    assert pasture.replay().equal

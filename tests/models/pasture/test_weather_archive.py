"""Checks of the station files of Queensland in shared/data/qld_stations, if the folder exists.

Their licence does not allow them to be shipped. `AIRSHED_SHARED` replaces the folder `shared` next to the checkout.
"""

import os
from pathlib import Path

import pytest

from airshed.models.pasture.inputs.stations import inputs_from_stations, read_recipe_with_changes
from airshed.models.pasture.weather.checks import check
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import HUMIDITY, humidity_evidence

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("AIRSHED_SHARED") or ROOT.parent / "shared") / "data" / "qld_stations"
DECLARED = ROOT / "cases" / "queensland" / "apsim-stations.toml"
DEFICITS = {"qld_narayen_1957-1996.met", "qld_site67_brigalow_1957-1999.met"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no station files of Queensland (qld_stations)")


def files():
    return sorted(FOLDER.glob("*.met")) if FOLDER.is_dir() else []


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_humidity_is_recognised_for_any_label(path):
    station = read_met(path)
    for name in (name for name in HUMIDITY if name in station):
        evidence = humidity_evidence(station, name)
        truth = "vapour_pressure_deficit" if path.name in DEFICITS else "vapour_pressure"
        assert evidence is not None
        assert evidence.verdict == truth
        told = [each for each in check(station) if each.rule == "humidity"]
        assert len(told) == (name != truth)


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_files_are_accepted(path):
    assert [each for each in check(read_met(path)) if each.kind == "error"] == []


def test_inputs_from_all_declared_stations():
    prepared = inputs_from_stations(FOLDER, read_recipe_with_changes(FOLDER, DECLARED, {"spacing": 0.6}, "1995"))
    assert len(prepared.stations) == 11
    assert [each for each in prepared.problems if each.rule == "humidity"] == []

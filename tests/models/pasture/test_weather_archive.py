"""What checks say of the station files of Queensland in shared/data/qld_stations beside a checkout, if they are there.

They have no licence to ship. AIRSHED_SHARED names another folder than `shared` beside the checkout.
"""

import os
from pathlib import Path

import pytest

from airshed.models.pasture.inputs.stations import inputs_of_stations, recipe_of
from airshed.models.pasture.weather.checks import check
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import HUMIDITY, humidity_evidence

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("AIRSHED_SHARED") or ROOT.parent / "shared") / "data" / "qld_stations"
DECLARED = ROOT / "cases" / "queensland" / "apsim-stations.toml"
DEFICITS = {"qld_narayen_1957-1996.met", "qld_site67_brigalow_1957-1999.met"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="station files of Queensland are not there: qld_stations")


def files():
    return sorted(FOLDER.glob("*.met")) if FOLDER.is_dir() else []


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_its_humidity_is_told_whatever_the_label_says(path):
    station = read_met(path)
    for name in (name for name in HUMIDITY if name in station):
        evidence = humidity_evidence(station, name)
        truth = "vapour_pressure_deficit" if path.name in DEFICITS else "vapour_pressure"
        assert evidence is not None
        assert evidence.verdict == truth
        told = [each for each in check(station) if each.rule == "humidity"]
        assert len(told) == (name != truth)


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_no_sound_file_is_refused(path):
    assert [each for each in check(read_met(path)) if each.kind == "error"] == []


def test_inputs_are_made_of_all_as_they_are_declared():
    prepared = inputs_of_stations(FOLDER, recipe_of(FOLDER, DECLARED, {"spacing": 0.6}, "1995"))
    assert len(prepared.stations) == 11
    assert [each for each in prepared.findings if each.rule == "humidity"] == []

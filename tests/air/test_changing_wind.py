"""Steps follow a wind that drops slowly enough for the two-step formula: nothing is clipped in."""

from math import inf

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.air import model as air_model

LON, LAT = np.arange(80) * 0.1 + 0.05, np.arange(40) * 0.1 - 1.95
DROPS = {
    "within an hour": ([40.0, 2.0, 2.0, 2.0, 2.0], 3600.0),
    "within ten minutes": ([40.0, 40.0, 2.0, 2.0, 2.0], 600.0),
    "to calm": ([20.0, 20.0, 1.0, 1.0, 1.0, 1.0], 1800.0),
    "again and again": ([40.0, 2.0, 30.0, 1.0, 20.0, 5.0, 5.0], 600.0),
    "within a step": ([40.0, 2.0, *[2.0] * 60], 52.0),
    "within two steps": ([40.0, 40.0, 2.0, *[2.0] * 40], 120.0),
    "to nothing": ([40.0, 40.0, 0.0, *[0.0] * 60], 80.0),
    "to nothing from little": ([20.0, 20.0, 0.0, *[0.0] * 60], 80.0),
}


def clipped(monkeypatch, speeds, every):
    """What clipping adds to a disc, as a share of it, and the greatest ratio of steps in the formula."""
    times = np.datetime64("2022-01-01T00:00:00", "ns") + np.arange(len(speeds)) * np.timedelta64(int(every), "s")
    speeds = np.array(speeds)
    winds = xr.Dataset(
        {"eastward_wind": ("time", 0.92 * speeds), "northward_wind": ("time", 0.39 * speeds)}, coords={"time": times}
    )
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 8], "lat": [-2, 2]}, "spacing": "0.1 deg", "layers": ["500 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": f"{every * (len(speeds) - 1)} s"},
        "chemistry": {"mechanism": "tracer"}, "transport": {"diffusion": False}, "deposition": {"scheme": "none"},
        "run": {"threads": 1}, "output": [{"fields": ["TRACER"], "every": "4 h"}],
    })  # fmt: skip
    disc = 1e-9 * (np.hypot(LON - 2.0, LAT[:, None]) < 0.5)
    ratios = []
    with airshed.Simulation(
        case, winds, xr.Dataset({"TRACER": (("lat", "lon"), disc)}, {"lat": LAT, "lon": LON})
    ) as sim:
        amount = float(sim.model.amounts()[0])
        weights = air_model.two_step_weights

        def watched(step, previous, *, anew=False):
            ratios.append(1.0 if previous is None or anew else step / previous)
            return weights(step, previous, anew=anew)

        monkeypatch.setattr(air_model, "two_step_weights", watched)
        sim.run()
        share = float(sim.budget()["clipped"].sel(species="TRACER")) / amount
    return share, max(ratios)


@pytest.mark.parametrize("drop", DROPS)
def test_a_wind_that_drops_clips_nothing(drop, monkeypatch):
    share, ratio = clipped(monkeypatch, *DROPS[drop])
    assert share <= 1e-7
    assert ratio <= air_model.GROWTH * (1.0 + 1e-9)


def test_steps_that_follow_the_wind_at_once_clip_much(monkeypatch):
    """The negative control."""
    monkeypatch.setattr(air_model, "GROWTH", inf)
    share, ratio = clipped(monkeypatch, *DROPS["within ten minutes"])
    assert ratio > 5.0
    assert share > 0.01

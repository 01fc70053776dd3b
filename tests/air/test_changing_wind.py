"""Steps follow a wind that drops slowly enough for the two-step formula: nothing is clipped in."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.process import twostep

LON, LAT = np.arange(80) * 0.1 + 0.05, np.arange(40) * 0.1 - 1.95
DROPS = {
    "within an hour": ([40.0, 2.0, 2.0, 2.0, 2.0], 3600.0),
    "within ten minutes": ([40.0, 40.0, 2.0, 2.0, 2.0], 600.0),
    "to calm": ([20.0, 20.0, 1.0, 1.0, 1.0, 1.0], 1800.0),
    "again and again": ([40.0, 2.0, 30.0, 1.0, 20.0, 5.0, 5.0], 600.0),
}


def clipped(speeds, every):
    """What clipping adds to a disc, as a share of it, and the greatest ratio of a step to the one before."""
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
    lengths = []
    with airshed.Simulation(
        case, winds, xr.Dataset({"TRACER": (("lat", "lon"), disc)}, {"lat": LAT, "lon": LON})
    ) as sim:
        amount = float(sim.model.amounts()[0])
        sim.run(observer=lambda info: lengths.append(info.dt))
        share = float(sim.budget()["clipped"].sel(species="TRACER")) / amount
    return share, max(after / before for before, after in pairwise(lengths))


@pytest.mark.parametrize("drop", DROPS)
def test_a_wind_that_drops_clips_nothing(drop):
    share, ratio = clipped(*DROPS[drop])
    assert share <= 1e-7
    assert ratio <= twostep.GROWTH * (1.0 + 1e-9)


def test_steps_that_follow_the_wind_at_once_clip_much(monkeypatch):
    """The negative control."""
    monkeypatch.setattr(twostep, "GROWTH", inf)
    share, ratio = clipped(*DROPS["within ten minutes"])
    assert ratio > 5.0
    assert share > 0.01

"""Steps follow a wind that drops slowly enough for the two-step formula: nothing is clipped in."""

from math import inf

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.models.air.programs import two_step

LON, LAT = np.arange(80) * 0.1 + 0.05, np.arange(40) * 0.1 - 1.95
DROPS = {  # times [s], and speeds [m/s] between which the wind is linear
    "within an hour": ([0, 3600, 14400], [40.0, 2.0, 2.0]),
    "within ten minutes": ([0, 600, 1200, 2400], [40.0, 40.0, 2.0, 2.0]),
    "within half an hour": ([0, 1800, 3600, 9000], [20.0, 20.0, 1.0, 1.0]),
    "again and again": ([0, 600, 1200, 1800, 2400, 3000, 3600], [40.0, 2.0, 30.0, 1.0, 20.0, 5.0, 5.0]),
    "within two minutes": ([0, 1800, 1920, 3720], [40.0, 40.0, 2.0, 2.0]),
    "within a step": ([0, 1800, 1880, 3680], [20.0, 20.0, 0.0, 0.0]),
    "within the first step": ([0, 52, 1552], [40.0, 2.0, 2.0]),
}


def clipped(monkeypatch, seconds, speeds):
    """Return the mass that clipping adds to a disc, relative to the disc, and the largest step ratio of the formula."""
    times = np.datetime64("2022-01-01T00:00:00", "ns") + np.array(seconds) * np.timedelta64(1, "s")
    speeds = np.array(speeds)
    winds = xr.Dataset(
        {"eastward_wind": ("time", 0.92 * speeds), "northward_wind": ("time", 0.39 * speeds)}, coords={"time": times}
    )
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 8], "lat": [-2, 2]}, "spacing": "0.1 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-01-01T00:00:00Z", "length": f"{seconds[-1]} s"},
        "chemistry": {"mechanism": "tracer"}, "transport": {"diffusion": False}, "deposition": {"scheme": "none"},
        "run": {"threads": 1}, "output": [{"fields": ["TRACER"], "every": "4 h"}],
    })  # fmt: skip
    disc = 1e-9 * (np.hypot(LON - 2.0, LAT[:, None]) < 0.5)
    ratios = []
    with airshed.Simulation(
        case, winds, xr.Dataset({"TRACER": (("lat", "lon"), disc)}, {"lat": LAT, "lon": LON})
    ) as sim:
        amount = float(sim.model.amounts()[0])
        weights = two_step.two_step_weights

        def watched(step, previous, *, restart=False):
            ratios.append(1.0 if previous is None or restart else step / previous)
            return weights(step, previous, restart=restart)

        monkeypatch.setattr(two_step, "two_step_weights", watched)
        sim.run()
        share = float(sim.budget()["clipped"].sel(species="TRACER")) / amount
    return share, max(ratios)


@pytest.mark.parametrize("drop", DROPS)
def test_a_wind_that_drops_clips_nothing(drop, monkeypatch):
    share, ratio = clipped(monkeypatch, *DROPS[drop])
    assert share <= 1e-7
    assert ratio <= two_step.GROWTH * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("drop", "least"),
    [
        ("within ten minutes", 0.03),
        ("within half an hour", 0.05),
        ("within two minutes", 1e-4),
        ("within a step", 1e-4),
    ],
)
def test_steps_that_follow_the_wind_at_once_clip_much(drop, least, monkeypatch):
    """The negative control."""
    monkeypatch.setattr(two_step, "GROWTH", inf)
    share, ratio = clipped(monkeypatch, *DROPS[drop])
    assert ratio > 5.0
    assert share > least

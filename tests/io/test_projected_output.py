"""Output on a projected grid by several strategies: the same content, with the projection of each field."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from pyproj import CRS

import airshed
from airshed.grid.projected import projection

STRATEGIES = ("gather", "files", "zarr")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a step on a Lambert grid, with the same output by each strategy."""
    output = [{"name": each, "fields": ["TRACER"], "every": "5 min", "strategy": each} for each in STRATEGIES]
    case: dict[str, Any] = {
        "grid": {
            "projection": {"kind": "lambert", "lon": 8, "lat": 50, "parallels": [40, 60]},
            "area": {"x": ["-300 km", "240 km"], "y": ["-200 km", "220 km"]}, "spacing": "60 km",
            "layers": ["500 m", "1000 m"],
        },
        "time": {"start": "2022-06-01T00:00:00Z", "length": "5 min", "step": "300 s"},
        "chemistry": {"mechanism": "tracer"}, "transport": {"diffusion": False}, "deposition": {"scheme": "none"},
        "meteorology": {"kind": "uniform", "eastward": "5 m/s", "northward": "0 m/s"},
        "initial": {"values": {"TRACER": "1 ppb"}}, "output": output,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("projected") / "run"
    with airshed.Simulation(airshed.Case.from_dict(case), output=folder) as simulation:
        simulation.run()
    return folder


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_field_carries_its_projection(run: Path, strategy: str) -> None:
    with airshed.open_run(run, strategy) as found:
        field = found["TRACER"].load()
    assert field.dims == ("time", "level", "y", "x")
    named = {**field.attrs, **field.encoding}["grid_mapping"]
    expected = projection("lambert", 8.0, 50.0, (40.0, 60.0))
    x, y = np.meshgrid(field["x"], field["y"])
    assert CRS.from_cf(field.coords[named].attrs) == CRS.from_cf(dict(expected.parameters))
    np.testing.assert_allclose([field["lon"], field["lat"]], expected.to_lonlat(x, y))
    with airshed.open_run(run, "gather") as other:
        assert np.array_equal(field.values, other["TRACER"].values)


def test_xarray_alone_finds_the_projection(run: Path) -> None:
    with xr.open_dataset(run / "gather.nc", decode_coords="all") as found:
        assert found["TRACER"].encoding["grid_mapping"] == "projection"
        assert "projection" in found["TRACER"].coords

"""All formats of data: differences, coasts, pictures, netCDF, Zarr; on a grid, for packed cells, without a map."""

import json
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest
import xarray as xr
from PIL import Image

import airshed
from airshed.serve.client import Remote, ServerError
from airshed.serve.protocol.frames import frames


@pytest.fixture(scope="module")
def pasture(serve) -> Iterator[Remote]:
    with airshed.connect(serve("queensland", "run.threads=1").url) as client:
        client.step(40)
        yield client


def test_a_field_of_packed_cells_is_sent_as_a_map(pasture: Remote) -> None:
    info = pasture.info()
    assert (info.grid.kind, info.state.model) == ("packed", "pasture")
    green = next(each for each in info.variables if each.name == "green_leaf")
    assert green.dims == ["lat", "lon"]
    with airshed.Simulation("queensland") as simulation:
        while simulation.model.steps < 40:
            simulation.step(40 - simulation.model.steps)
        expected = simulation["green_leaf"]
    found = pasture["green_leaf"]
    assert found.shape == (info.grid.rows, info.grid.columns)
    assert int(np.isfinite(found.values).sum()) == expected.size
    place = {"lat": float(expected.lat[77]), "lon": float(expected.lon[77])}
    assert float(found.sel(place, method="nearest")) == np.float32(expected.values[77])
    assert int((pasture.image("green_leaf") == 255).sum()) == found.size - expected.size


def test_zarr_opens_in_xarray(pasture: Remote, remote: Remote) -> None:
    remote.step(2)
    with remote.open() as opened:
        assert np.array_equal(opened["TRACER"].values, remote["TRACER"].values)
        assert opened["TRACER"].attrs["units"] == "mol mol-1"
        assert np.array_equal(opened["lat"].values, remote["TRACER"].lat.values)
        assert str(opened["time"].values)[:19] == remote.state.time[:19]
    with pasture.open() as opened:
        assert np.array_equal(opened["green_leaf"].values, pasture["green_leaf"].values, equal_nan=True)
    for key in ("nothing/zarr.json", "TRACER/c/0/0/1", "TRACER", "..", "TRACER/c/0/0/0/0"):
        with pytest.raises(ServerError) as refused:
            remote._ask("GET", f"/zarr/{key}")
        assert refused.value.status == 404


def test_netcdf_holds_the_fields_and_the_log(remote: Remote) -> None:
    remote.step(2)
    remote.snapshot("noted")
    with xr.open_dataset(BytesIO(remote.netcdf("TRACER", "air_temperature")), engine="scipy") as file:
        assert np.array_equal(file["TRACER"].values, remote["TRACER"].values)
        assert "snapshot text=noted" in file.attrs["history"]
        assert file.attrs["title"] == "A plume in turning air"


def test_netcdf_of_a_scenario_names_it(remote: Remote) -> None:
    def title() -> str:
        with xr.open_dataset(BytesIO(branch.netcdf("TRACER")), engine="scipy") as file:
            return str(file.attrs["title"])

    with remote.branch() as branch:
        assert title() == "A plume in turning air: Copy from 00:00"
        branch.rename("Road transport \N{MINUS SIGN}50 %, Köln")
        assert title() == "A plume in turning air: Road transport \N{MINUS SIGN}50 %, Köln"


def test_a_picture_is_drawn(pasture: Remote, remote: Remote) -> None:
    for client, name in ((pasture, "green_leaf"), (remote, "TRACER")):
        with Image.open(BytesIO(client.picture(name))) as picture:
            assert min(picture.size) > 300
    with pytest.raises(ServerError, match="no level 9"):
        remote.picture("TRACER", 9)


def test_a_branch_is_compared_with_its_trunk(remote: Remote) -> None:
    remote.step(2)
    with remote.branch() as branch:
        branch.step(5)
        difference = branch.difference(remote, "TRACER", level=0)
        expected = branch.values("TRACER", level=0) - remote.values("TRACER", level=0)
        assert np.array_equal(difference.values, expected)
        assert difference.header.less == "main"
        assert float(np.abs(expected).max()) > 0.0
        with Image.open(BytesIO(branch._ask("GET", "/png/TRACER?with=main"))) as picture:
            assert picture.format == "PNG"
        branch.end()


def test_coasts_and_cities_are_those_of_the_map(pasture: Remote) -> None:
    for which in ("land", "coast", "borders"):
        (found,) = frames(pasture._ask("GET", f"/geography/{which}"))
        assert found.header.shape[1] == 2
    (coast,) = frames(pasture._ask("GET", "/geography/coast"))
    lon, lat = coast.values.T
    assert np.nanmax(lon) > 145.0
    assert np.isnan(lon).any()
    assert np.nanmin(lat) < -20.0
    cities = json.loads(pasture._ask("GET", "/geography/cities"))
    assert {"Brisbane", "Townsville"} & {each["name"] for each in cities}

"""The interface of a simulation in a notebook: names of fields, datasets, files, maps, and short displays."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.runtime.test_run_folder import CASE

import airshed
from airshed.runtime import view

TITLE = {"title": "A small <case>"}


@pytest.fixture(scope="module")
def simulation() -> airshed.Simulation:
    made = airshed.Simulation(airshed.Case.from_dict({**CASE, **TITLE}))
    made["TRACER"] = "10 ppb"
    return made


def test_the_names_of_fields_are_a_tuple_and_a_table(simulation: airshed.Simulation) -> None:
    assert simulation.species == ("TRACER", "TRACER2")
    assert simulation.fields == tuple(simulation) == tuple(simulation.model.fields)
    assert len(simulation) == len(simulation.fields)
    assert "air_density" in simulation.fields
    assert "air_density" not in simulation.species
    lines = repr(simulation.species).splitlines()
    assert lines[0] == "2 fields"
    assert lines[1].split() == ["TRACER", "mol", "mol-1", "Mixing", "ratio", "of", "passive", "tracer"]
    assert len(repr(simulation.fields).splitlines()) <= 14
    assert "<td>level, lat, lon</td>" in simulation.species._repr_html_()


def test_a_simulation_is_shown_in_four_lines(simulation: airshed.Simulation) -> None:
    assert repr(simulation).splitlines() == [
        "<Simulation 'A small <case>'>",
        f"  model  air, {len(simulation)} fields",
        "  grid   4 x 4 x 2 cells (lon x lat x level)",
        "  time   2022-01-01 00:00:00 UTC, 0 h of 1 h",
    ]
    assert "<b>A small &lt;case&gt;</b>" in simulation._repr_html_()
    with airshed.Simulation(airshed.Case.from_dict(CASE)) as closed:
        assert "(closed)" not in repr(closed)
    assert "(closed)" in repr(closed)


def test_only_names_for_users_are_offered(simulation: airshed.Simulation) -> None:
    offered = dir(simulation)
    assert {"run", "step", "set", "fields", "species", "to_dataset", "to_netcdf", "plot", "budget"} <= set(offered)
    assert not [name for name in offered if name.startswith("_")]
    assert not {"begin", "end", "wall", "values", "has_map", "insert_before", "moves_planes"} & set(offered)
    assert all(hasattr(simulation, name) for name in offered)


def test_the_ground_is_the_lowest_layer_in_a_unit(simulation: airshed.Simulation) -> None:
    ground = simulation.ground("TRACER", unit="ppb")
    assert ground.dims == ("lat", "lon")
    assert np.allclose(ground, 10.0)
    assert ground.attrs["units"] == "ppb"
    assert simulation.ground("TRACER").equals(simulation["TRACER"].isel(level=0))
    assert simulation.ground("surface_pressure", unit="hPa").dims == ("lat", "lon")
    with pytest.raises(airshed.AirshedError, match="cannot be converted to hPa"):
        simulation.ground("TRACER", unit="hPa")
    with pytest.raises(airshed.AirshedError, match="did you mean TRACER"):
        simulation.ground("TRACE")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda sim: sim.fields["TRACER"], r"names: no values by 'TRACER'; sim\['TRACER'\] returns its values"),
        (lambda sim: sim.species["TRACE"], "names: no values by 'TRACE'; did you mean TRACER"),
        (lambda sim: sim["TRACER", "TRACER2"], r"one name; sim.to_dataset\(\['TRACER', 'TRACER2'\]\) returns several"),
        (lambda sim: sim[["TRACER", "TRACER2"]], "one name; sim.to_dataset"),
        (lambda sim: sim[0], "one name"),
        (
            lambda sim: sim.ground("TRACER", "furlong"),
            "'furlong' is not a unit that Airshed recognises; TRACER",
        ),
        (lambda sim: sim.ground("air_temperature", "Celcius"), "did you mean celsius"),
        (lambda sim: sim.ground("TRACER", "ppb ppb ppb/"), "is not a unit that Airshed recognises"),
        (lambda sim: sim.__setitem__("TRACER", 5), 'such as "5 ppb"'),
        (lambda sim: sim.set("TRACER"), "changes are a dictionary of values by names, not 'TRACER'"),
        (lambda sim: sim.plot("TRACER", path="a.jpg"), "a.jpg: the picture is a PNG; end the name in .png"),
    ],
)
def test_a_wrong_request_gets_the_right_one(
    simulation: airshed.Simulation, use: Callable[[airshed.Simulation], object], message: str
) -> None:
    with pytest.raises(airshed.AirshedError, match=message):
        use(simulation)


def test_a_mass_concentration_takes_the_density_of_the_model(
    simulation: airshed.Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(airshed.AirshedError, match="the molar mass of TRACER is not known"):
        simulation.ground("TRACER", unit="ug/m3")
    attributes = view._attributes
    monkeypatch.setattr(view, "_attributes", lambda spec: attributes(spec) | {"molar_mass": 0.048})
    expected = 10e-9 * simulation.ground("air_density") * 0.048 * 1e9
    assert np.allclose(simulation.ground("TRACER", unit="ug/m3"), expected)


def test_a_dataset_and_a_file_hold_the_present_values(simulation: airshed.Simulation, tmp_path: Path) -> None:
    dataset = simulation.to_dataset()
    assert tuple(dataset) == simulation.fields
    assert dataset["TRACER"].identical(simulation["TRACER"])
    assert dataset.attrs["title"] == "A small <case>"
    path = simulation.to_netcdf(tmp_path / "state.nc", ["TRACER", "air_density"])
    with xr.open_dataset(path) as found:
        assert set(found) == {"TRACER", "air_density"}
        assert np.array_equal(found["TRACER"], simulation["TRACER"])
        assert found["time"].values == simulation.time
        assert found.attrs["Conventions"].startswith("CF-")
    again = airshed.Simulation(simulation.case, initial=simulation.to_dataset(["TRACER"]))
    assert np.array_equal(again["TRACER"], simulation["TRACER"])


def test_a_dataset_of_unknown_fields_and_a_file_without_a_folder_are_refused(
    simulation: airshed.Simulation, tmp_path: Path
) -> None:
    with pytest.raises(airshed.AirshedError, match="did you mean TRACER2"):
        simulation.to_dataset(["TRACER", "TRACR2"])
    with pytest.raises(airshed.AirshedError, match="there is no such folder"):
        simulation.to_netcdf(tmp_path / "missing" / "state.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_map_is_a_picture(simulation: airshed.Simulation, tmp_path: Path) -> None:
    picture = simulation.plot("TRACER", path=tmp_path / "tracer.png")
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert (tmp_path / "tracer.png").read_bytes() == picture.png
    assert "A small <case>" in repr(picture)
    with pytest.raises(airshed.AirshedError, match="TRACER has no level 2; its levels are numbered 0 to 1"):
        simulation.plot("TRACER", level=2)
    with pytest.raises(airshed.AirshedError, match="there is no such folder"):
        picture.save(tmp_path / "missing" / "tracer.png")


def test_arrays_are_converted_by_their_accessor(simulation: airshed.Simulation) -> None:
    assert np.allclose(simulation["TRACER"].airshed.to("ppt"), 10_000.0)


def test_a_closed_simulation_refuses_the_same(tmp_path: Path) -> None:
    with airshed.Simulation(airshed.Case.from_dict(CASE)) as closed:
        pass
    for use in (
        lambda: closed.ground("TRACER"), closed.to_dataset, lambda: closed.to_netcdf(tmp_path / "a.nc"),
        lambda: closed.plot("TRACER"),
    ):  # fmt: skip
        with pytest.raises(airshed.AirshedError, match="was closed"):
            use()

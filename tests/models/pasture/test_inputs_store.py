"""Stored weather is read back for any days and cells, packed or as a grid; damage is reported."""

import shutil

import numpy as np
import pytest

from airshed.core.errors import CaseError, DataError, OutputError
from airshed.grid.box import Box
from airshed.models.pasture.inputs import open_inputs
from airshed.models.pasture.inputs.block import DAILY, PACKINGS
from airshed.models.pasture.inputs.store import FIELDS, MANIFEST, check_contents, new_store

from .inputs_small import NAMES, contents, save_small, small_grid, values_of


@pytest.fixture(scope="module", params=["land", "full"])
def stored(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "small.inputs"
    return path, save_small(path, layout=request.param)


def expected(values, name, days, cells, calendar):
    rows = np.arange(*days) if name in DAILY else calendar.week(np.arange(*days))
    return values[name][rows][:, slice(*cells)]


@pytest.mark.parametrize("days", [(0, 150), (0, 1), (149, 150), (40, 47), (63, 130)])
@pytest.mark.parametrize("cells", [(0, 40), (0, 1), (7, 8), (5, 31), (39, 40)])
def test_any_days_and_cells_are_read(stored, days, cells):
    path, values = stored
    inputs = open_inputs(path)
    weather = inputs.weather(Box((cells,)), days[0], days[1] - days[0])
    for name in NAMES:
        assert np.array_equal(weather[name], expected(values, name, days, cells, inputs.calendar)), name


def test_single_precision_is_that_of_the_stored_numbers(stored):
    path, values = stored
    rain = open_inputs(path).weather(Box(((0, 40),)), 0, 150, np.float32)["rain"]
    assert rain.dtype == np.float32
    assert np.array_equal(rain, np.rint(values["rain"] / 0.1).astype(np.float32) * np.float32(0.1))


def test_constant_fields_are_read(stored):
    path, _ = stored
    inputs, given = open_inputs(path), contents()
    assert np.array_equal(inputs.grid.mask, given.grid.mask)
    assert np.array_equal(inputs.grid.cell_lat, given.grid.cell_lat)
    assert np.array_equal(inputs.soil_class, given.maps["soil_class"])
    assert np.array_equal(inputs.tree_basal_area, given.maps["tree_basal_area"])
    assert np.array_equal(inputs.initial["litter"], given.initial["litter"])
    assert [len(inputs.land.soils), len(inputs.land.pastures)] == [2, 3]
    assert inputs.humidity == "vapour_pressure"
    assert inputs.attributes["source"] == "drawn at random"
    check_contents(path)


def test_a_day_has_its_date(stored):
    inputs = open_inputs(stored[0])
    weather = inputs.weather(Box(((0, 2),)), 41, 3)
    assert weather["day_of_year"].tolist() == [365.0, 1.0, 2.0]
    assert weather["month"].tolist() == [12.0, 1.0, 1.0]


def test_missing_days_are_refused(stored):
    inputs = open_inputs(stored[0])
    for first, days in ((-1, 2), (149, 2), (3, 0)):
        with pytest.raises(CaseError, match="has weather from 2019-11-20 to 2020-04-17"):
            inputs.weather(Box(((0, 2),)), first, days)


def test_xarray_reads_it_in_its_units(stored):
    xarray = pytest.importorskip("xarray")
    path, values = stored
    rain = xarray.open_zarr(path / FIELDS, consolidated=False)["rain"].values
    if rain.ndim == 3:
        rain = rain.reshape(150, -1)[:, small_grid().index]
    assert np.allclose(rain, values["rain"], rtol=0, atol=1e-5)


def test_a_failed_store_leaves_no_files(tmp_path):
    with pytest.raises(RuntimeError), new_store(tmp_path / "a", contents()):
        raise RuntimeError
    assert [*tmp_path.iterdir()] == []


def test_a_value_that_cannot_be_stored_is_refused(tmp_path):
    what = contents()
    values = values_of(what)["max_temperature"]
    values[2, 3] = 70.0
    message = r"max_temperature has the value 70 degC; stored values range from -10 to 53"
    with pytest.raises(DataError, match=message), new_store(tmp_path / "a", what) as store:
        store.put("max_temperature", 0, values)
    assert not (tmp_path / "a").exists()
    values[2, 3] = np.nan
    with pytest.raises(DataError, match="has the value nan"):
        PACKINGS["max_temperature"].packed(values, "it")


def test_existing_folders_and_stores_are_not_overwritten(tmp_path):
    save_small(tmp_path / "a")
    with pytest.raises(OutputError, match="exists already"):
        save_small(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("mine")
    with pytest.raises(OutputError, match="is not a pasture input"):
        save_small(tmp_path / "b")
    with new_store(tmp_path / "a", contents(), layout="full", replace=True):
        pass
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["a", "b"]


def files(path, pattern):
    return sorted(each for each in path.rglob(pattern) if each.is_file())


def damaged(path, tmp_path, what):
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    what(copy)
    return copy


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (shutil.rmtree, "there is no folder"),
        (lambda path: (path / MANIFEST).unlink(), "is not a pasture input"),
        (lambda path: (path / MANIFEST).write_text("{"), "manifest.json is damaged"),
        (lambda path: files(path / FIELDS / "rain", "0")[0].unlink(), "lacks its file fields.zarr/rain/c/0/0"),
        (lambda path: (path / "soils.json").unlink(), "lacks its file soils.json"),
        (lambda path: files(path / FIELDS / "rain", "0")[0].write_bytes(b"short"), "has 5 bytes of"),
        (
            lambda path: _swap(path / FIELDS / "zarr.json", b'"first_day"', b'"last_days"'),
            "its attributes cannot be read",
        ),
        (lambda path: _swap(path / "soils.json", b'"thickness"', b'"thicknxxs"'), "thicknxxs"),
        (lambda path: _swap(path / MANIFEST, b"inputs 1", b"inputs 0"), "this version reads"),
    ],
)
def test_missing_and_truncated_files_are_reported(tmp_path, what, message):
    save_small(tmp_path / "small")
    with pytest.raises((DataError, CaseError), match=message):
        assert open_inputs(damaged(tmp_path / "small", tmp_path, what)).land


def _swap(path, old, new):
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def _flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_each_damaged_byte_of_rain_is_found(tmp_path):
    save_small(tmp_path / "small")
    file = files(tmp_path / "small" / FIELDS / "rain", "0")[0]
    sound = file.read_bytes()
    for place in range(0, len(sound), len(sound) // 12):
        _flip(file, place)
        with pytest.raises(DataError):
            open_inputs(tmp_path / "small").weather(Box(((0, 40),)), 0, 150)
        with pytest.raises(DataError, match="has a wrong checksum"):
            check_contents(tmp_path / "small")
        file.write_bytes(sound)
    open_inputs(tmp_path / "small").weather(Box(((0, 40),)), 0, 150)


def test_maps_that_do_not_fit_are_refused():
    maps = contents().maps
    with pytest.raises(DataError, match="soil_class has the class 7, but there are 2 classes"):
        contents(maps={**maps, "soil_class": np.full(40, 7, np.uint16)})
    with pytest.raises(DataError, match=r"litter has the shape \(39,\), but there are 40 land cells"):
        contents(initial={"litter": np.zeros(39)})

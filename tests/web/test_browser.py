"""What people do in a browser, on models of air and of pasture."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image
from tests.web.conftest import PAGES, ROOT, Browse

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.document import schemas
from airshed.serve.server import Server

_ENDS = [0, 0, 39, 39], [0, 39, 0, 39]
"""Rows and columns of the corners."""
SEEN = 2
"""Levels of a colour that a screenshot may be off: the screen's own rounding."""


def test_a_model_is_played_paused_and_stepped(air: Server, browse: Browse) -> None:
    seen = browse("plays", air)
    assert seen["title"] == "A plume in turning air"
    assert seen["stepped"] == 1
    assert seen["paused"] >= 4
    assert seen["later"] == seen["paused"]


def test_the_picture_has_the_colours_of_the_values(air: Server, browse: Browse, tmp_path: Path) -> None:
    with airshed.connect(air.url) as client:
        client.step(150)
        values = client.values("TRACER", level=0) * 1e12
        client._ask("DELETE", "/control")
    plume = np.argsort(values, axis=None)[-40::4]
    rows, columns = (
        np.concatenate([ends, each]) for ends, each in zip(_ENDS, np.unravel_index(plume, values.shape), strict=True)
    )
    places = [[float(-4 + 0.2 * (c + 0.5)), float(-4 + 0.2 * (r + 0.5))] for r, c in zip(rows, columns, strict=True)]
    high = float(values.max())
    view = {"variable": "TRACER", "level": 0, "unit": "ppt", "range": [0.0, high], "colours": "viridis"}
    picture = tmp_path / "map.png"
    seen = browse("shows", air, places=places, picture=str(picture), view=view)
    assert [each[:2] for each in seen["values"]] == [[int(r), int(c)] for r, c in zip(rows, columns, strict=True)]
    assert (seen["scale"]["low"], seen["scale"]["high"]) == (0.0, pytest.approx(high))
    _assert_colours(picture, seen["places"], values[rows, columns] / high, "viridis")


def test_sea_between_packed_cells_has_no_colour(pasture: Server, browse: Browse, tmp_path: Path) -> None:
    with airshed.connect(pasture.url) as client:
        client.step(5)
        info = client.info()
        values = client.values("soil_water_index")
        client._ask("DELETE", "/control")
    lat, lon = (next(each.values for each in info.grid.coordinates if each.name == name) for name in ("lat", "lon"))
    land = np.argwhere(np.isfinite(values))[:: np.isfinite(values).sum() // 12]
    sea = np.argwhere(~np.isfinite(values))[:1]
    cells = np.concatenate([land, sea])
    view = {"variable": "soil_water_index", "range": [0.0, 1.0], "colours": "viridis"}
    picture = tmp_path / "map.png"
    places = [[lon[column], lat[row]] for row, column in cells]
    seen = browse("shows", pasture, places=places, picture=str(picture), view=view)
    _assert_colours(picture, seen["places"][:-1], values[*land.T], "viridis")
    with pytest.raises(AssertionError):
        _assert_colours(picture, seen["places"], np.append(values[*land.T], 0.0), "viridis")


def test_contours_are_labelled_with_the_values_along_them(air: Server, browse: Browse) -> None:
    with airshed.connect(air.url) as client:
        client.step(150)
        values = client.values("TRACER", level=0) * 1e12
        client._ask("DELETE", "/control")
    row, column = np.unravel_index(values.argmax(), values.shape)
    near = [float(-4 + 0.2 * (column + 0.5)), float(-4 + 0.2 * (row + 0.5)), 400.0]
    view = {"variable": "TRACER", "unit": "ppt", "range": [0.0, float(values.max())], "camera": near}
    labels = np.array(browse("labels", air, view=view))
    assert len(np.unique(labels[:, 0])) >= 3
    assert np.abs(_between(values, labels[:, 1:]) - labels[:, 0]).max() <= 0.03 * values.max()
    with pytest.raises(AssertionError):  # labels of other lines would not do
        assert np.abs(_between(values, labels[::-1, 1:]) - labels[:, 0]).max() <= 0.03 * values.max()


def test_files_are_saved_and_opened(air: Server, browse: Browse) -> None:
    own = load_case(Path("cases/tracer-rotation"), ['title="A case of mine"', 'grid.spacing="0.5 deg"']).to_toml()
    seen = browse("files", air, variable="TRACER", wrong="[grid]\nspacing = 3", toml=own, title="A case of mine")
    assert seen["saved"] == [["TRACER-main-step0.png", "\x89PNG"], ["TRACER-main-step0.nc", "CDF\x02"]]
    assert "grid.spacing" in seen["told"]


def test_another_case_has_a_map_of_its_own(air: Server, browse: Browse) -> None:
    assert browse("opens", air, name="queensland", title="A year of pasture over Queensland", word="Townsville")


def test_no_contour_runs_along_cells_without_a_value(pasture: Server, browse: Browse) -> None:
    """What grows is everywhere the same at the start: a line would be that between land and sea."""
    with airshed.connect(pasture.url) as client:
        client.restart()
        values = client.values("standing_dry_matter")
        client._ask("DELETE", "/control")
    assert np.isnan(values).any()
    assert np.nanmin(values) == np.nanmax(values)
    assert browse("labels", pasture, view={"variable": "standing_dry_matter"}) == []


def _between(values: Any, places: Any) -> Any:
    """Return values at places (lon, lat), bilinear between the centres of the cells of tracer-rotation."""
    column, row = ((places + 4.0) / 0.2 - 0.5).T
    left, low = np.floor(column).astype(int), np.floor(row).astype(int)
    a, b = column - left, row - low
    below = values[low, left] * (1 - a) + values[low, left + 1] * a
    return below * (1 - b) + (values[low + 1, left] * (1 - a) + values[low + 1, left + 1] * a) * b


def test_budgets_of_air_close_before_the_eyes(chemistry: Server, browse: Browse) -> None:
    seen = browse("sums", chemistry, table="Budgets of species [mol]", view={"variable": "NO2"})
    head, rows = seen["rows"][0], {row[0]: dict(zip(seen["rows"][0], row, strict=True)) for row in seen["rows"][1:]}
    assert {"inflow", "outflow", "emitted", "deposited", "chemistry", "residual"} <= set(head)
    no2 = {name: _read(text) for name, text in rows["NO2"].items() if name != "species"}
    came = no2["inflow"] - no2["outflow"] + no2["emitted"] - no2["deposited"] + no2["chemistry"] + no2["clipped"]
    assert no2["emitted"] > 0
    assert came == pytest.approx(no2["change"], abs=0.01 * max(map(abs, no2.values())))  # three digits are shown
    assert "transport" in seen["parts"]


def test_balances_of_pasture_are_shown(pasture: Server, browse: Browse) -> None:
    seen = browse("sums", pasture, table="Balance of water, mean over the land [mm]")
    terms = {name: _read(text) for name, text in seen["rows"][1:]}
    assert terms.pop("change in store") == pytest.approx(sum(terms.values()), abs=0.01 * max(map(abs, terms.values())))
    assert "cells" in seen["parts"]


def _read(text: str) -> float:
    """Return a number as the pages write it, such as 1.2·10⁻⁵."""
    plain = text.translate(str.maketrans("−⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "-0123456789-"))
    return float(plain.replace("·10", "e"))


def test_a_place_is_followed_in_time_and_height(air: Server, browse: Browse) -> None:
    seen = browse("looks", air, words="tracer2", place=[1.1, -0.5])
    assert seen["curves"] == [4, 4]  # steps and the start; levels
    assert (seen["view"]["variable"], seen["view"]["level"]) == ("TRACER2", 1)
    assert not seen["token"]


def test_past_steps_come_back(air: Server, browse: Browse) -> None:
    seen = browse("scrolls", air, place=[2.1, 0.1])
    assert len({value for _, value in seen["seen"]}) == 4
    assert seen["again"] == seen["seen"]
    assert (seen["marked"], seen["left"]) == (1, 0)


def test_the_keyboard_does_it_all_and_a_wrong_token_nothing(air: Server, browse: Browse) -> None:
    seen = browse("types", air)
    assert {"Space", ".", "z", "?", "Arrows", "Enter", "+", "−", "0"} <= set(seen["keys"])
    assert len(seen["keys"]) > 30
    assert seen["level"] == 1
    assert "token" in seen["refused"]


@pytest.mark.parametrize("model", ["air", "pasture"])
def test_nothing_keeps_people_out(model: str, browse: Browse, request: pytest.FixtureRequest, chromium: str) -> None:
    server = request.getfixturevalue(model)
    places = {"air": [[0.1, 0.1]], "pasture": [[145.0, -23.0]]}[model]
    assert browse("admits", server, places=places) == []


@pytest.mark.parametrize("model", ["air", "pasture"])
def test_a_telephone_shows_it(model: str, browse: Browse, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert max(browse("narrows", request.getfixturevalue(model), picture=str(tmp_path / "narrow.png"))) <= 360


def test_the_pages_are_made_from_the_present_types_and_are_small(chromium: str) -> None:
    made = json.loads((ROOT / "web/generated/openapi.json").read_text(encoding="utf-8"))
    assert made["components"]["schemas"] == json.loads(json.dumps(schemas())), "run make web"
    scripts = list((PAGES.parent / "assets").glob("*.js"))
    assert scripts
    assert sum(len(gzip.compress(each.read_bytes())) for each in scripts) < 350_000


def _assert_colours(picture: Path, places: Any, fractions: Any, table: str) -> None:
    """Assert that pixels have the colours of a table of 256 at fractions of its length."""
    image = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    seen = np.array([image[int(y), int(x)] for x, y in places])
    index = np.clip(np.floor(np.asarray(fractions) * 256), 0, 255).astype(int)
    wanted = np.round(np.asarray(colormaps[table].resampled(256)(index))[:, :3] * 255)
    assert np.abs(seen - wanted).max() <= SEEN
    assert len(np.unique(wanted, axis=0)) > 5  # or a blank map would do

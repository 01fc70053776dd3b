"""Smoke tests of the pages in a browser: run, colours, changes of settings, saved and opened files."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image
from tests.web.conftest import PAGES, PARIS, PARIS_CELL, ROOT, Browse

import airshed
from airshed.runtime.registry import load_case
from airshed.serve.http.server import Server
from airshed.serve.protocol.schema import schemas

pytestmark = pytest.mark.standard

_ENDS = [0, 0, 39, 39], [0, 39, 0, 39]
"""Rows and columns of the corners."""
SEEN = 2
"""Tolerance of a screenshot [levels of a colour], for the rounding of the screen."""


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
    saved = tmp_path / "saved.png"
    seen = browse("shows", air, places=places, picture=str(picture), saved=str(saved), view=view)
    assert [each[:2] for each in seen["values"]] == [[int(r), int(c)] for r, c in zip(rows, columns, strict=True)]
    assert (seen["scale"]["low"], seen["scale"]["high"]) == (0.0, pytest.approx(high))
    _assert_colours(picture, seen["places"], values[rows, columns] / high, "viridis")
    _assert_colours(saved, seen["saved"], values[rows, columns] / high, "viridis")
    with pytest.raises(AssertionError):
        _assert_colours(saved, [[x + 40, y] for x, y in seen["saved"]], values[rows, columns] / high, "viridis")


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


def test_an_emission_factor_makes_a_branch_differ(chemistry: Server, browse: Browse) -> None:
    def look() -> float:
        name = next(each for each in chemistry.engine.sessions if each != "main")
        with airshed.connect(chemistry.url) as main, airshed.connect(chemistry.url, name) as branch:
            assert branch.log()[-1].command["kind"] == "set" or branch.state().parent == "main"
            difference = branch.values("NO2", level=0) - main.values("NO2", level=0)
        return float(difference[PARIS_CELL]) * 1e9 * 1.913  # µg/m³ at 293 K and 101.3 kPa

    seen = browse("branches", chemistry, {"look": look}, variable="NO2", pollutant="NOx", place=PARIS)
    assert seen["names"] == ["Base run", "Nitrogen oxides −100 %"]
    low, high = seen["scale"]["low"], seen["scale"]["high"]
    assert low == -high
    assert seen["scale"]["colours"] == "balance"
    shown = float(seen["value"].split()[0].replace("−", "-"))
    assert shown == pytest.approx(seen["difference"], rel=2e-3)
    assert shown < 0 < high
    assert seen["drawn"] > 1
    assert seen["blanks"] == 0  # while both run, the map never waits for the slower one


def test_keys_alone_steer(chemistry: Server, browse: Browse) -> None:
    with airshed.connect(chemistry.url) as client:
        since, before = len(client.log()), client.values("O3", level=0)
        names = {"group": "Photolysis", "switch": "cloud", "words": "Shade of clouds", "factor": "DE/F_RoadTransport"}
        browse("steers", chemistry, variable="O3", place=PARIS, **names)
        done = [each.command for each in client.log(since) if each.command["kind"] not in ("snapshot", "forget")]
        painted = client.values("O3", level=0) / before
    assert [each["changes"] for each in done[:3]] == [
        {"photolysis.cloud": False}, {"photolysis.cloud": True}, {"emissions.scale.DE/F_RoadTransport": 0.5},
    ]  # fmt: skip
    assert (done[3]["species"], done[3]["lon"], done[3]["lat"], done[3]["rate"]) == ("SO2", *PARIS, 3.0)
    assert done[4]["kind"] == "paint"
    assert set(np.unique(painted.round(5))) == {1.0, 2.0}


def test_the_scale_is_read_and_changed_by_keyboard(chemistry: Server, browse: Browse) -> None:
    seen = browse("scales", chemistry, variable="O3")
    assert seen["limits"] == [
        "WHO guideline, 100 µg/m³ (mean of 8 h)", "EU target value, 120 µg/m³ (mean of 8 h)",
    ]  # fmt: skip
    assert (seen["usual"]["low"], seen["usual"]["high"], seen["usual"]["unit"]) == (0, 180, "µg/m³")
    assert seen["usual"]["sentence"].startswith(
        "Colours show Ozone at the ground, 10 m, from 0 (pale blue) to 180 µg/m³"
    )
    assert (seen["other"]["low"], seen["other"]["high"]) == (0, 90)
    assert (seen["violations"], seen["menu"]) == ([], 0)
    assert seen["wind"].split(":")[-1].strip().endswith("km/h)")


def test_files_are_saved_and_opened(air: Server, browse: Browse) -> None:
    own = load_case(Path("cases/tracer-rotation"), ['title="A case of mine"', 'grid.spacing="0.5 deg"']).to_toml()
    seen = browse("files", air, variable="TRACER", wrong="[grid]\nspacing = 3", toml=own, title="A case of mine")
    [picture, data] = seen["saved"]
    assert [picture[1], data[1]] == ["\x89PNG", "CDF\x02"]
    assert all(each[0].startswith("tracer-rotation-TRACER-20") for each in (picture, data))
    assert min(picture[2]) > 1000  # twice the pixels of the screen
    assert "grid.spacing" in seen["message"]


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
    expected = np.round(np.asarray(colormaps[table].resampled(256)(index))[:, :3] * 255)
    assert np.abs(seen - expected).max() <= SEEN
    assert len(np.unique(expected, axis=0)) > 5  # a blank map would pass otherwise

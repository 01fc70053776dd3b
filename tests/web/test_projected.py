"""A projected grid in the browser: colours of cells in their places, longitude and latitude, and painting."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.serve.conftest import serving
from tests.serve.test_projected import CASE, LAMBERT, X, Y
from tests.web.conftest import Browse
from tests.web.test_smoke import _assert_colours

import airshed
from airshed.serve.http.server import Server

pytestmark = pytest.mark.standard
DEGREE = np.radians(6.371e6)
CELLS = [(0, 0), (6, 0), (2, 8), (3, 4), (6, 8), (1, 2), (5, 5)]


@pytest.fixture(scope="module")
def lambert(chromium: str) -> Iterator[Server]:
    with serving(airshed.Case.from_dict(CASE)) as server:
        yield server


def test_cells_are_shown_and_painted_in_their_places(lambert: Server, browse: Browse, tmp_path: Path) -> None:
    corners = [[x / DEGREE, y / DEGREE] for x, y in ((-3.05e5, -2.05e5), (5e3, -2.05e5), (5e3, 1e4), (-3.05e5, 1e4))]
    browse("paints", lambert, variable="TRACER", corners=corners, value=5)
    with airshed.connect(lambert.url) as client:
        values = client.values("TRACER", level=0) * 1e9
    expected = np.where((X < 5e3) & (Y < 1e4)[:, None], 5.0, 1.0)
    np.testing.assert_allclose(values, expected, rtol=1e-5)

    with airshed.connect(lambert.url) as client:
        for number, (row, column) in enumerate(CELLS):
            client.paint("TRACER", 0.7e-9 * number, window=(row, row + 1, column, column + 1))
        values = client.values("TRACER", level=0) * 1e9
    places = [[X[column] / DEGREE, Y[row] / DEGREE] for row, column in CELLS]
    view = {"variable": "TRACER", "level": 0, "unit": "ppb", "range": [0.0, 5.0], "colours": "viridis"}
    picture = tmp_path / "map.png"
    seen = browse("shows", lambert, places=places, picture=str(picture), view=view)
    assert [tuple(each[:2]) for each in seen["values"]] == CELLS
    for (row, column), (*_, text) in zip(CELLS, seen["values"], strict=True):
        lon, lat = (float(each[0]) for each in LAMBERT.to_lonlat(X[[column]], Y[[row]]))
        assert f"{lat:.2f}° N, {lon:.2f}° E" in text
    _assert_colours(picture, seen["places"], np.array([values[cell] for cell in CELLS]) / 5.0, "viridis")

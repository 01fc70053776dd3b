"""What people do in a browser, on models of air and of pasture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image
from tests.web.conftest import Browse

import airshed
from airshed.serve.server import Server

Served = Callable[..., Server]
AIR = "cases/tracer-rotation"
_ENDS = [0, 0, 39, 39], [0, 39, 0, 39]
"""Rows and columns of the corners."""
SEEN = 2
"""Levels of a colour that a screenshot may be off: the screen's own rounding."""


@pytest.fixture
def air(served: Served) -> Server:
    """A model of air at the start of its case, which nobody controls."""
    server = served(AIR)
    for session in server.engine.sessions.values():
        session.lease.holder = None  # the browser of the test before
    with airshed.connect(server.url) as client:
        client.restart()
        client._ask("DELETE", "/control")
    return server


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


def _assert_colours(picture: Path, places: Any, fractions: Any, table: str) -> None:
    """Assert that pixels have the colours of a table of 256 at fractions of its length."""
    image = np.asarray(Image.open(picture).convert("RGB")).astype(int)
    seen = np.array([image[int(y), int(x)] for x, y in places])
    index = np.clip(np.floor(np.asarray(fractions) * 256), 0, 255).astype(int)
    wanted = np.round(np.asarray(colormaps[table].resampled(256)(index))[:, :3] * 255)
    assert np.abs(seen - wanted).max() <= SEEN
    assert len(np.unique(wanted, axis=0)) > 5  # or a blank map would do

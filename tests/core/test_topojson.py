import json

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.core.topojson import decode

# Two adjacent unit squares that share the border x = 1; the left one has a hole.
TWO_SQUARES = {
    "type": "Topology",
    "transform": {"scale": [0.1, 0.1], "translate": [0.0, 50.0]},
    "arcs": [
        [[10, 0], [0, 10]],  # the shared border, northwards
        [[10, 10], [-10, 0], [0, -10], [10, 0]],
        [[10, 0], [10, 0], [0, 10], [-10, 0]],
        [[4, 4], [0, 2], [2, 0], [0, -2], [-2, 0]],
    ],
    "objects": {
        "countries": {
            "type": "GeometryCollection",
            "geometries": [
                {"type": "Polygon", "arcs": [[0, 1], [3]], "id": "1", "properties": {"name": "West"}},
                {"type": "MultiPolygon", "arcs": [[[2, ~0]]], "id": "2"},
                {"type": "Point", "coordinates": [1, 1], "id": "3"},
            ],
        },
        "land": {"type": "Polygon", "arcs": [[1, 2]]},
    },
}


def signed_area(ring):
    lon, lat = ring.T
    return 0.5 * np.sum(lon[:-1] * lat[1:] - lon[1:] * lat[:-1])


def test_shared_borders_reversed_arcs_and_holes():
    countries = decode(TWO_SQUARES, "countries")
    assert set(countries) == {"West", "2", "3"}
    outer, hole = countries["West"][0]
    assert signed_area(outer) == pytest.approx(1.0)
    assert signed_area(hole) == pytest.approx(-0.04)
    (east,) = countries["2"][0]
    assert signed_area(east) == pytest.approx(1.0)
    assert np.allclose(east.min(axis=0), [1.0, 50.0])
    assert all(np.array_equal(ring[0], ring[-1]) for ring in (outer, hole, east))
    assert countries["3"] == []


def test_a_nameless_object_goes_by_its_own_name_and_unquantised_arcs_stand_as_they_are():
    plain = {**TWO_SQUARES, "arcs": [[[0, 0]], [[1, 1], [0, 1], [0, 0], [1, 0]], [[1, 0], [2, 0], [2, 1], [1, 1]]]}
    del plain["transform"]
    (polygon,) = decode(plain, "land")["land"]
    assert signed_area(polygon[0]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "land", "does not exist"),
        ("{", "land", "cannot be read as TopoJSON"),
        ('{"type": "FeatureCollection"}', "land", "not TopoJSON"),
        (json.dumps(TWO_SQUARES), "rivers", "no object 'rivers'; it has: 'countries', 'land'"),
        (json.dumps({**TWO_SQUARES, "arcs": []}), "land", "well-formed"),
        ("[" * 100_000, "land", "it nests too deeply"),
        (json.dumps(TWO_SQUARES | {"objects": {"land": {"type": "Polygon", "arcs": []}}}), "land", "has no outline"),
        (json.dumps(TWO_SQUARES | {"objects": {"land": {"type": "Polygon", "arcs": [[]]}}}), "land", "has no arcs"),
        (
            json.dumps(TWO_SQUARES | {"objects": {"land": {"type": "MultiPolygon", "arcs": [[]]}}}),
            "land",
            "has no outline",
        ),
        ('{"type": "Topology", "objects": null}', "land", "no object 'land'; it has: none"),
        (json.dumps({**TWO_SQUARES, "objects": {"land": None}}), "land", "well-formed"),
        (
            json.dumps({**TWO_SQUARES, "objects": {"land": {"type": "GeometryCollection", "geometries": [1]}}}),
            "land",
            "well-formed",
        ),
        (
            json.dumps({**TWO_SQUARES, "transform": {"scale": [1e308, 1], "translate": [0, 0]}}),
            "land",
            "well-formed|no longitude",
        ),
        (
            json.dumps(
                {
                    "type": "Topology",
                    "arcs": [[[0, 0], [1, 0], [1, 1]]],
                    "objects": {"land": {"type": "Polygon", "arcs": [[0]]}},
                }
            ),
            "land",
            "is not closed",
        ),
    ],
)
def test_bad_files_are_refused_with_their_name(tmp_path, content, name, message):
    path = tmp_path / "map.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        decode(path, name)
    assert "map.json" in str(caught.value)

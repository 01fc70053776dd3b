"""Reader of polygons from TopoJSON, a compact map format in which neighbours share each border line.

Source: TopoJSON format specification (Bostock & Metcalf), version 3.0. Arcs are quantised and delta-encoded, ``~i``
denotes arc ``i`` reversed, and consecutive arcs of a ring repeat their common point.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import AirshedError, DataError
from airshed.core.files import read_text

_SPHERE = (180.0 + 1e-3, 90.0 + 1e-3)
_SAME_POINT = 1e-6

Ring = NDArray[np.float64]
"""Closed line, shape (points, 2): longitude, latitude [degrees]; the last point repeats the first."""

Polygon = list[Ring]
"""Outer ring, followed by the rings of its holes."""


def decode(source: str | Path | Mapping[str, Any], object_name: str) -> dict[str, list[Polygon]]:
    """Return the polygons of one object of a TopoJSON file by feature name, feature id or the name of the object.

    Rings are returned as stored: closed, with longitudes from -180 to 180. Features of the same name are joined. Raises
    DataError for a file that is missing, is not TopoJSON, or lacks the object.
    """
    topology, place = _topology(source, object_name)
    with _well_formed(place):
        arcs = _arcs(topology)
        found: dict[str, list[Polygon]] = {}
        for feature in _features(topology, object_name):
            name = (feature.get("properties") or {}).get("name") or feature.get("id") or object_name
            found.setdefault(str(name), []).extend(_polygons(feature, arcs))
    return found


def lines(source: str | Path | Mapping[str, Any], object_name: str) -> tuple[list[Ring], list[Ring]]:
    """Return the outlines of an object (arcs of a single feature) and its borders (arcs that two features share).

    Each line is returned once, shape (points, 2): longitude, latitude [degrees]; raises DataError as `decode` does.
    """
    topology, place = _topology(source, object_name)
    with _well_formed(place):
        arcs = _arcs(topology)
        uses = [0] * len(arcs)
        for feature in _features(topology, object_name):
            polygons = [feature["arcs"]] if feature["type"] == "Polygon" else feature.get("arcs", [])
            for index in (index for polygon in polygons for ring in polygon for index in ring):
                uses[index if index >= 0 else ~index] += 1
    outlines = [arc for arc, count in zip(arcs, uses, strict=True) if count == 1]
    return outlines, [arc for arc, count in zip(arcs, uses, strict=True) if count > 1]


@contextmanager
def _well_formed(place: str) -> Iterator[None]:
    """Convert errors caused by malformed content into DataError: any part may be missing or of any type."""
    try:
        yield
    except AirshedError as error:
        raise DataError(f"{place}: {error}") from None
    except Exception as error:
        reason = " ".join(repr(error).split())[:120]
        raise DataError(f"{place} is not well-formed TopoJSON ({reason}); download it again") from None


def _topology(source: str | Path | Mapping[str, Any], object_name: str) -> tuple[Mapping[str, Any], str]:
    """Return the topology and its name for messages; raise DataError if it lacks the object."""
    place = "the given TopoJSON" if isinstance(source, Mapping) else str(source)
    topology = source if isinstance(source, Mapping) else _load(Path(source))
    objects = topology.get("objects", {})
    if not isinstance(objects, Mapping) or object_name not in objects:
        known = [*map(repr, objects)] if isinstance(objects, Mapping) else []
        raise DataError(f"{place} has no object {object_name!r}; it has: {', '.join(known)[:120] or 'none'}")
    return topology, place


def _features(topology: Mapping[str, Any], object_name: str) -> list[Mapping[str, Any]]:
    root = topology["objects"][object_name]
    features: list[Mapping[str, Any]] = root["geometries"] if root["type"] == "GeometryCollection" else [root]
    return features


def _load(path: Path) -> Mapping[str, Any]:
    text = read_text(path, "give the path of a TopoJSON file")
    try:
        topology = json.loads(text)
    except (RecursionError, ValueError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else str(error)[:120]
        raise DataError(f"{path} cannot be read as TopoJSON ({reason}); download it again") from None
    if not isinstance(topology, dict) or topology.get("type") != "Topology":
        raise DataError(f"{path} is not TopoJSON: its type is not 'Topology'")
    return topology


def _arcs(topology: Mapping[str, Any]) -> list[NDArray[np.float64]]:
    """Decode the arcs: cumulative sums of integer steps, scaled and shifted to degrees."""
    arcs = [np.asarray(arc, dtype=np.float64)[:, :2] for arc in topology["arcs"]]
    if "transform" in topology:
        scale, shift = (np.asarray(topology["transform"][key], dtype=np.float64) for key in ("scale", "translate"))
        arcs = [np.cumsum(arc, axis=0) * scale + shift for arc in arcs]
    for number, arc in enumerate(arcs):
        if not (np.abs(arc) <= _SPHERE).all():
            raise DataError(
                f"arc {number} has points outside the range of longitude and latitude; download the file again"
            )
    return arcs


def _polygons(feature: Mapping[str, Any], arcs: list[NDArray[np.float64]]) -> list[Polygon]:
    kind = feature["type"]
    if kind not in ("Polygon", "MultiPolygon"):
        return []
    polygons = feature["arcs"] if kind == "MultiPolygon" else [feature["arcs"]]
    if not all(polygons):
        raise DataError(f"a {kind} has no outline; download it again")
    return [[_ring(ring, arcs) for ring in polygon] for polygon in polygons]


def _ring(indices: list[int], arcs: list[NDArray[np.float64]]) -> Ring:
    if not indices:
        raise DataError("a ring has no arcs; download it again")
    pieces = [arcs[index] if index >= 0 else arcs[~index][::-1] for index in indices]
    ring = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
    if len(ring) < 4 or np.any(np.abs(ring[0] - ring[-1]) > _SAME_POINT):
        raise DataError(f"a ring of the arcs {str(indices)[:60]} is not closed; download it again")
    return ring

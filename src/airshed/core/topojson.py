"""Reads polygons from TopoJSON, the compact map format in which neighbours share each border line.

Source: the TopoJSON format specification (Bostock & Metcalf), version 3.0: quantised delta-encoded arcs, ``~i`` means
arc ``i`` run backwards, consecutive arcs of a ring repeat their common point.
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
"""One closed line, shape (points, 2): longitude, latitude [degrees]; the last point repeats the first."""

Polygon = list[Ring]
"""The outer ring first, then the rings of its holes."""


def decode(source: str | Path | Mapping[str, Any], object_name: str) -> dict[str, list[Polygon]]:
    """Return the polygons of one object of a TopoJSON file by feature name, else feature id, else the object's name.

    Rings come as in the file: all lie on the longitudes -180 to 180 and are closed; features of the same name join.
    Raises DataError for a file that is missing, is not TopoJSON, or has no such object.
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
    """Return the outlines of one object, its arcs that belong to one feature, and its borders, those that two share.

    Each line comes once, shape (points, 2): longitude, latitude [degrees]; raises DataError as `decode` does.
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
    """Turn what goes wrong with the parts of a file into DataError: any of them may be of any type, or missing."""
    try:
        yield
    except AirshedError as error:
        raise DataError(f"{place}: {error}") from None
    except Exception as error:
        reason = " ".join(repr(error).split())[:120]
        raise DataError(f"{place} is not well-formed TopoJSON ({reason}); get a fresh copy of the file") from None


def _topology(source: str | Path | Mapping[str, Any], object_name: str) -> tuple[Mapping[str, Any], str]:
    """Return the topology and how a message names it; raises DataError when it lacks the object."""
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
        raise DataError(f"{path} cannot be read as TopoJSON ({reason}); get a fresh copy of the file") from None
    if not isinstance(topology, dict) or topology.get("type") != "Topology":
        raise DataError(f"{path} is not TopoJSON: its type is not 'Topology'")
    return topology


def _arcs(topology: Mapping[str, Any]) -> list[NDArray[np.float64]]:
    """Undo the quantisation: cumulative sums of integer steps, then scale and shift to degrees."""
    arcs = [np.asarray(arc, dtype=np.float64)[:, :2] for arc in topology["arcs"]]
    if "transform" in topology:
        scale, shift = (np.asarray(topology["transform"][key], dtype=np.float64) for key in ("scale", "translate"))
        arcs = [np.cumsum(arc, axis=0) * scale + shift for arc in arcs]
    for number, arc in enumerate(arcs):
        if not (np.abs(arc) <= _SPHERE).all():
            raise DataError(f"arc {number} has points that are no longitude and latitude in degrees; get a fresh copy")
    return arcs


def _polygons(feature: Mapping[str, Any], arcs: list[NDArray[np.float64]]) -> list[Polygon]:
    kind = feature["type"]
    if kind not in ("Polygon", "MultiPolygon"):
        return []
    polygons = feature["arcs"] if kind == "MultiPolygon" else [feature["arcs"]]
    if not all(polygons):
        raise DataError(f"a {kind} has no outline; get a fresh copy of the file")
    return [[_ring(ring, arcs) for ring in polygon] for polygon in polygons]


def _ring(indices: list[int], arcs: list[NDArray[np.float64]]) -> Ring:
    if not indices:
        raise DataError("a ring has no arcs; get a fresh copy of the file")
    pieces = [arcs[index] if index >= 0 else arcs[~index][::-1] for index in indices]
    ring = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
    if len(ring) < 4 or np.any(np.abs(ring[0] - ring[-1]) > _SAME_POINT):
        raise DataError(f"a ring of the arcs {str(indices)[:60]} is not closed; get a fresh copy of the file")
    return ring

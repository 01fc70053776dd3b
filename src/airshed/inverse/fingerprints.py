"""Digests of what a gradient is of, by which one that goes on sees that it is of something else.

A case in TOML only names its files, and some of what a run is given is not in it. What is looked at is what was made of
them in this rank's columns at the beginning: weather and emission of later hours are not seen.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from airshed.kernels.host import AnyArray
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.model import AirModel


def fingerprints(model: AirModel) -> Mapping[str, str]:
    """Return digests of a model that has not begun, by what is to be said where one is another."""
    weather, case = model.forcing.instant(0), model.case
    air = (model.stepper.state.q, weather.air, weather.temperature, weather.water, weather.cloud)
    winds: tuple[AnyArray, ...] = weather.flux_x, weather.flux_y
    boundary: tuple[AnyArray, ...] = model.constants.profile, model.constants.top
    if model.forcing.boundary is not None:
        field = model.forcing.boundary.field
        boundary = (*boundary, field.at(field.times[0]), np.array(field.times))
    files = [case.path(each.file).read_bytes() for each in case.process]
    return {
        "it began with other mixing ratios, or other weather": _digest([*air, *winds]),
        "its lateral boundary differs": _digest(map(np.asarray, boundary)),
        "it has another mechanism": _digest([*_in_words(model.parts.network), weather.parameters]),
        "its processes are others": _digest([model.kernel.key, *files, *_named(weather.fields)]),
        "it began with another emission": _digest(_emission(model)),
    }


def _in_words(network: ReactionNetwork) -> Iterable[str]:
    """What a network computes: comments, and where in its file a reaction stands, are not in it."""
    yield repr((network.names, network.reactant_indices, network.net_stoichiometry))
    yield from map(str, network.rate_constants)
    yield repr([(each.name, each.default) for each in network.parameters])


def _emission(model: AirModel) -> Iterable[Any]:
    for source in model.parts.own_sources:
        yield repr((source.species, source.levels, list(source.changes)))
        yield source.rate(model.seconds)


def _named(fields: Mapping[str, AnyArray]) -> Iterable[Any]:
    for name in sorted(fields):
        yield name
        yield fields[name]


def _digest(parts: Iterable[Any]) -> str:
    """Digest texts, bytes and arrays, each with what divides it from the next."""
    found = blake2b(digest_size=16)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        if not isinstance(content, bytes):
            found.update(repr((content.shape, content.dtype.str)).encode())
            content = np.ascontiguousarray(content).tobytes()
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.hexdigest()

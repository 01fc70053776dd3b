"""The measured step: random air and mixing ratios on a small area, and its reference in NumPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from airshed.formula.tree import Symbol
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP
from airshed.kernels.operators import ADVECTION, Operator, OperatorField
from airshed.kernels.schedule import schedule
from airshed.kernels.step.reference import Fields
from airshed.kernels.step.trial import Trial, between, random_trial, reference_step
from airshed.mechanism import load_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import two_step_weights

OPERATORS: Final = (ADVECTION, Operator("mixing", "exchange", (Symbol("mixing"),), fields=(OperatorField("mixing"),)))
"""Wind, and mixing between levels."""

SWEEPS: Final = 2
_OPEN: Final = 1e-3
"""Rate constants of open reactions [1/s]."""


def load(name: str) -> ReactionNetwork:
    """Return a mechanism without open rates."""
    network = load_mechanism(name).with_defaults()
    return network.bind({each.name: _OPEN for each in network.parameters})


def trial(network: ReactionNetwork, levels: int, area: tuple[int, int], *, smooth: bool) -> Trial:
    """Return the inputs of a step of 100 s.

    area    rows and columns
    smooth  neighbours differ by a third, as in runs, where few values are clipped; otherwise by decades
    """
    shape = SimpleNamespace(levels=levels, families=(), operators=OPERATORS, own_terms=())
    kernel: Any = SimpleNamespace(network=network, shape=shape, schedule=schedule(network, LARGEST_GROUP))
    found = random_trial(kernel, area, two_step_weights(100.0, 100.0), sweeps=SWEEPS, wind=0.01 if smooth else 0.04)
    start, end = (replace(each, emission=each.emission[:0]) for each in found.columns)
    found = replace(found, setup=replace(found.setup, emitted=()), columns=(start, end))
    if not smooth:
        return found
    random, fields = np.random.default_rng(1), found.fields
    amounts = np.exp(random.uniform(np.log(1e-14), np.log(1e-8), (len(fields.q), 1, 1, 1)))
    q = amounts * random.uniform(0.7, 1.3, fields.q.shape)
    return replace(found, fields=replace(fields, q=q, q_previous=q, tendency=np.zeros_like(q)))


def reference(given: Trial) -> Fields:
    """Return the state after the step, by the NumPy reference."""
    return reference_step(given).fields


@dataclass(frozen=True)
class Inputs:
    """Arrays of a step (species, level, lat, lon), without the axes that they lack, and its scalars."""

    arrays: Mapping[str, np.ndarray]
    numbers: Mapping[str, float]

    @classmethod
    def of(cls, given: Trial) -> "Inputs":
        """Return the inputs of a trial, with the forcing at the instants of the step."""
        box, fields = given.setup, given.fields
        air = between(*given.air_fluxes, given.weight)
        column = between(*given.columns, given.column_weight)
        arrays = {
            "q": fields.q, "other": fields.q_previous, "tendency": fields.tendency,
            "air": fields.air, "air_other": fields.air_previous, "air_tendency": fields.air_tendency,
            "flux_x": air.eastward, "flux_y": air.northward,
            "flux_z": between(*given.air_fluxes, given.weight_z).upward,
            "outside": box.boundary.sides, "top": box.boundary.top, "vertical": box.vertical_weights,
            "temperature": column.temperature, "water": column.water, "secant": column.secant, "light": column.light,
            "density_factor": np.broadcast_to(box.density_factor, fields.air.shape),
            "exchange": column.fields["mixing"],
        }  # fmt: skip
        rows, columns = fields.air.shape[1:]
        numbers = {**vars(given.weights), "oxygen": box.oxygen, "nitrogen": box.nitrogen, "nx": columns, "ny": rows}
        return cls(arrays, {**numbers, "sweeps": box.sweeps})


OF_CELLS: Final = frozenset([
    "q", "other", "tendency", "rhs", "air", "air_other", "air_tendency", "air_next", "flux_x", "flux_y", "flux_z",
    "weights", "temperature", "water", "density_factor", "exchange", "density", "above", "below", "rate",
])  # fmt: skip
"""Arrays with level, lat and lon as their last axes."""


FACES: Final = frozenset(["flux_x", "flux_y"])
"""Arrays with one more value along an axis, which no layout divides into blocks."""


@dataclass(frozen=True)
class Layout:
    """Memory layout of cells, see ``kernels.hpp``: the fastest axis, and the columns of a block or 0."""

    levels_fastest: bool
    block: int
    real: Any

    def pack(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return an array (.., level, lat, lon) in its memory layout."""
        found = array
        if self.block and self._is_blocked(name, array):
            *lead, levels, rows, columns = array.shape
            split = array.reshape(*lead, levels, rows, columns // self.block, self.block)
            found = np.moveaxis(split, (-3, -2), (0, 1))  # lat, block, .., level, lon
            found = np.swapaxes(found, -1, -2) if self.levels_fastest and name in OF_CELLS else found
        elif self.levels_fastest and name in OF_CELLS:
            found = np.moveaxis(array, -3, -1)
        return np.ascontiguousarray(found, dtype=self.real)

    def shape(self, name: str, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape in memory of an array (.., level, lat, lon)."""
        if name not in OF_CELLS:
            return tuple(shape)
        lead, (levels, rows, columns) = tuple(shape[:-3]), shape[-3:]
        inner = (self.block or columns, levels) if self.levels_fastest else (levels, self.block or columns)
        if self.block:
            return (rows, columns // self.block, *lead, *inner)
        return (*lead, rows, *inner) if self.levels_fastest else (*lead, levels, rows, columns)

    def unpack(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return an array of cells with its axes in the order (.., level, lat, lon)."""
        if not self.block:
            return np.moveaxis(array, -1, -3) if self.levels_fastest else array
        turned = np.swapaxes(array, -1, -2) if self.levels_fastest else array
        found = np.moveaxis(turned, (0, 1), (-3, -2))
        return found.reshape(*found.shape[:-2], found.shape[-2] * found.shape[-1])

    def _is_blocked(self, name: str, array: np.ndarray) -> bool:
        return name in OF_CELLS and name not in FACES and array.ndim > 2


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the greatest difference relative to the greatest value of its species; infinite for a NaN."""
    scale = np.abs(expected).max(axis=(-3, -2, -1), keepdims=True)
    relative = np.abs(found.astype(np.float64) - expected) / np.maximum(scale, np.finfo(np.float64).tiny)
    return float(np.max(np.where(np.isnan(relative), np.inf, relative)))

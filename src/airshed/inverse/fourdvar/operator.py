"""Observation operator: a sparse matrix for each instant at which the model outputs its fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.observations.observation import STANDARD, Observations, Volume, observed_unit, size_of_mole_fraction
from airshed.observations.selection import bilinear, layer_weights, mean_weights

Numbers = npt.NDArray[np.intp]

Air = Callable[[float], Array]
"""Function that returns the air [mol/m3], (level, lat, lon), p / (R T), at a time [s] since the start of the window."""


@dataclass(frozen=True, eq=False)
class Domain:
    """Properties of a model that the observation operator needs.

    times         instants [s] since the start of the window at which fields are output, ascending (n,)
    species       species in the order of the fields (species, level, lat, lon) [mol/mol]
    molar_masses  molar masses [kg/mol] of species that are observed as a mass
    air           needed for columns and for volumes of ambient air
    """

    grid: Grid
    times: Array
    species: Sequence[str]
    molar_masses: Mapping[str, float]
    air: Air | None = None
    volume: Volume = "standard"

    def __post_init__(self) -> None:
        if self.times.size < 1 or not (np.diff(self.times) > 0.0).all():
            raise CaseError("the instants of a window must be in ascending order")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the fields."""
        return len(self.species), *self.grid.shape


class ObservationOperator:
    """y = sum over k of H_k c(t_k) + y_0, linear in mixing ratios c [mol/mol] at the instants t_k.

        H = unit x mean in time x (lowest level | averaging kernel) x bilinear in longitude and latitude

    raises  CaseError for a species that the model does not have, or a unit that needs a molar mass or the air
    """

    def __init__(self, observations: Observations, domain: Domain) -> None:
        self._domain, self.size = domain, len(observations)
        offsets = zip(observations.kernels, observations.unit.tolist(), strict=True)
        self._offset = np.array([k.offset / observed_unit(unit, "column").size if k else 0.0 for k, unit in offsets])
        rows, cells, weights = _places(observations, domain)
        over_time = mean_weights(domain.times, observations.begin, observations.end)
        factors, by_air = _conversion(observations, domain)
        self.matrices = []
        for k, time in enumerate(domain.times.tolist()):
            used = over_time[rows, k] != 0.0
            r, c = rows[used], cells[used]
            values = weights[used] * over_time[r, k] * factors[r]
            if domain.air is not None and by_air[r].any():
                values *= np.where(by_air[r], domain.air(time).reshape(-1)[c % prod(domain.grid.shape)], 1.0)
            self.matrices.append(csr_array((values, (r, c)), shape=(self.size, prod(domain.shape))))

    def start(self) -> Array:
        """Return y_0, the contribution of a-priori profiles, (p,)."""
        return self._offset.copy()

    def add(self, instant: int, fields: Array, into: Array) -> None:
        """Add H_k c(t_k)."""
        into += self.matrices[instant] @ fields.reshape(-1)

    def transposed(self, instant: int, weights: Array) -> Array:
        """Return H_k^T w, (species, level, lat, lon)."""
        return np.asarray(self.matrices[instant].T @ weights).reshape(self._domain.shape)


def _places(observations: Observations, domain: Domain) -> tuple[Numbers, Numbers, Array]:
    """Return rows, cells and weights of the matrix in space; for columns the weights include layer thicknesses."""
    for where, species in zip(observations.where, observations.species.tolist(), strict=True):
        if species not in domain.species:
            raise CaseError(f"{where}: {species} is observed, but is not a species of the model")
    columns, weights = bilinear(domain.grid, observations.lon, observations.lat)
    rows, levels, level_weights = _levels(observations, domain.grid)
    layers, area = domain.grid.shape[0], domain.grid.shape[1] * domain.grid.shape[2]
    number = {name: index for index, name in enumerate(domain.species)}
    first = np.array([number[name] * layers for name in observations.species.tolist()], np.intp)
    cells = ((first[rows] + levels) * area)[:, None] + columns[rows]
    return np.repeat(rows, 4), cells.reshape(-1), (level_weights[:, None] * weights[rows]).reshape(-1)


def _levels(observations: Observations, grid: Grid) -> tuple[Numbers, Numbers, Array]:
    """Return observations, their levels and weights [1], for columns [m]: the lowest level, or those of a kernel."""
    by_observation: list[tuple[Numbers, Array]] = []
    for kernel in observations.kernels:
        weights = np.ones(1)
        if kernel is not None:
            weights = layer_weights(grid.layer_faces, kernel.edges, kernel.weights) * grid.thickness
        by_observation.append((np.flatnonzero(weights), weights[weights != 0.0]))
    rows = np.repeat(np.arange(len(by_observation)), [levels.size for levels, _ in by_observation])
    levels, weights = (np.concatenate(part) for part in zip(*by_observation, strict=True))
    return rows, levels, weights


def _conversion(observations: Observations, domain: Domain) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return 1 mol/mol in the unit of each observation, and whether a factor of the air [mol/m3] is missing.

    raises  CaseError for a mass without a molar mass, and if the air is needed but missing
    """
    factors, by_air = np.empty(len(observations)), np.zeros(len(observations), bool)
    columns = (observations.unit.tolist(), observations.kind.tolist(), observations.species.tolist())
    for row, (unit, kind, species) in enumerate(zip(*columns, strict=True)):
        found = observed_unit(unit, kind)
        by_air[row] = found.si != "mol/mol" and (kind == "column" or domain.volume == "ambient")
        mass = _mass(species, domain, str(observations.where[row])) if found.si == "kg/m3" else None
        factors[row] = size_of_mole_fraction(unit, kind, mass, air=1.0 if by_air[row] else STANDARD)
    if by_air.any() and domain.air is None:
        raise CaseError("columns and volumes of ambient air need the air of the model [mol/m3]")
    return factors, by_air


def _mass(species: str, domain: Domain, where: str) -> float:
    try:
        return domain.molar_masses[species]
    except KeyError:
        raise CaseError(
            f"{where}: {species} is observed as a mass, but its molar mass is unknown; give a mixing ratio, as in ppb"
        ) from None

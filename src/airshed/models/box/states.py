"""Initial states of several cells, from a netCDF file, a CSV file or a dataset."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.data import numbers
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed, suggestion
from airshed.io.netcdf import load_netcdf
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.structure import units_of_open
from airshed.models.box.values import CONCENTRATION, MOST_HUMIDITY, RATE_UNITS, converted, read_csv, spellings

if TYPE_CHECKING:
    import xarray as xr

_ENVIRONMENT: Final = {"temperature": ("T", ("K",)), "pressure": ("p", ("Pa",)), "humidity": ("humidity", ("1",))}
_AIR: Final = {"m": "M", "h2o": "H2O"}
_IGNORED: Final = ("cell", "time")


@dataclass(frozen=True)
class CellStates:
    """Initial states of cells.

    species  species number -> (amounts (cell,), unit: molecules/cm3 or mol/mol)
    values   values that replace the conditions in each cell, T [K], p [Pa], humidity [1], M, H2O [molecules/cm3],
             parameters of the mechanism: name -> (values (cell,), unit)
    source   name of the file, for messages
    last     remark on states from the last time of a time series; otherwise empty
    single   whether this is the series of one box, without the dimension `cell`
    first    number of the first cell, for messages
    """

    cells: int
    species: Mapping[int, tuple[Array, str]] = field(default_factory=dict)
    values: Mapping[str, tuple[Array, str]] = field(default_factory=dict)
    source: str = "states"
    last: str = ""
    single: bool = False
    first: int = 0

    def part(self, first: int, last: int) -> "CellStates":
        """Return the states of a range of cells."""
        species = {number: (each[first:last], unit) for number, (each, unit) in self.species.items()}
        values = {name: (each[first:last], unit) for name, (each, unit) in self.values.items()}
        return replace(self, cells=last - first, species=species, values=values, first=self.first + first)


def load_states(path: Path, network: ReactionNetwork) -> CellStates:
    """Return the states in a netCDF (.nc) or CSV (.csv) file; raises DataError or CaseError.

    For a time series, such as the output of a run of boxes, the last time is used.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        columns, last, single = _last_rows(read_csv(path), str(path))
        return replace(cell_states(columns, network, str(path)), last=last, single=single)
    if suffix in (".nc", ".nc4", ".cdf"):
        return states_from_dataset(load_netcdf(path), network, str(path))
    raise DataError(f"{path}: unknown format of states; the name must end in .nc (netCDF) or .csv")


def states_from_dataset(dataset: "xr.Dataset", network: ReactionNetwork, source: str = "states") -> CellStates:
    """Return the states in a dataset with variables along `cell` and their units in `units`.

    In a time series, such as the result of :func:`airshed.box`, the last time is used.
    """
    last, single = "", False
    if "time" in dataset.dims:
        if not dataset.sizes["time"]:
            raise DataError(f"{source} has no values along time; give at least one time")
        last, single = _remark(source, dataset.sizes["time"]), "cell" not in dataset.dims
        dataset = dataset.isel(time=-1)
    columns: dict[str, tuple[str | None, Array]] = {}
    for name in dataset.data_vars:
        variable = dataset[name]
        if variable.ndim == 0 and single:
            variable = variable.expand_dims("cell")
        if variable.ndim != 1:
            raise DataError(f"{source}: {name} has the dimensions {variable.dims}; it must have the dimension cell")
        unit = variable.attrs.get("units")
        columns[str(name)] = None if unit is None else str(unit), numbers(variable.values, f"{source}: its {name}")
    return replace(cell_states(columns, network, source), last=last, single=single)


def _last_rows(
    columns: Mapping[str, tuple[str | None, Array]], source: str
) -> tuple[Mapping[str, tuple[str | None, Array]], str, bool]:
    """Return the rows of the last time if there is a column `time`, a remark, and whether they are a single box.

    Raises DataError if a cell occurs twice at that time.
    """
    folded = {name.casefold(): name for name in columns}
    if "time" not in folded:
        return columns, "", False
    times = columns[folded["time"]][1]
    at_last = times == times.max()
    if at_last.all() and at_last.size > 1:
        return columns, "", False  # the states of many boxes at one time
    if "cell" in folded:
        cells = columns[folded["cell"]][1][at_last]
        if len(np.unique(cells)) < cells.size:
            raise DataError(f"{source}: a cell occurs twice at time {times.max():g}; give one state for each cell")
    chosen = {name: (unit, column[at_last]) for name, (unit, column) in columns.items()}
    return chosen, _remark(source, len(np.unique(times))), "cell" not in folded


def _remark(source: str, times: int) -> str:
    return f"the initial states are those at the last of {times} times in {source}"


def cell_states(columns: Mapping[str, tuple[str | None, Array]], network: ReactionNetwork, source: str) -> CellStates:
    """Return states from named columns with units; raises CaseError for an unknown name."""
    sizes = {len(values) for _, values in columns.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise DataError(f"{source} has no cells" if sizes <= {0} else f"{source}: columns have different lengths")
    species: dict[int, tuple[Array, str]] = {}
    values: dict[str, tuple[Array, str]] = {}
    for name, (unit, column) in columns.items():
        where, target = f"{source}: {name}", _target(name, network)
        if isinstance(target, int):
            species[target] = _amounts(column, unit, (CONCENTRATION, "mol/mol"), where)
        elif target is not None:
            known, units = target
            values[known] = _amounts(column, unit, units, where)
            if known == "humidity" and values[known][0].max() > MOST_HUMIDITY:
                highest = 100.0 * values[known][0].max()
                raise DataError(f"{where} is {highest:g} %; for per cent use the heading humidity [%]")
        elif name.casefold() not in (*_IGNORED, "o2", "n2", "sun", "sec_zenith", "daylight"):
            known_names = (*network.names, *_ENVIRONMENT, *(each.name for each in network.parameters))
            raise CaseError(f"{where} is not a species of {network.name}; {suggestion(name, known_names)}")
    if not species:
        raise CaseError(f"{source} has no species of {network.name}")
    return CellStates(sizes.pop(), species, values, source)


def _target(name: str, network: ReactionNetwork) -> int | tuple[str, tuple[str, ...]] | None:
    """Return the number of a species, or the name and units of a value; None for an unknown name."""
    folded = name.casefold()
    for number, known in enumerate(network.names):
        if known.casefold() == folded:
            return number
    if folded in _ENVIRONMENT:
        return _ENVIRONMENT[folded]
    if folded in _AIR:
        return _AIR[folded], (CONCENTRATION,)
    for each in network.parameters:
        if each.name.casefold() == folded:
            return each.name, spellings(units_of_open(network).get(each.name, RATE_UNITS[1:]))
    return None


def _amounts(column: Array, unit: str | None, units: tuple[str, ...], where: str) -> tuple[Array, str]:
    if unit is None and units[0] != "1":
        raise CaseError(f"{where} has no unit: write it after the name, as in [{units[0]}], or as its units attribute")
    found = converted(column, unit or "1", units, where=where)
    wrong = ~(np.isfinite(found[0]) & (found[0] >= 0.0))
    if wrong.any():
        cell = int(np.argmax(wrong))
        raise DataError(f"{where} is {column[cell]:g} in cell {cell}; it must be finite and not below 0")
    return found


def set_sums(network: ReactionNetwork, densities: Array) -> None:
    """Set the rows of sums to the sums of their species (species, cell) [molecules cm-3]."""
    for name, weights in network.sums.items():
        rows = [weight * densities[network.index(species)] for species, weight in weights.items()]
        densities[network.index(name)] = np.sum(rows, axis=0)


def refuse_touched(network: ReactionNetwork, touched: Iterable[int]) -> None:
    """Raise CaseError if emission or loss acts on a sum of species or its members, which only reactions may change."""
    names = {network.names[number] for number in touched}
    for name, weights in network.sums.items():
        found = sorted(names.intersection({name, *weights}))
        if found:
            raise CaseError(
                f"emission or loss of {listed(found)}: only reactions can change {name} of {network.name}, a sum of "
                f"species; remove these, or write them as reactions"
            )

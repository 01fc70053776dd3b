"""Values of fields of gridded emission on the grid of a case: units, levels, missing and negative values."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.data import kind, numbers, without_round_off
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed
from airshed.grid.regrid import overlap_fractions
from airshed.io.netcdf import reading

if TYPE_CHECKING:
    from airshed.models.air.emissions.fields import EmissionFile, Field

_LEVEL_DIMS: Final = (
    "level", "lev", "ilev", "z", "vertical", "layer", "lay", "height", "altitude", "bottom_top", "emissions_zdim_stag",
    "emissions_zdim", "nlev", "levels",
)  # fmt: skip
_LARGE: Final = 1e15
"""Numbers beyond this are marks of missing values, in any unit of emission."""
_MOST_FROM_A_CELL: Final = 1e12  # upper limit of emission from a cell [mol/s]; global emission of CO2 is 3e7


class FieldReader:
    """Reader of the values of one file.

    cleared  notices of missing and negative values that count as no emission, by variable
    dates    of all files with the same fields, which distinguish months from years; none without times
    """

    def __init__(self, file: "EmissionFile") -> None:
        self._place, self._path, self._settings, self._grid = file.place, file.path, file.settings, file.grid
        self._dataset, self._cells, self._times, self._layout = file.dataset, file.cells, file.times, file.layout
        self.cleared: dict[str, str] = {}
        self.dates = file.times.dataset["time"].values if file.times.dim else np.zeros(0, "datetime64[ns]")

    def values(self, each: "Field", record: int, seconds: float) -> tuple[Array, float]:
        """Return a field on the grid [mol/s or kg/s per cell] (levels, ny, nx), and its sum over the whole file.

        record   index along time;  seconds  length of the year or month of an amount [s]
        """
        raw, where = self._raw(each, record), f"{self._place}: {each.variable}"
        clean = self._checked(raw, record, where)
        unit = each.unit
        try:
            factor = unit.factor * (
                each.target.per_kilogram(each.basis, each.own_mass, where) if unit.mass else each.target.per_mole(where)
            )
        except CaseError as error:
            raise DataError(str(error)) from None
        factor /= seconds if unit.per else 1.0
        amount = clean * factor * (self._cells.area if unit.per_area else 1.0)
        stored_mass = (each.target.mass or 0.05) if each.target.in_kg else 1.0
        if amount.size and not amount.max() / stored_mass <= _MOST_FROM_A_CELL:
            self._refuse_large(amount.max() / stored_mass, where, each)
        return self._to_layers(self._cells.move(amount), each.variable), float(amount.sum())

    def _refuse_large(self, most: float, where: str, each: "Field") -> None:
        written = self._dataset[each.variable].attrs.get("units", "")
        raise DataError(
            f"{where} is {most:g} mol/s from a cell, more than {_MOST_FROM_A_CELL:g} mol/s; check its values and its "
            f"units, {written!r}"
        )

    def _raw(self, each: "Field", record: int) -> Array:
        """Return the numbers of a field, (levels, rows, columns), NaN where they are missing."""
        variable = self._dataset[each.variable]
        chosen: dict[str, int] = {self._times.dim: record} if self._times.dim in variable.dims else {}
        chosen |= {each.index[0]: each.index[1]} if each.index else {}
        level = self.level_dim(each.variable)
        surplus = sorted(
            str(dim) for dim in set(variable.dims) - {*chosen, *self._cells.dims, level} if variable.sizes[dim] > 1
        )
        if surplus:
            raise DataError(
                f"{self._place}: {each.variable} has the dimension {', '.join(surplus)}; only time, level, sector, "
                f"{' and '.join(self._cells.dims)} are valid"
            )
        if variable.dtype.kind not in "fiu":
            raise DataError(
                f"{self._place}: {each.variable} has values of type {kind(variable.dtype)}; "
                "give the emission as numbers"
            )
        single = {dim: 0 for dim in variable.dims if dim not in {*chosen, *self._cells.dims, level}}
        part = variable.isel({**chosen, **single})
        part = part.transpose(*([level] if level else []), *self._cells.dims)
        if self._path is not None:
            with reading(self._path, f"variable {each.variable}".format):
                values = part.values
        else:
            values = part.values
        values = numbers(values, f"{self._place}: {each.variable}")
        values = self._cells.ordered(values if level else values[None])
        if each.chosen is not None:
            values = np.where(each.chosen, values, 0.0)
        for mark in self._settings.missing_values:
            values = np.where(np.isclose(values, mark, rtol=1e-6), np.nan, values)
        return values

    def level_dim(self, name: str) -> str:
        """Return the dimension of the levels of a variable, "" for one layer."""
        dims = self._dataset[name].dims
        return next(
            (str(dim) for dim in dims if str(dim).casefold() in _LEVEL_DIMS and str(dim) not in self._cells.dims), ""
        )

    def _checked(self, values: Array, record: int, where: str) -> Array:
        """Return a field without missing and negative values; raise DataError for some in the area, unless allowed."""
        missing = ~np.isfinite(values) | (np.abs(values) > _LARGE)
        if missing.any():
            if self._settings.missing == "refuse" and self._inside(missing):
                hint = 'emission must be a number of 0 or more; missing = "zero" takes missing values as no emission'
                raise DataError(f"{where} is {self._at(values, missing, record)}; {hint}")
            self._note(where, missing, "missing values are no emission")
            values = np.where(missing, 0.0, values)
        values = without_round_off(values)
        negative = values < 0.0
        if negative.any():
            if self._settings.negative == "refuse" and self._inside(negative):
                mark = values[negative].min()
                hint = "emission must be a number of 0 or more"
                if np.mean(values[negative] == mark) > 0.99 and mark == round(mark) and mark <= -9.0:
                    hint += f"; if {mark:g} marks missing values, set missing_values = [{mark:g}]"
                else:
                    hint += '; negative = "zero" omits an uptake'
                raise DataError(f"{where} is {self._at(values, negative, record)}; {hint}")
            self._note(where, negative, "negative values are no emission")
            values = np.where(negative, 0.0, values)
        return values

    def _inside(self, chosen: NDArray[np.bool_]) -> bool:
        return bool(self._cells.move(chosen.astype(np.float64)).any())

    def _note(self, where: str, chosen: NDArray[np.bool_], what: str) -> None:
        name = where.rpartition(": ")[2]
        self.cleared[name] = f"{name}: {what} ({100.0 * float(chosen.mean()):.3g} % of its cells)"

    def _at(self, values: Array, chosen: NDArray[np.bool_], record: int) -> str:
        """Return a value and its place in words, inside the area if possible."""
        row, column = self._cells.near(self._grid, np.asarray(chosen.any(axis=0)))
        level = int(np.flatnonzero(chosen[:, row, column])[0])
        at = f"lat {float(self._cells.lat[row, column]):g}, lon {float(self._cells.lon[row, column]):g}, level {level}"
        if self._times.dim:
            at = f"{np.datetime64(self._times.dataset['time'].values[record], 'm')}, {at}"
        return f"{values[level, row, column]:g} at {at}"

    def _to_layers(self, fields: Array, name: str) -> Array:
        """Return amounts by level of the file as amounts by layer of the grid."""
        dim, levels = self.level_dim(name), fields.shape[0]
        if levels == 1:
            return fields
        tops = np.asarray(self._settings.levels) if self._settings.levels else self._tops(dim, levels)
        if tops is not None:
            if tops.size != levels:
                raise DataError(f"{self._place} has {levels} levels, but emissions.gridded gives {tops.size} tops")
            share = overlap_fractions(np.concatenate([[0.0], tops]), self._grid.layer_faces)
            share[-1] += 1.0 - share.sum(axis=0)
            used = 1 + int(np.flatnonzero(share.any(axis=1)).max())
            return np.asarray(np.einsum("kl,l...->k...", share[:used], fields))
        given = self._dataset[dim].values if dim in self._dataset.coords else np.arange(levels)
        if not any(np.array_equal(given, first + np.arange(given.size)) for first in (0, 1)):
            raise DataError(
                f"{self._place}: its levels are {listed([str(each) for each in given], 4)}; they must be the "
                'indices of the layers, 0, 1 ... from the lowest one, or give their tops: levels = ["20 m", ...]'
            )
        if dim != "level":
            raise DataError(
                f"{self._place}: its dimension {dim} has {levels} levels of unknown heights; give their tops: "
                'levels = ["20 m", ...]'
            )
        if levels > self._grid.shape[0]:
            raise DataError(f"{self._place} has {levels} levels, but the grid has only {self._grid.shape[0]} layers")
        return fields

    def _tops(self, dim: str, levels: int) -> Array | None:
        """Return the tops of levels whose coordinate is a height [m] with bounds, or None."""
        if dim not in self._dataset.coords or str(self._dataset[dim].attrs.get("units", "")) not in (
            "m",
            "meter",
            "metre",
        ):
            return None
        bounds = str(self._dataset[dim].attrs.get("bounds", ""))
        if bounds in self._dataset.variables and self._dataset[bounds].shape == (levels, 2):
            return numbers(self._dataset[bounds].values[:, 1], f"{self._place}: {bounds}")
        return None

    def seconds_of(self, each: "Field", date: np.datetime64 | None, default_year: int) -> float:
        """Return the length of the year or month over which an amount without time is emitted [s].

        Raises DataError if the file does not say the time, and the settings do not either.
        """
        per = each.unit.per
        if per == "?":
            per = self._settings.per or self._layout.per
            if per == "stamp":
                per = self._stamp()
            if not per:
                written = self._dataset[each.variable].attrs.get("units", "")
                raise DataError(
                    f'{self._place}: {each.variable} is in {written!r}, an amount without time; set per = "year" or '
                    'per = "month", the time over which it is emitted'
                )
        if per == "month":
            if date is None or self._times.any_year:
                month = np.datetime64(f"{default_year}-01", "M") if date is None else date.astype("datetime64[M]")
            else:
                month = date.astype("datetime64[M]")
            if date is None:
                raise DataError(
                    f"{self._place}: {each.variable} is an amount per month, but the file has no months; "
                    "months have several lengths: divide by the seconds of each month"
                )
            days = (month + 1).astype("datetime64[D]") - month.astype("datetime64[D]")
            return float(days.astype(int)) * SECONDS_PER_DAY
        year = default_year if date is None else int(str(date.astype("datetime64[Y]")))
        first = np.datetime64(str(year), "Y")
        return (
            float(((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(int)) * SECONDS_PER_DAY
        )

    def _stamp(self) -> str:
        """Return the period of the times of a known layout: month for twelve times in a year, else year."""
        if self.dates.size < 2:
            return "year"
        days = float(np.median(np.diff(self.dates).astype("timedelta64[h]").astype(float))) / 24.0
        return "month" if 27.0 < days < 32.0 else "year" if 364.0 < days < 367.0 else ""

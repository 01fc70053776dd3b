"""Read access to a simulation: its time, its fields, its budget and its summary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.core.report import Cell, Report, Table
from airshed.io.cf import CONVENTIONS
from airshed.io.hdf5 import hdf5
from airshed.parallel.domain import Domain
from airshed.runtime.changes import field_values
from airshed.runtime.display import Picture, map_picture, simulation_html, simulation_text
from airshed.runtime.locking import by_one_thread
from airshed.runtime.model import Model, Timings
from airshed.runtime.names import FieldNames
from airshed.runtime.records import RunRecords
from airshed.runtime.registry import ModelKind

if TYPE_CHECKING:
    import xarray as xr


_SUMS = "sums over ranks"


class SimulationView:
    """Read access to a simulation: its time, its fields, its budget and its summary."""

    case: Any
    _wall: dict[str, float]
    _kind: ModelKind
    _model: Model
    _records: RunRecords | None
    _use: Any
    _closed: bool
    _in_step: bool
    _sums: float
    _written: str

    @property
    def model(self) -> Any:
        """The model itself, of the class that its kind has."""
        return self._model

    @property
    def seconds(self) -> float:
        """Simulated time [s] since the start of the case; negative in the spin-up."""
        return self._model.seconds

    @property
    def time(self) -> np.datetime64:
        """Simulated time, UTC."""
        moment: np.datetime64 = self.case.start + np.timedelta64(round(self.seconds * 1e3), "ms")
        return moment

    @property
    def fields(self) -> FieldNames:
        """Names of all fields; the representation is a table of their units and meanings."""
        return FieldNames.of(self._model.fields.values())

    @property
    def species(self) -> FieldNames:
        """Names of the species among the fields."""
        groups = self._kind.info(self._model).groups
        return FieldNames.of(each for each in self._model.fields.values() if groups.get(each.name) == "species")

    @property
    def has_map(self) -> bool:
        """Return whether the cells have latitudes and longitudes, which a map requires."""
        return {"lat", "lon"} <= {each.name for each in self._model.domain.axes.coordinates}

    def __dir__(self) -> list[str]:
        internal = {"has_map", "next_step", "values", "begin", "end", "effect", "input_files"}
        return sorted(name for name in object.__dir__(self) if not name.startswith("_") and name not in internal)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self._model.fields)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._model.fields)

    def __bool__(self) -> bool:
        """Return True, also for a simulation without fields."""
        return True

    def __contains__(self, name: object) -> bool:
        """Return whether there is a field of this name."""
        return name in self._model.fields

    def __repr__(self) -> str:
        return simulation_text(self.case, self._model, self.time, closed=self._closed)

    def _repr_html_(self) -> str:
        """Return a short description for notebooks."""
        return simulation_html(self.case, self._model, self.time, closed=self._closed)

    @by_one_thread
    def __getitem__(self, name: str) -> "xr.DataArray":
        """Return a field of the whole domain with its unit and coordinates, as a copy.

        A species is a mixing ratio [mol mol-1] on (level, lat, lon). With several ranks all of them call this.
        """
        import xarray as xr

        import airshed.io.accessor  # noqa: F401  registers `.airshed` of arrays

        if not isinstance(name, str):
            given = list(name) if isinstance(name, tuple | list) else name
            raise CaseError(f"sim[{name!r}]: a field is one name; sim.to_dataset({given!r}) returns several fields")
        values = self.values(name)
        (spec,) = self._model.fields.select([name], where="field")
        present = [each for each in self._model.domain.axes.coordinates if set(each.dims) <= set(spec.dims)]
        coordinates = {each.name: (each.dims, each.values, dict(each.attributes)) for each in present}
        return xr.DataArray(
            values, dims=spec.dims, name=name, attrs=_attributes(spec), coords=coordinates | {"time": self.time}
        )  # fmt: skip

    @by_one_thread
    def values(self, name: str) -> np.ndarray[Any, Any]:
        """Return the values of a field of the whole domain, as a copy. With several ranks all of them call this."""
        self._check_open()
        (spec,) = self._model.fields.select([name], where="field")
        domain, here = self._model.domain, field_values(self._model.view(name))
        return np.array(domain.whole(here) if set(domain.axes.divided) <= set(spec.dims) else here)

    @by_one_thread
    def ground(self, name: str, unit: str | None = None) -> "xr.DataArray":
        """Return a field in the lowest layer.

        Parameters
        ----------
        name
            Name of a field.
        unit
            Unit of the result, such as ``"ppb"`` or ``"ug/m3"``; by default that of the field.

        Returns
        -------
        xarray.DataArray
            The lowest layer, or the whole field where it has no layers. With several ranks all of them call this.

        Raises
        ------
        CaseError
            If there is no such field, or if its unit cannot be converted.

        Examples
        --------
        >>> sim.ground("O3", unit="ppb").plot()
        """
        return self._layer(name, 0, unit)

    def _layer(self, name: str, level: int, unit: str | None) -> "xr.DataArray":
        """Return a field in one of the layers, from 0 at the ground, in a unit."""
        field = self[name]
        count = field.sizes.get("level", 1)
        if not 0 <= level < count:
            raise CaseError(f"{name} has no level {level}; its levels are numbered 0 to {count - 1} from the ground")
        field = field.isel(level=level) if "level" in field.dims else field
        if unit is None:
            return field
        density = self._kind.info(self._model).air
        air = None
        if density and "mol" in field.attrs["units"]:
            air = self[density].isel(level=level)
        converted: xr.DataArray = field.airshed.to(unit, air=air)
        return converted

    @by_one_thread
    def to_dataset(self, fields: Sequence[str] | None = None) -> "xr.Dataset":
        """Return the present values of fields as a dataset.

        Parameters
        ----------
        fields
            Names of fields, by default all.

        Returns
        -------
        xarray.Dataset
            A variable for each field, with the attributes of an output file. With several ranks all of them call this.

        Raises
        ------
        CaseError
            If there is no such field.

        Examples
        --------
        >>> state = sim.to_dataset(["O3", "NO2"])
        >>> again = airshed.Simulation(case, initial=state)
        """
        import xarray as xr

        names = self.fields if fields is None else [fields] if isinstance(fields, str) else list(fields)
        self._model.fields.select(names, where="fields")
        attributes = {"title": self.case.title, **self._model.domain.attributes}
        return xr.Dataset({name: self[name] for name in names}, attrs=attributes)

    @by_one_thread
    def to_netcdf(self, path: str | Path, fields: Sequence[str] | None = None) -> Path:
        """Write the present values of fields into a netCDF-4 file.

        Parameters
        ----------
        path
            Path of the file. A file of this name is replaced; it is complete or unchanged.
        fields
            Names of fields, by default all.

        Returns
        -------
        pathlib.Path
            The path. With several ranks all of them call this, and the first one writes.

        Raises
        ------
        CaseError
            If there is no such field.
        OutputError
            If the file cannot be written.

        Examples
        --------
        >>> sim.to_netcdf("state.nc", ["O3", "NO2"])
        """
        target = Path(path)
        dataset = self.to_dataset(fields)
        dataset.attrs |= {"Conventions": CONVENTIONS, "airshed_case": self.case.to_toml(machine=False)}
        if self._model.domain.is_root:
            with write_whole(target) as part, hdf5():
                dataset.to_netcdf(part, engine="netcdf4")
        return target

    @by_one_thread
    def plot(self, field: str, level: int = 0, unit: str | None = None, *, path: str | Path | None = None) -> "Picture":
        """Draw a map of a field.

        Parameters
        ----------
        field
            Name of a field.
        level
            Layer, from 0 at the ground.
        unit
            Unit of the colour bar, such as ``"ug/m3"``; by default mixing ratios are in ppb.
        path
            File for the picture (PNG).

        Returns
        -------
        Picture
            The picture, which a notebook displays. With several ranks all of them call this.

        Raises
        ------
        CaseError
            If there is no such field or level, or if its unit cannot be converted. Also if the cells of the model are
            not on a grid of latitudes and longitudes.
        OutputError
            If the file cannot be written.

        Examples
        --------
        >>> sim.plot("O3")
        >>> sim.plot("NO2", unit="ug/m3", path="no2.png")
        """
        picture = map_picture(self._layer(field, level, unit), self.case.title, level)
        if path is not None and self._model.domain.is_root:
            picture.save(path)
        return picture

    @by_one_thread
    def budget(self) -> "xr.Dataset":
        """Return the budget of the model since the start of the case.

        Returns
        -------
        xarray.Dataset
            Air: amounts [mol] by process for each species and for the families of nitrogen and sulphur. The variables
            are inflow, outflow, emitted, deposited, chemistry, clipped, change and residual, on the dimension species.
            Other models document theirs. With several ranks all of them call this.

        Raises
        ------
        CaseError
            If the model computes no budget.

        Examples
        --------
        >>> sim.budget().sel(species="O3").to_pandas()
        """
        self._check_open()
        if self._kind.budget is None:
            raise CaseError(f"the model {self.case.model} computes no budget")
        return self._kind.budget(self._model)

    @by_one_thread
    def summary(self, *, brief: bool = False) -> Report:
        """Return budgets, extremes, diagnosed weather, and wall times as a report to print.

        Parameters
        ----------
        brief
            Return a few facts without tables.

        Returns
        -------
        Report
            Facts and tables. With several ranks all of them call this.

        Examples
        --------
        >>> print(sim.summary(brief=True))
        """
        self._check_open()
        report = self._model.summary(brief=brief)
        if self._records is not None:
            self._written = self._records.written()
        times = wall_time(self._model, self._wall, self._sums, self._written)
        if brief:
            return replace(report, facts={**report.facts, "wall time": _in_a_line(times)})
        return replace(report, tables=[*report.tables, times])

    def _check_open(self) -> None:
        if self._closed or self._in_step:
            raise CaseError("this simulation was closed, or ended by an error; create a new one")


def _attributes(spec: FieldSpec) -> dict[str, str | float]:
    """Return the attributes of the array of a field; the molar mass is in kg mol-1."""
    optional = {"standard_name": spec.standard_name, "molar_mass": spec.molar_mass}
    return {"units": spec.unit, "long_name": spec.text} | {key: each for key, each in optional.items() if each}


def wall_time(model: Model, spent: Mapping[str, float], sums: float, written: str) -> Table:
    """Return a table of wall times [s], as means over threads and ranks; collective.

    spent    preparation, "forcing and steps", output and restarts
    sums     time of this rank in sums over ranks during steps
    written  description of the written data
    """
    timings, domain = model.timings(), model.domain
    parts = dict(timings.parts)
    if not domain.alone:
        parts[_SUMS] = sums
    rest = {"forcing and control": max(spent["forcing and steps"] - sum(parts.values()), 0.0)}
    rows = {name: spent[name] for name in ("preparation", "output and restarts")} | rest | parts
    mean = domain.total(np.array([list(rows.values())])) / domain.ranks.size
    total = max(float(mean.sum()), 1e-9)
    cells: list[tuple[Cell, ...]] = [
        (name, seconds, round(100.0 * seconds / total, 1)) for name, seconds in zip(rows, mean.tolist(), strict=True)
    ]
    notes = [] if domain.alone else [f"mean of {domain.ranks.size} ranks; {_imbalance(domain, timings, mean, rows)}"]
    notes += timings.notes
    note = "; ".join([*notes, written] if written else notes)
    return Table("Wall time", ("process", "time [s]", "share [%]"), [*cells, ("total", total, 100.0)], note)


def _in_a_line(times: Table) -> str:
    """Return the total of a table of wall times, and the processes that take the most."""
    *parts, (_, total, _) = times.rows
    largest = sorted(parts, key=lambda row: -float(row[2] or 0))[:3]
    shares = ", ".join(f"{name} {share:.0f} %" for name, _, share in largest)
    return f"{float(total or 0):.3g} s: {shares}"


def _imbalance(domain: Domain, timings: Timings, mean: npt.NDArray[np.float64], rows: Mapping[str, float]) -> str:
    """Return the excess of the computing time of the busiest rank over the mean, in words."""
    own = np.array([name not in (*timings.waiting, _SUMS) for name in rows])
    mine = float(np.array(list(rows.values()))[own].sum())
    return f"imbalance {100.0 * (domain.greatest(mine) / float(mean[own].sum()) - 1.0):.1f} %"

"""Read access to a simulation: its time, its fields, its budget and its summary."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.report import Cell, Report, Table
from airshed.parallel.domain import Domain
from airshed.runtime.changes import field_values
from airshed.runtime.model import Model, Timings
from airshed.runtime.records import RunRecords
from airshed.runtime.registry import ModelKind
from airshed.runtime.using import by_one_thread

if TYPE_CHECKING:
    import xarray as xr


_SUMS = "sums over ranks"


class SimulationView:
    """The part of a simulation that changes nothing.

    wall  wall time [s] of the preparation, of "forcing and steps", and of output and restarts
    """

    case: Any
    wall: dict[str, float]
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
    def has_map(self) -> bool:
        """Whether its cells have latitudes and longitudes, so that `airshed plot` can draw them."""
        return {"lat", "lon"} <= {each.name for each in self._model.domain.axes.coordinates}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self._model.fields)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a field of this name."""
        return name in self._model.fields

    def __repr__(self) -> str:
        sizes = dict(reversed(list(self._model.domain.axes.sizes.items())))
        cells = f"{' x '.join(map(str, sizes.values()))} cells ({' x '.join(sizes)})" if sizes else "no space"
        return f"<Simulation {self.case.title!r}: {cells}, at {self.time}>"

    @by_one_thread
    def __getitem__(self, name: str) -> "xr.DataArray":
        """A field with its unit and coordinates, of the whole domain, such as a species [mol/mol] on (level, lat, lon).

        With several ranks all of them call this.
        """
        import xarray as xr

        values = self.values(name)
        (spec,) = self._model.fields.select([name], where="field")
        there = [each for each in self._model.domain.axes.coordinates if set(each.dims) <= set(spec.dims)]
        return xr.DataArray(
            values,
            dims=spec.dims,
            name=name,
            attrs={"units": spec.unit, "long_name": spec.text},
            coords={each.name: (each.dims, each.values, each.attributes) for each in there} | {"time": self.time},
        )

    @by_one_thread
    def values(self, name: str) -> np.ndarray[Any, Any]:
        """The values alone of a field of the whole domain, as a copy. With several ranks all of them call this."""
        self._check_open()
        (spec,) = self._model.fields.select([name], where="field")
        domain, here = self._model.domain, field_values(self._model.view(name))
        return np.array(domain.whole(here) if set(domain.axes.divided) <= set(spec.dims) else here)

    @by_one_thread
    def budget(self) -> "xr.Dataset":
        """What came in, went out and stays, as the model of the case counts it; raises CaseError for one without.

        Air: what each process did to each species and to the families of nitrogen and sulphur since the start [mol].
        Variables: inflow, outflow, emitted, deposited, chemistry, clipped, change, residual; dimension: species.
        """
        self._check_open()
        if self._kind.budget is None:
            raise CaseError(f"the model {self.case.model} keeps no budget")
        return self._kind.budget(self._model)

    @by_one_thread
    def summary(self, *, brief: bool = False) -> Report:
        """Budgets, extremes, what was read and what was diagnosed, and where the time went; `brief` fits a screen."""
        self._check_open()
        report = self._model.summary(brief=brief)
        if self._records is not None:
            self._written = self._records.written()
        return replace(report, tables=[*report.tables, wall_time(self._model, self.wall, self._sums, self._written)])

    def _check_open(self) -> None:
        if self._closed or self._in_step:
            raise CaseError("this simulation was closed, or ended by an error; make a new one")


def wall_time(model: Model, spent: Mapping[str, float], sums: float, written: str) -> Table:
    """Return a table of wall times [s]: of threads their mean, of ranks their mean; all ranks ask together.

    spent    preparation, "forcing and steps", output and restarts
    sums     of the steps' time, what this rank waited for in sums over ranks
    written  what there is to say of files
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


def _imbalance(domain: Domain, timings: Timings, mean: npt.NDArray[np.float64], rows: Mapping[str, float]) -> str:
    """By how much the busiest rank computed longer than all did in the mean."""
    own = np.array([name not in (*timings.waiting, _SUMS) for name in rows])
    mine = float(np.array(list(rows.values()))[own].sum())
    return f"imbalance {100.0 * (domain.greatest(mine) / float(mean[own].sum()) - 1.0):.1f} %"

"""A field of two runs at the hours that both have recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray, Array
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.grid.land import within
from airshed.grid.world import find_location
from airshed.plot.cells import MapCells
from airshed.serve.fields.maps import cells_of
from airshed.serve.fields.published import Session
from airshed.serve.protocol import types
from airshed.serve.protocol.effect import MissingHours
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.records.recording import RecordedFields

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Comparison:
    """A field of two runs at their common hours.

    level          above the ground; None for a field without levels
    before, after  values (hours, rows, columns) of the other run and of the scenario, NaN where a run has none
    moments        of the hours
    """

    cells: MapCells
    level: int | None
    moments: Sequence[types.Moment]
    before: AnyArray
    after: AnyArray

    @cached_property
    def valid(self) -> Mask:
        """Cells with values at all hours (rows, columns)."""
        return np.asarray(np.isfinite(self.before).all(axis=0) & np.isfinite(self.after).all(axis=0), np.bool_)

    @cached_property
    def change(self) -> Array:
        """Change at each hour, 0 in cells without values (hours, rows, columns)."""
        return np.where(self.valid, self.after.astype(np.float64) - self.before, 0.0)

    def means(self, inside: Mask) -> tuple[float, float]:
        """Return the means before and after over the hours and the area of cells."""
        weights = np.where(inside & self.valid, self.cells.weights, 0.0)
        weights = weights / weights.sum()
        sums = (np.where(self.valid, each, 0.0).mean(axis=0, dtype=np.float64) for each in (self.before, self.after))
        before, after = (float((each * weights).sum()) for each in sums)
        return before, after


def compared(session: Session, other: Session, name: str, level: int | None) -> Comparison:
    """Return a field of two runs at their common hours, from the first hour at which they differ.

    Raises CaseError for fields that cannot be compared, NotThereError without a common recorded hour.
    """
    # the field in both runs
    field, again = session.shape.variable(name), other.shape.variable(name)
    if field.shape[-2:] != again.shape[-2:] or field.unit != again.unit or not session.shape.has_cells_of(other.shape):
        raise CaseError(
            f"{name} of {session.name} and of {other.name} are on different grids; compare runs of one grid"
        )
    if len(field.shape) < 2:
        raise NotThereError(f"{name} has no map; choose another field")
    levels = [level if len(each.shape) > 2 else None for each in (field, again)]
    for each, run, chosen in zip((field, again), (session, other), levels, strict=True):
        run.shape.check(each, chosen, None)

    # its values at the common hours
    one, two = _recorded(session, name), _recorded(other, name)
    there = {round(each.seconds): index for index, each in enumerate(list(two.moments))}
    common = [(index, each) for index, each in enumerate(list(one.moments)) if round(each.seconds) in there]
    if not common:
        raise NotThereError(f"{session.name} and {other.name} have no common recorded hour; run both to the same hour")
    after = np.stack([one.read(name, index, levels[0], None) for index, _ in common])
    before = np.stack([two.read(name, there[round(each.seconds)], levels[1], None) for _, each in common])
    first = _first_different(before, after)
    moments = [each for _, each in common[first:]]
    comparison = Comparison(cells_of(session.shape.grid), chosen, moments, before[first:], after[first:])
    if not comparison.valid.any():
        raise NotThereError(f"{name} has no values at the hours that {session.name} and {other.name} share")
    return comparison


def _recorded(session: Session, name: str) -> RecordedFields:
    """Return the records of a session; raises an error without records of a field."""
    if session.recorded is None:
        raise NotThereError(f"session {session.name} records no fields: its case has no output with a map")
    session.recorded.flush()
    if name not in session.recorded.names:
        raise CaseError(f"{name!r} is not recorded; {suggestion(name, session.recorded.names)}")
    return session.recorded


def _first_different(one: AnyArray, other: AnyArray) -> int:
    """Return the index of the first hour with different values; 0 where all hours are equal."""
    differs = [not np.array_equal(*pair, equal_nan=True) for pair in zip(one, other, strict=True)]
    return differs.index(True) if True in differs else 0


def missing_hours(session: Session, other: Session) -> MissingHours | None:
    """Return the run that has not computed all recorded hours of the other one."""
    last = [(each.recorded.moments[-1].seconds, each.name) for each in (session, other) if each.recorded is not None]
    (since, earlier), (until, _) = min(last), max(last)
    return MissingHours(session=earlier, since=since, until=until) if until - since > 0.5 else None


def in_country(cells: MapCells, country: str) -> Mask:
    """Return the cells whose centres are within the outline of a country; raises CaseError for an unknown name."""
    outline = find_location(country, "country").outline
    if not outline:
        raise CaseError(f"country = {country!r} is a city; give a country")
    lon, lat = cells.places
    turned = (lon + 180.0) % 360.0 - 180.0
    if not cells.is_projected:
        order = np.argsort(turned[0])
        inside = np.zeros(cells.shape, np.bool_)
        inside[:, order] = within(outline, lat[:, 0], turned[0][order])
        return inside
    # the nearest point of a fine grid of longitude and latitude
    axes = [np.linspace(each.min(), each.max(), 4 * max(cells.shape)) for each in (lat, turned)]
    rows, columns = (
        np.rint((each - axis[0]) / (axis[1] - axis[0])).astype(int).clip(0, axis.size - 1)
        for each, axis in zip((lat, turned), axes, strict=True)
    )
    return np.asarray(within(outline, *axes)[rows, columns], np.bool_)

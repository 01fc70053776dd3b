"""Recorded hours of fields as a netCDF file with coordinates, after the CF conventions."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.serve.fields.formats import attributes_of, coordinates, global_attributes
from airshed.serve.fields.published import Selection, Session
from airshed.serve.records.recording import MOST_BYTES, RecordedFields, selected

_EPOCH: Final = np.datetime64("1970-01-01", "ms")
_TIME: Final = {
    "standard_name": "time", "axis": "T", "units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian",
}  # fmt: skip


def recorded_netcdf(
    session: Session, recorded: RecordedFields, names: Sequence[str], at: float | None, level: int | None
) -> bytes:
    """Return recorded fields as a netCDF file in classic format, written by SciPy.

    Parameters
    ----------
    session, recorded : Session, RecordedFields
        Session and its records.
    names : sequence of str
        Fields.
    at : float, optional
        Time whose last record is returned [s]; without it all records are.
    level : int, optional
        Level; without it all levels are.

    Raises
    ------
    CaseError
        For a field that is not recorded, and for records that are too large for a response.
    """
    import xarray as xr

    # the records of each field
    recorded.flush()
    parts, size = {}, 0
    for name in dict.fromkeys(names):
        parts[name] = list(selected(recorded, session.shape, name, Selection(level=level), None, at))
        size += sum(values.nbytes for _, values in parts[name])
        if size > MOST_BYTES:
            raise CaseError("these fields are too large for a file; request fewer fields, a level, or a time")
    hours = [moment for moment, _ in parts[names[0]]]
    if not hours or any(len(each) != len(hours) for each in parts.values()):
        raise CaseError("there is no recorded hour at this time; give a later one")

    # variables with their dimensions; a chosen level becomes a coordinate
    data = {}
    for name, found in parts.items():
        variable = session.shape.variable(name)
        dims = variable.dims[len(variable.dims) - found[0][1].ndim :]
        data[name] = (
            ["time", *dims],
            np.stack([values for _, values in found]),
            attributes_of(variable, session.shape.grid),
        )
    used = {dim for dims, *_ in data.values() for dim in dims}
    made = xr.Dataset(data, coords=coordinates(session.shape, used), attrs=global_attributes(session))
    times = [np.datetime64(each.time.removesuffix("Z"), "ms") for each in hours]
    seconds = (np.array(times) - _EPOCH) / np.timedelta64(1, "s")
    made = made.assign_coords(time=("time", seconds, _TIME))
    heights = session.shape.grid.levels
    if level is not None and level < len(heights) and "level" not in used:
        about = {"units": "m", "standard_name": "height", "positive": "up", "long_name": "height above the ground"}
        made = made.assign_coords(level=((), heights[level], about))
    return bytes(made.to_netcdf(engine="scipy"))

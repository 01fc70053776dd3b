"""Records of a session as outputs of a run, which an evaluation reads."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from airshed.evaluate.run_fields import RunFields
from airshed.serve.fields.formats import attributes_of, coordinates
from airshed.serve.records.recording import RecordedFields

if TYPE_CHECKING:
    from airshed.serve.fields.published import Session

_INSTANTS: Final = "time: point"


class _RecordedField(BackendArray):
    """Field (time, ...) of a recording, of which a read takes the requested times and level."""

    def __init__(self, recorded: RecordedFields, name: str, shape: tuple[int, ...]) -> None:
        self.shape, self.dtype = shape, np.dtype(np.float32)
        self._recorded, self._name = recorded, name

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> Any:
        times, *rest = key
        level = int(rest[0]) if len(rest) > 2 and not isinstance(rest[0], slice) else None
        part = tuple(rest if level is None else rest[1:])
        if not isinstance(times, slice):
            return self._recorded.read(self._name, int(times), level, None)[part]
        numbers = range(self.shape[0])[times]
        fields = [self._recorded.read(self._name, number, level, None)[part] for number in numbers]
        return np.stack(fields) if fields else np.zeros((0, *np.empty(self.shape[1:])[tuple(rest)].shape), self.dtype)


def recorded_run(session: "Session") -> RunFields:
    """Return the records of a session so far as a run; raises DataError for a model without mixing ratios on a map."""
    shape, recorded = session.shape, session.recorded
    assert recorded is not None
    moments = list(recorded.moments)
    fields = [shape.variables[name] for name in recorded.names if name in shape.variables]
    dims = {dim for each in fields for dim in each.dims}
    coords = coordinates(shape, dims)
    bounds = {each.name: each.bounds for each in shape.grid.coordinates if each.bounds is not None and each.dim in dims}
    for name in bounds:
        coords[name][2]["bounds"] = f"{name}_bnds"
    times = np.array([each.time.removesuffix("Z") for each in moments], "datetime64[ns]")
    data: dict[str, Any] = {f"{name}_bnds": ([name, "bnds"], np.asarray(each)) for name, each in bounds.items()}
    for each in fields:
        about = {**attributes_of(each, shape.grid), "cell_methods": _INSTANTS}
        if each.molar_mass is not None:
            about["molar_mass"] = each.molar_mass
        field = _RecordedField(recorded, each.name, (len(moments), *each.shape))
        data[each.name] = xr.Variable(["time", *each.dims], indexing.LazilyIndexedArray(field), about)
    dataset = xr.Dataset(data, {**coords, "time": times}, {"title": session.state.title})
    return RunFields(Path(session.name), session.name, [("recording", dataset)])

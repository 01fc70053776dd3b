"""Origins for Python: the request of a client, its progress, and the result as a Dataset and a table."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.errors import AirshedError
from airshed.core.units import to
from airshed.serve.protocol.origin import Origin, OriginRequest, OriginState

if TYPE_CHECKING:
    import xarray as xr

    from airshed.serve.client import Remote

_AGAIN: Final = 0.5
"""Seconds between two requests for the progress."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Sources:
    """Sources of a concentration.

    Attributes
    ----------
    maps : xarray.Dataset
        Contribution of the emission of each cell by pollutant, and of all emission by hour [mol mol-1].
    table : pandas.DataFrame
        Contributions of all sources, the largest first [mol mol-1].
    value : float
        The concentration [mol mol-1].
    explained : float
        Sum of the contributions of emission and of the air that enters [mol mol-1].
    """

    maps: "xr.Dataset"
    table: Any
    value: float
    explained: float


def sources_of(
    remote: "Remote", species: str, place: str | tuple[float, float], at: str | float | None, level: int,
    progress: Progress,
) -> Sources:  # fmt: skip
    """Return the sources of a concentration; see :meth:`airshed.serve.client.Remote.origin`."""
    seconds = remote.state.seconds if at is None else to(at, "s", where="at") if isinstance(at, str) else float(at)
    request = OriginRequest(species=species, place=place, at=seconds, level=level)
    state = OriginState.model_validate_json(remote._ask("POST", "/origin", request.model_dump_json()))
    try:
        while state.status == "running":
            progress(state.part, state.done)
            time.sleep(_AGAIN)
            state = OriginState.model_validate_json(remote._ask("GET", "/origin"))
    except KeyboardInterrupt:
        remote._ask("DELETE", "/origin")
        raise
    if state.result is None:
        raise AirshedError(state.message or f"the computation of sources is {state.status}")
    return Sources(_maps(remote, state.result), _table(state.result), state.result.value, state.result.explained)


def _maps(remote: "Remote", found: Origin) -> "xr.Dataset":
    import xarray as xr

    frames = {name: remote._frame("/origin/map", {"pollutant": name}) for name in found.pollutants}
    grid = remote.info().grid
    dims = next((list(each.header.dims) for each in frames.values()), ["lat", "lon"])
    coords = {each.name: (each.dim, each.values, {"units": each.unit}) for each in grid.coordinates if each.dim in dims}
    values = np.stack([each.values for each in frames.values()]) if frames else np.zeros((0, grid.rows, grid.columns))
    title, unit = f"Sources of {found.request.species} in {found.place}", {"units": "mol mol-1"}
    hours = [each.value for each in found.hours]
    return xr.Dataset(
        {
            "contribution": (["pollutant", *dims], values, {**unit, "long_name": title}),
            "hour_contribution": ("hours_before", hours, unit),
        },
        {**coords, "pollutant": found.pollutants, "hours_before": [each.hours for each in found.hours]},
        {"title": title, "time": found.time, "value": found.value, "explained": found.explained},
    )  # fmt: skip


def _table(found: Origin) -> Any:
    import pandas as pd  # type: ignore[import-untyped]

    return pd.DataFrame(json.loads(f"[{','.join(row.model_dump_json() for row in found.rows)}]"))

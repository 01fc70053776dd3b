"""Assimilations: the runs before and after as two sessions, and their analysis as a document."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import OutputError
from airshed.inverse.fourdvar.results import ANALYSIS
from airshed.inverse.fourdvar.runs import AFTER, BEFORE
from airshed.io.netcdf import load_netcdf
from airshed.serve.fields.published import Session
from airshed.serve.protocol.analysis import Analysis, AnalysisControl, AnalysisCost, AnalysisStation
from airshed.serve.records.finished import finished_session

if TYPE_CHECKING:
    import xarray as xr

_NAMES: Final = {BEFORE: "Before assimilation", AFTER: "After assimilation"}
_PREFIXES: Final = (("observation_", False), ("withheld_", True))


def is_assimilation(folder: Path) -> bool:
    """Return whether a folder contains the results of `airshed assimilate`."""
    return (folder / ANALYSIS).is_file()


def analysis_sessions(folder: Path) -> list[Session]:
    """Return the runs before and after an assimilation as sessions; raises OutputError for results without runs."""
    if not all((folder / name).is_dir() for name in _NAMES):
        raise OutputError(
            f"{folder} holds an assimilation without its runs; write them with: airshed assimilate CASE "
            f"--output {folder} --resume --runs"
        )
    found = []
    for name, text in _NAMES.items():
        session = finished_session(folder / name, name)
        session.state = session.state.model_copy(update={"scenario": text})
        assert session.finished is not None
        found.append(session)
    return found


def analysis_of(session: Session) -> Analysis | None:
    """Return the assimilation of which a session is the run before or after; None for another session."""
    if session.finished is None or session.name not in _NAMES:
        return None
    file = session.finished.folder.parent / ANALYSIS
    if not file.is_file():
        return None
    found = load_netcdf(file)
    cost = [AnalysisCost(iteration=k, cost=float(each)) for k, each in enumerate(found["cost"].values)]
    return Analysis(
        which=cast("Literal['before', 'after']", session.name), title=str(found.attrs.get("title", "")),
        stopped_by=str(found.attrs.get("stopped_by", "")), cost=cost, controls=list(_controls(found)),
        stations=list(_stations(found)),
    )  # fmt: skip


def _controls(found: "xr.Dataset") -> Iterator[AnalysisControl]:
    """Yield the controls, as means over the parts of the day, or of increments those of the lowest level."""
    for variable in map(str, found.data_vars):
        if not variable.endswith("_posterior"):
            continue
        name, after = variable.removesuffix("_posterior"), found[variable]
        dims = [str(each) for each in after.dims]
        kind: Literal["map", "regions", "domain"] = (
            "map" if len(dims) == 3 else "regions" if dims[-1].endswith("_region") else "domain"
        )
        yield AnalysisControl(
            name=name, text=str(after.attrs.get("long_name", name)).removesuffix(", after"),
            unit=str(after.attrs.get("units", "1")), kind=kind,
            names=found[dims[-1]].values.astype(str).tolist() if kind == "regions" else [],
            before=_means(found[f"{name}_prior"], kind), after=_means(after, kind),
            spread=_means(found[f"{name}_spread"], kind) if f"{name}_spread" in found else [],
        )  # fmt: skip


def _means(control: "xr.DataArray", kind: str) -> list[float]:
    values: Array = np.asarray(control.values, np.float64)
    if kind == "domain":
        return [float(values.mean())]
    first = values[0] if control.dims[0] == "level" else values.mean(axis=0)
    return [float(each) for each in first.ravel()]


def _stations(found: "xr.Dataset") -> Iterator[AnalysisStation]:
    """Yield the root mean squares of departures by station and species, of withheld stations as well."""
    for prefix, withheld in _PREFIXES:
        if f"{prefix}station" not in found:
            continue
        column: dict[str, Any] = {
            name: found[f"{prefix}{name}"].values
            for name in ("station", "species", "unit", "lon", "lat", "departure_before", "departure_after")
        }
        keys = list(zip(column["station"].tolist(), column["species"].tolist(), strict=True))
        for key in dict.fromkeys(keys):
            rows = [k for k, each in enumerate(keys) if each == key]
            first = rows[0]
            yield AnalysisStation(
                station=str(key[0]), species=str(key[1]), unit=str(column["unit"][first]),
                lon=float(column["lon"][first]), lat=float(column["lat"][first]), observations=len(rows),
                before=_rms(column["departure_before"][rows]), after=_rms(column["departure_after"][rows]),
                mean_before=float(column["departure_before"][rows].mean()),
                mean_after=float(column["departure_after"][rows].mean()), withheld=withheld,
            )  # fmt: skip


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))

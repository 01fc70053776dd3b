"""What the section `[assimilation]` of a case says, as objects of this package."""

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import SECONDS_PER_DAY
from airshed.grid import Grid
from airshed.inverse.fourdvar.control import Block, ControlVector
from airshed.inverse.fourdvar.correlation import axis_root, lat_root, lon_root
from airshed.inverse.fourdvar.covariance import Covariance
from airshed.inverse.fourdvar.minimise import FourDVar, Stop
from airshed.inverse.fourdvar.seam import Observed
from airshed.models.air.case import Case
from airshed.models.air.case.inverse import ControlSection
from airshed.observations.column_file import read_columns
from airshed.observations.layouts import FileOptions
from airshed.observations.observation import ErrorModel, Observations
from airshed.observations.reading import FileSummary, read_observations
from airshed.observations.selection import ObservationSelection, RejectedRow, SelectionRules
from airshed.observations.station import read_station_tables
from airshed.observations.time_convention import TimeConvention

Array = npt.NDArray[np.float64]

AXES: Final = {"emission": ("part_of_day", "lat", "lon"), "initial": ("level", "lat", "lon")}
"""The axes of a control of the two sorts; `per` is another than "cell" with fewer of them."""


def control_vector(case: Case, grid: Grid) -> ControlVector:
    """Return the control vector of a case: a block for each `[[assimilation.control]]`, by its name.

    Factors of emission are (part_of_day, lat, lon), (part_of_day, region), or (part_of_day,) for the domain; those of
    the initial state, and increments [mol/mol], are (level, lat, lon), or (1,) for the domain.
    """
    return ControlVector([_block(section, grid) for section in case.assimilation.control])


def _block(section: ControlSection, grid: Grid) -> Block:
    sigma = section.sigma if section.kind == "log-normal" else section.deviation.value
    dims, roots, shape = _axes(section, grid)
    return Block(section.name, dims, Covariance(np.full(shape, sigma), roots), section.kind)


def _axes(section: ControlSection, grid: Grid) -> tuple[tuple[str, ...], list[Array | None], tuple[int, ...]]:
    """Return the axes of a control, the roots of their correlations, and their lengths."""
    emission, correlation = section.of == "emission", section.correlation
    parts = section.parts_of_day
    if emission:
        hours = np.arange(parts) * SECONDS_PER_DAY / parts
        first: Array | None = axis_root(hours, section.time.value, correlation, period=SECONDS_PER_DAY)
    else:
        first = axis_root(grid.level, section.height.value, correlation)
    dims = AXES[section.of]
    if section.per == "domain":
        return (dims[:1], [first], (parts,)) if emission else (("domain",), [None], (1,))
    if section.per == "region":
        return (dims[0], "region"), [first, None], (parts, len(section.regions))
    length = section.length.value
    roots = [first, lat_root(grid.lat, length, correlation), lon_root(grid.lon, grid.lat, length, correlation)]
    return dims, roots, (parts if emission else grid.shape[0], *grid.shape[1:])


def observations_of(case: Case, grid: Grid) -> tuple[Observations, list[RejectedRow], list[FileSummary]]:
    """Return the observations of a case, the rejected rows, and a summary of each file.

    raises  CaseError for a file that is not there, DataError for one that cannot be used
    """
    selection = _selection(case, grid)
    files = _read(case, "stations", selection)
    for path in case.files(case.assimilation.observations.columns, "assimilation.observations.columns"):
        read_columns(path, case.start, selection)
    return selection.observations(), selection.rejected, files


def withheld_of(case: Case, grid: Grid) -> tuple[Observations | None, list[RejectedRow], list[FileSummary]]:
    """Return the observations that are compared but not assimilated, None without any; as :func:`observations_of`."""
    selection = _selection(case, grid)
    if not case.assimilation.observations.withheld:
        return None, [], []
    files = _read(case, "withheld", selection)
    return selection.observations(), selection.rejected, files


def _read(case: Case, key: str, selection: ObservationSelection) -> list[FileSummary]:
    """Read the station files that a setting names."""
    observed = case.assimilation.observations
    paths = case.files(getattr(observed, key), f"assimilation.observations.{key}")
    tables = case.files(observed.station_tables, "assimilation.observations.station_tables")
    zone, label = observed.time.zone, observed.time.label
    return read_observations(
        paths, case.start, selection,
        stations=read_station_tables(tables) if tables else None,
        time=TimeConvention(zone, label) if zone else None,
        averaging=None if observed.averaging == "auto" else observed.averaging.value,
        options=FileOptions(units=dict(observed.units)),
    )  # fmt: skip


def window_of(case: Case) -> float:
    """Return the length [s] of the window, which begins with the case."""
    section = case.assimilation
    return float((case.time.length if section.window == "auto" else section.window).value)


def _selection(case: Case, grid: Grid) -> ObservationSelection:
    observed = case.assimilation.observations
    errors = ErrorModel(observed.instrument, observed.representativeness, observed.least)
    choice = SelectionRules(observed.flags, observed.outside, observed.others, dict(observed.names), errors)
    return ObservationSelection(grid, window_of(case), observed.species, choice)


def fourdvar(case: Case, model: Observed, observations: Observations, file: Path | None = None) -> FourDVar:
    """Return the minimisation that a case asks for, which goes on where ``file`` says."""
    observed = case.assimilation.observations
    control = control_vector(case, case.make_grid())
    return FourDVar(
        model, control, observations, stop=stop_rules(case), check=observed.check,
        background_share=observed.background, file=file,
    )  # fmt: skip


def stop_rules(case: Case) -> Stop:
    """Return when the minimisation of a case ends."""
    section = case.assimilation
    return Stop(section.iterations, section.gradient, section.decrease)

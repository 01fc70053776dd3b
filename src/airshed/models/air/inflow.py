"""Inflow of a model: boundary concentrations of an outer run, of files of another model, or of a Dataset on a grid."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.data import is_dataset
from airshed.core.report import Report
from airshed.io.model_output import ModelOutput
from airshed.models.air.assembly import clean_air_of
from airshed.models.air.boundary.field import GivenBoundary, cells_beyond, is_on_grid
from airshed.models.air.boundary.files import (
    FileBoundary,
    OuterSpecies,
    above,
    air_at_faces,
    open_outputs,
    outer_species,
    profiles_of,
)
from airshed.models.air.boundary.outer import NestedBoundary, OuterRun
from airshed.models.air.case import Case
from airshed.models.air.case.estimate import describe as describe_settings

if TYPE_CHECKING:
    from airshed.models.air.model import AirModel


def boundary_of(model: "AirModel") -> NestedBoundary | FileBoundary | None:
    """Return the boundary concentrations that a case gives by an outer run or files; None for profiles."""
    case, parts = model.case, model.parts
    if case.boundary.run is not None:
        outer = OuterRun(case.path(case.boundary.run), model.network.names, "boundary.run")
        nested = NestedBoundary(outer, model.whole, case.start, case.time.length.value)
        parts.notes.append(("boundary", nested.note))
        return nested
    return None if parts.outer is None else _of_files(model, parts.outer)


def on_faces(model: "AirModel", given: GivenBoundary) -> GivenBoundary:
    """Return boundary concentrations of a user, interpolated where a Dataset is on a grid instead of face cells."""
    if not is_dataset(given) or not is_on_grid(given):
        return given
    output = ModelOutput(given, "the boundary's dataset", layers=model.whole.level)
    outer = outer_species(model.case, [output], model.parts.masses, model.parts.clean, "the boundary")
    return _of_files(model, outer)


def _of_files(model: "AirModel", outer: OuterSpecies) -> FileBoundary:
    """Return the boundary concentrations of files, and set those above the area."""
    case, parts, constants = model.case, model.parts, model.constants
    state, length = parts.meteorology.at(parts.begin), case.time.length.value
    boundary = FileBoundary(outer, model.whole, air_at_faces(state, model.whole, model.subdomain), case.start, length)
    top = np.array(constants.top)
    for name, value in above(outer, state, model.grid, model.subdomain, (case.start, length)).items():
        top[model.network.index(name)] = value
    model.set_boundary(constants.profile, top)
    parts.outer = outer
    parts.notes += [("boundary", note) for note in (outer.note(parts.boundary), boundary.gaps) if note]
    return boundary


def describe(case: Case) -> Report:
    """Return the estimate for `airshed show`, with the source of boundary concentrations from files."""
    report = describe_settings(case)
    if not case.boundary.files:
        return report
    case, masses, clean = clean_air_of(case)
    outputs = open_outputs(case.files(case.boundary.files, "boundary.files"))
    outer = outer_species(case, outputs, masses, clean, "boundary.files")
    outer.model.check_covers(case.start, case.start + np.timedelta64(round(case.time.length.value), "s"))
    outer.model.check_places(*cells_beyond(case.make_grid(), 1))
    table = outer.table(profiles_of(case, tuple(masses), clean))
    return replace(report, tables=[*report.tables, table])

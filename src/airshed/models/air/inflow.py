"""Inflow of a model: boundary concentrations of an outer run, of files of another model, or of a Dataset on a grid."""

from typing import TYPE_CHECKING

import numpy as np

from airshed.core.data import is_dataset
from airshed.io.model_output import ModelOutput
from airshed.models.air.boundary.field import GivenBoundary, is_on_grid
from airshed.models.air.boundary.files import FileBoundary, OuterSpecies, above, air_at_faces, outer_species
from airshed.models.air.boundary.outer import NestedBoundary, OuterRun

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
    parts.notes.append(("boundary", outer.note(parts.boundary)))
    return boundary

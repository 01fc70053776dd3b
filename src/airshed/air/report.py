"""What a run has to say at its end: budgets of species and families, extremes, emissions, where input came from."""

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.air.budget import PROCESSES, SIGNS
from airshed.core.report import Report, Table

if TYPE_CHECKING:
    from airshed.air.model import AirModel

Array = npt.NDArray[np.float64]

FAMILIES: Final = {"N": "nitrogen", "S": "sulphur"}
"""Elements whose atoms are followed through all species: what chemistry changes of them is the drift of the unconverged
Gauss-Seidel iteration, and what the mechanism itself does not balance."""

_COLUMNS: Final = (*PROCESSES, "change", "residual")


def budget_dataset(model: "AirModel") -> xr.Dataset:
    """Return amounts [mol] by process, for each species and for the atoms of each family, since budgets began.

    residual = change - (inflow - outflow + emitted - deposited + chemistry + clipped)
    """
    amounts, processes, _ = model.baseline
    names = list(model.network.names)
    parts = model.budget.amounts - processes
    change = model.amounts() - amounts
    weights = np.vstack([np.eye(len(names)), *(_atoms(model, element)[None] for element in _families(model))])
    labels = names + list(_families(model).values())
    table = {name: parts[row] @ weights.T for row, name in enumerate(PROCESSES)} | {"change": change @ weights.T}
    table["residual"] = table["change"] - sum(SIGNS[name] * table[name] for name in PROCESSES)
    table["throughput"] = (model.amounts() + amounts + np.abs(parts).sum(axis=0)) @ weights.T
    data = {name: ("species", values, {"units": "mol"}) for name, values in table.items()}
    return xr.Dataset(data, coords={"species": labels})


def summary(model: "AirModel") -> Report:
    """Return budgets, extremes and provenance as a report."""
    tables = [_budgets(model), _families_table(model), _extremes(model), _emissions(model), _input(model)]
    facts = {
        "mechanism": f"{model.network.name}, {len(model.network.species)} species, {len(model.network.reactions)} reactions",
        "grid": " x ".join(str(size) for size in reversed(model.grid.shape)) + " cells (lon x lat x level)",
        "simulated": f"{model.seconds / 3600.0:g} h in {model.steps} steps",
    }
    return Report(model.case.title, [table for table in tables if table.rows], facts)


def _families(model: "AirModel") -> dict[str, str]:
    return {element: text for element, text in FAMILIES.items() if _atoms(model, element).any()}


def _atoms(model: "AirModel", element: str) -> Array:
    return np.array([float(species.atoms.get(element, 0)) for species in model.network.species])


def _rows(budget: xr.Dataset, labels: list[str]) -> list[tuple[str | float, ...]]:
    chosen = budget.sel(species=labels)
    return [(name, *(float(chosen[column][row]) for column in _COLUMNS)) for row, name in enumerate(labels)]


def _budgets(model: "AirModel") -> Table:
    names = list(model.network.names)
    return Table("Budgets of species [mol]", ("species", *_COLUMNS), _rows(budget_dataset(model), names))


def _families_table(model: "AirModel") -> Table:
    note = "chemistry: drift of the unconverged iteration, and what the mechanism does not balance"
    rows = _rows(budget_dataset(model), list(_families(model).values()))
    return Table("Budgets of families [mol of atoms]", ("family", *_COLUMNS), rows, note)


def _extremes(model: "AirModel") -> Table:
    rows = []
    for name in model.network.names:
        value = model.value(name)
        rows.append((name, float(value.min()), float(value.max()), float(value[0].mean())))
    return Table("Extremes at the end [mol/mol]", ("species", "least", "greatest", "mean at the ground"), rows)


def _emissions(model: "AirModel") -> Table:
    rows = []
    for source in model.sources.sources:
        for row in getattr(source, "summary", list)():
            rows.append((row.species, row.sector, row.moles, row.kilograms_per_day))
    return Table("Emission of a day by species and sector", ("species", "sector", "amount [mol]", "mass [kg/day]"), rows)


def _input(model: "AirModel") -> Table:
    parts = model.parts
    rows = [("meteorology", name, origin) for name, origin in parts.meteorology.provenance.items()]
    rows += [("boundary", name, origin) for name, origin in parts.boundary.provenance.items()]
    rows += [("deposition", name, origin) for name, origin in parts.deposition.provenance.items()]
    rows += [("surface", "", note) for note in parts.notes]
    return Table("Input: read, given or diagnosed", ("part", "field", "origin"), rows)

"""What a run has to say at its end: budgets of species and families, extremes, emissions, where input came from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import xarray as xr

from airshed.air.budget import FAMILIES, PROCESSES, SIGNS
from airshed.core.report import Report, Table
from airshed.mechanism.balance import atom_counts

if TYPE_CHECKING:
    from airshed.air.model import AirModel

_COLUMNS: Final = (*PROCESSES, "change", "residual")
_FAMILY_COLUMNS: Final = (*PROCESSES[:4], "imbalance", "drift", "clipped", "change", "residual")


def budget_dataset(model: "AirModel") -> xr.Dataset:
    """Return amounts [mol] by process, for each species and for the atoms of each family, since budgets began.

    residual   change - (inflow - outflow + emitted - deposited + chemistry + clipped): round-off
    imbalance  of families: atoms that the mechanism's reactions make or lose by definition; 0 for species
    drift      of families: chemistry - imbalance, what the unconverged Gauss-Seidel iteration adds; 0 for species
    throughput the sum of the magnitudes of all terms, what the residual is to be compared with
    """
    base, names = model.baseline, list(model.network.names)
    now, parts = model.amounts(), model.budget.amounts - base.processes
    families = np.array([atom_counts(model.network, element) for element in model.families]).reshape(-1, len(names))
    weights = np.vstack([np.eye(len(names)), families])
    table = {name: weights @ parts[row] for row, name in enumerate(PROCESSES)} | {
        "change": weights @ (now - base.amounts)
    }
    table["residual"] = table["change"] - sum(SIGNS[name] * table[name] for name in PROCESSES)
    table["imbalance"] = np.concatenate([np.zeros(len(names)), model.budget.imbalance - base.imbalance])
    table["drift"] = np.where(np.arange(len(weights)) < len(names), 0.0, table["chemistry"] - table["imbalance"])
    table["throughput"] = weights @ (now + base.amounts + np.abs(parts).sum(axis=0))
    data = {name: ("species", values, {"units": "mol"}) for name, values in table.items()}
    return xr.Dataset(data, coords={"species": names + [FAMILIES[element] for element in model.families]})


def summary(model: "AirModel") -> Report:
    """Return budgets, extremes and provenance as a report."""
    tables = [_budgets(model), _families_table(model), _extremes(model), _emissions(model), _input(model)]
    facts = {
        "mechanism": f"{model.network.name}, {len(model.network.species)} species, {len(model.network.reactions)} reactions",
        "grid": " x ".join(str(size) for size in reversed(model.grid.shape)) + " cells (lon x lat x level)",
        "simulated": f"{model.seconds / 3600.0:g} h in {model.steps} steps",
    }
    return Report(model.case.title, [table for table in tables if table.rows], facts)


def _rows(budget: xr.Dataset, labels: list[str], columns: Sequence[str]) -> list[tuple[str | float, ...]]:
    chosen = budget.sel(species=labels)
    return [(name, *(float(chosen[column][row]) for column in columns)) for row, name in enumerate(labels)]


def _budgets(model: "AirModel") -> Table:
    rows = _rows(budget_dataset(model), list(model.network.names), _COLUMNS)
    return Table("Budgets of species [mol]", ("species", *_COLUMNS), rows)


def _families_table(model: "AirModel") -> Table:
    note = "imbalance: what the mechanism's reactions do not balance; drift: of the unconverged iteration"
    rows = _rows(budget_dataset(model), [FAMILIES[element] for element in model.families], _FAMILY_COLUMNS)
    return Table("Budgets of families [mol of atoms]", ("family", *_FAMILY_COLUMNS), rows, note)


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
    return Table(
        "Emission of a day by species and sector", ("species", "sector", "amount [mol]", "mass [kg/day]"), rows
    )


def _input(model: "AirModel") -> Table:
    parts = model.parts
    rows = [("meteorology", name, origin) for name, origin in parts.meteorology.provenance.items()]
    rows += [("boundary", name, origin) for name, origin in parts.boundary.provenance.items()]
    rows += [("deposition", name, origin) for name, origin in parts.deposition.provenance.items()]
    rows += [("surface", "", note) for note in parts.notes]
    return Table("Input: read, given or diagnosed", ("part", "field", "origin"), rows)

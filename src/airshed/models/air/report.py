"""Report of a run: budgets of species and families, extremes, emission, and the origin of its input."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted, duration
from airshed.grid import Grid
from airshed.grid.projected import MapProjection
from airshed.mechanism.structure import atom_counts
from airshed.models.air.budget import FAMILIES
from airshed.models.air.case import case_notices
from airshed.models.air.emissions.inventory import SectorAmount
from airshed.models.air.emissions.report import (
    country_table,
    emission_notes,
    emission_rows,
    file_table,
    sector_matrix,
    sector_table,
)

if TYPE_CHECKING:
    import xarray as xr

    from airshed.models.air.model import AirModel

MORE_THAN_AIR: Final = "more than all air"  # fact with the species whose mixing ratio exceeds 1 mol/mol
_MOST_SPECIES: Final = 20
_PPB: Final = 1e9
_EMPTY: Final = 1e-12  # mean in the lowest layer, relative to the maximum, that is round-off of the vertical wind
_CHANGED: Final = 1e-2  # relative difference of emission that no time step causes
_MUCH_DRIFT: Final = 5e-3
_MUCH_CLIPPED: Final = 1e-4
_SMALL_DRIFT: Final = 1e-3  # % of emissions
_CLOSED: Final = {"double": 1e-9, "single": 1e-4}  # relative error of a budget that is round-off
BudgetTable = dict[str, dict[str, float]]  # term -> species or family -> its amount [mol]


def budget_dataset(model: "AirModel") -> "xr.Dataset":
    """Return the budget of each species and of the atoms of each family [mol], by process, since the baseline.

    residual   change - (inflow - outflow + emitted - deposited + chemistry + clipped, and terms of other processes
               with their signs): round-off
    imbalance  of families: atoms that the reactions of the mechanism do not conserve; 0 for species
    drift      of families: chemistry - imbalance, the error of the unconverged Gauss-Seidel iteration (round-off for
               Strang splitting); 0 for species
    throughput sum of the magnitudes of all terms, the scale of the residual

    With `boundary.budget = "faces"` the dataset also has inflow and outflow through each lateral face of each level,
    and through the top of each column.
    """
    import xarray as xr

    table = budget_table(model)
    data: dict[str, Any] = {name: ("species", list(row.values()), {"units": "mol"}) for name, row in table.items()}
    coordinates: dict[str, Any] = {"species": list(table["change"])}
    if model.budget.faces is not None:
        further, places = model.budget.faces.variables(model.parts.whole, _weights(model))
        data, coordinates = data | further, coordinates | places
    return xr.Dataset(data, coordinates)


def budget_table(model: "AirModel") -> BudgetTable:
    """Return the budget of :func:`budget_dataset` by process, as plain numbers."""
    base, names, weights = model.baseline, list(model.parts.network.names), _weights(model)
    now, parts = model.amounts(), model.budget.amounts - base.processes
    signs = model.budget.signs
    table = {name: weights @ row for name, row in zip(signs, parts, strict=True)}
    table["change"] = weights @ (now - base.amounts)
    table["residual"] = table["change"] - sum(sign * table[name] for name, sign in signs.items())
    table["imbalance"] = np.concatenate([np.zeros(len(names)), model.budget.imbalance - base.imbalance])
    table["drift"] = np.where(np.arange(len(weights)) < len(names), 0.0, table["chemistry"] - table["imbalance"])
    table["throughput"] = weights @ (now + base.amounts + np.abs(parts).sum(axis=0))
    labels = (*names, *(FAMILIES[element] for element in model.families))
    return {name: dict(zip(labels, row.tolist(), strict=True)) for name, row in table.items()}


def _weights(model: "AirModel") -> NDArray[np.float64]:
    """Return the weights of each budget (row, species): each species, and the atoms of each family."""
    network, count = model.parts.network, len(model.parts.network.names)
    families = np.array([atom_counts(network, element) for element in model.families]).reshape(-1, count)
    return np.vstack([np.eye(count), families])


def summary(model: "AirModel", *, brief: bool = False) -> Report:
    """Return the facts of a run, and unless it is brief the tables of budgets, extremes, emission and input."""
    budget, parts = budget_table(model), model.parts
    begin = min(model.baseline.seconds, model.seconds)  # during the spin-up, its begin
    emitted = emission_rows(parts.sources, parts.network, begin, model.seconds, parts.start)
    extremes = _extremes(model, list(parts.network.names))
    files = file_table(parts.sources, begin, model.seconds)
    tables = [] if brief else _all_tables(model, budget, emitted, extremes, files)
    facts = _facts(model) | _closing_facts(model, budget, emitted)
    facts |= _empty_at_ground(model, budget, extremes) | _more_than_air(extremes)
    shown = [table for table in tables if table.rows]
    return Report(parts.case.title, shown, facts, warnings=[name for name in (MORE_THAN_AIR,) if name in facts])


def _all_tables(
    model: "AirModel",
    budget: BudgetTable,
    emitted: Sequence[SectorAmount],
    extremes: Table,
    files: Table,
) -> list[Table]:
    names, families = list(model.parts.network.names), [FAMILIES[element] for element in model.families]
    *processes, _, clipped = model.budget.signs
    columns = (*model.budget.signs, "change", "residual")
    of_families = (*processes, "imbalance", "drift", clipped, "change", "residual")
    note = "imbalance: atoms that reactions of the mechanism do not conserve; drift: error of the unconverged iteration"
    return [
        _main_budgets(model, budget, _species_of_output(model)),
        *_budgets_by_side(model),
        Table("Budgets of species [mol]", ("species", *columns), _rows(budget, names, columns)),
        Table(
            "Budgets of families [mol of atoms]", ("family", *of_families), _rows(budget, families, of_families), note
        ),
        extremes,
        sector_matrix(emitted),
        sector_table(emitted),
        country_table(model.parts.sources),
        files,
        _input(model),
    ]  # fmt: skip


def _facts(model: "AirModel") -> dict[str, Cell]:
    network, begin, end = model.parts.network, model.parts.begin, model.seconds
    period = f"{duration(max(end, 0.0))} from {model.parts.case.time.start:%Y-%m-%d %H:%M} UTC"
    spinup = f", after {duration(min(end, 0.0) - begin)} of spin-up" if begin < 0.0 else ""
    counts: dict[str, Cell] = {} if model.cell_counts is None else {"chemistry of cells": str(model.cell_counts)}
    notices = "; ".join(case_notices(model.parts.case, network))
    return {
        "mechanism": f"{network.name}, {len(network.species)} species, {len(network.reactions)} reactions",
        "grid": _grid_in_words(model.parts.whole),
        "simulated": f"{period}{spinup}, {counted(model.steps, 'step')}",
        **counts,
        **({"notice": notices} if notices else {}),
    }


def _closing_facts(model: "AirModel", budget: BudgetTable, sources: Sequence[SectorAmount]) -> dict[str, Cell]:
    """Return in a line each how well the budgets close; species so rare that they are round-off do not count."""
    labels = [*_species_of_output(model), *(FAMILIES[element] for element in model.families)]
    labels = labels or list(model.parts.network.names)  # of a run that writes the weather alone
    relative = np.abs(_relative_residual(budget, labels))
    worst, chemistry = int(relative.argmax()), model.parts.case.chemistry
    closed = "closed" if relative[worst] < _CLOSED[chemistry.precision] else "NOT closed"
    facts: dict[str, Cell] = {
        "budgets": f"{closed}: largest relative error {_share(relative[worst])} ({labels[worst]})",
        **_clipping(budget, labels),
        **_against_sources(model.parts.network.names, budget, sources),
    }
    sweeps = f"Gauss-Seidel, {chemistry.sweeps} sweep{'s' * (chemistry.sweeps != 1)}"
    cause = f"{sweeps}; raise chemistry.sweeps to reduce it" if model.cell_counts is None else "round-off"
    for element in model.families:
        family = FAMILIES[element]
        facts[family] = _conservation(budget["drift"][family], budget["emitted"][family], cause)
    advice = _advice(model, budget)
    return facts | ({"advice": advice} if advice else {})


def _clipping(budget: BudgetTable, labels: Sequence[str]) -> dict[str, Cell]:
    """Return the largest share of its throughput that clipping of negative values added to a species."""
    shares = {name: abs(budget["clipped"][name]) / max(0.5 * budget["throughput"][name], 1e-300) for name in labels}
    worst = max(shares, key=lambda name: shares[name])
    added = f"negative values set to 0 added {100.0 * shares[worst]:.1g} % of the {worst}, other species less"
    return {"clipping": added} if shares[worst] > 0.0 else {}


def _grid_in_words(grid: Grid) -> str:
    """Return the number of cells along each axis, and the map projection with its sphere."""
    size, mapping = " x ".join(str(size) for size in reversed(grid.shape)), grid.mapping
    if isinstance(mapping, MapProjection):
        return f"{size} cells (x, y, level); {mapping.describe()}"
    return f"{size} cells (lon x lat x level)"


def _conservation(drift: float, emitted: float, cause: str) -> str:
    """Return in words how well chemistry conserves the atoms of a family [mol]."""
    if drift == 0.0:
        return "conserved"
    share = 100.0 * abs(drift) / emitted if emitted > 0.0 else 0.0
    size = f"to {share:.2g} % of emissions" if emitted > 0.0 else f"to {abs(drift):.2g} mol"
    return f"conserved {size} ({cause})" if emitted <= 0.0 or share >= _SMALL_DRIFT else f"conserved {size}"


def _against_sources(names: Sequence[str], budget: BudgetTable, sources: Sequence[SectorAmount]) -> dict[str, Cell]:
    """Return the largest relative difference of emitted amounts and the integrals of source rates."""
    integrals: dict[str, float] = {}
    for row in sources:
        integrals[row.species] = integrals.get(row.species, 0.0) + row.moles
    if not integrals:
        return {}
    differences = {}
    for name in names:
        done, moles = budget["emitted"][name], integrals.get(name, 0.0)
        # without a source, such as isoprene at night, round-off is compared with the throughput
        scale = max(abs(done), moles) if moles > 0.0 else max(abs(done), budget["throughput"][name])
        differences[name] = abs(done - moles) / scale if done != moles else 0.0
    worst = max(differences, key=lambda name: differences[name])
    if differences[worst] > _CHANGED:
        share = f"{100.0 * differences[worst]:.2g} %"
        return {"emission": f"differs from that of the present sources by {share} ({worst}): were they changed?"}
    return {"emission": f"agrees with the sources to {_share(differences[worst])} ({worst})"}


def _share(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def _advice(model: "AirModel", budget: BudgetTable) -> str:
    """Return advice on settings where the drift of the iteration or clipping is too large.

    The limit of the drift is 0.5 % of the emission of a family. The limit of clipping is 1e-4 of the amount of a family
    or of the throughput of a species.
    """
    time, network = model.parts.case.time, model.parts.network
    amounts = model.amounts()
    held = {FAMILIES[element]: float(amounts @ atom_counts(network, element)) for element in model.families}
    held |= {name: 0.5 * budget["throughput"][name] for name in network.names}
    shorter = "a shorter time.maximum_step" if time.step == "auto" else "a shorter time.step"
    advice = []
    emitted = {FAMILIES[element]: budget["emitted"][FAMILIES[element]] for element in model.families}
    if drifting := _largest_share(budget, "drift", emitted, _MUCH_DRIFT):
        sweeps, start = model.parts.case.chemistry.sweeps + 2, "" if time.spinup.value else ", or a time.spinup"
        advice.append(f"the iteration drifts by {drifting} emitted; take chemistry.sweeps = {sweeps}, {shorter}{start}")
    if clipped := _largest_share(budget, "clipped", held, _MUCH_CLIPPED):
        smaller = f"a smaller time.courant, or {shorter}" if time.step == "auto" else shorter
        advice.append(f"clipping of negative values added {clipped}; take {smaller}")
    return "; ".join(advice)


def _largest_share(budget: BudgetTable, term: str, wholes: Mapping[str, float], limit: float) -> str:
    """Return the largest fraction of its whole, as text; empty where it is below the limit."""
    shares = {name: abs(budget[term][name]) / whole for name, whole in wholes.items() if whole > 0.0}
    share, name = max(((share, name) for name, share in shares.items()), default=(0.0, ""))
    return f"{100.0 * share:.2g} % of the {name}" if share > limit else ""


def _species_of_output(model: "AirModel") -> list[str]:
    """Return the species of the outputs, as many as fit on a screen."""
    chosen = [model.parts.network.names if each.fields == "all" else each.fields for each in model.parts.case.output]
    names = dict.fromkeys(name for fields in chosen for name in fields)
    return [name for name in names if name in model.parts.network.names][:_MOST_SPECIES]


def _rows(budget: BudgetTable, labels: list[str], columns: Sequence[str]) -> list[tuple[str | float, ...]]:
    return [(label, *(budget[column][label] for column in columns)) for label in labels]


def _main_budgets(model: "AirModel", budget: BudgetTable, names: list[str]) -> Table:
    families = [FAMILIES[element] for element in model.families]
    labels = [*names, *families]
    relative = _relative_residual(budget, labels)
    clipped = any(budget["clipped"][label] for label in labels)
    columns = [*(name for name in model.budget.signs if name != "clipped" or clipped), "change"]
    rows = [
        (row[0], *(float(f"{1e-6 * float(value):.3g}") for value in row[1:]), float(f"{closing:.0e}"))
        for row, closing in zip(_rows(budget, labels, columns), relative, strict=True)
    ]
    note = (
        f"since the start; {_balance(model.budget.signs, columns)}; residual relative to the amounts present and moved"
    )
    return Table("Main budgets [million mol]", ("species", *columns, "residual"), rows, note)


def _budgets_by_side(model: "AirModel") -> list[Table]:
    """Return the inflow and outflow of species by side of the area, with `boundary.budget = "faces"`; collective."""
    if model.budget.faces is None:
        return []
    by_side = model.budget.faces.by_side()
    names = model.parts.network.names
    return [
        Table(
            f"{term.capitalize()} by side [mol]", ("species", *by_side),
            [(name, *(float(sides[number, row]) for sides in by_side.values())) for row, name in enumerate(names)],
        )
        for number, term in enumerate(("inflow", "outflow"))
    ]  # fmt: skip


def _balance(signs: Mapping[str, float], columns: Sequence[str]) -> str:
    """Return the sum that the columns of a budget obey: "change = inflow - outflow + emitted ..."."""
    terms = [f"{'-' if signs[name] < 0.0 else '+'} {name}" for name in columns if name in signs]
    return f"change = {' '.join(terms).removeprefix('+ ')}"


def _relative_residual(budget: BudgetTable, labels: list[str]) -> NDArray[np.float64]:
    residual, throughput = (np.array([budget[term][label] for label in labels]) for term in ("residual", "throughput"))
    return np.asarray(residual / np.maximum(throughput, 1e-300))


def _empty_at_ground(model: "AirModel", budget: BudgetTable, extremes: Table) -> dict[str, Cell]:
    """Return the emitted species that the lowest layer does not hold, and whether a zero diffusivity is the cause."""
    rows: Sequence[Any] = extremes.rows
    found = [name for name, _, most, ground in rows if budget["emitted"][name] > 0.0 and ground < _EMPTY * most]
    weather = model.parts.case.meteorology
    is_still = weather.kind == "uniform" and weather.diffusivity.value == weather.daytime_diffusivity.value == 0.0
    why = ": the vertical diffusivity is 0; set meteorology.diffusivity to mix it downwards" if is_still else ""
    return {"lowest layer": f"holds no {', '.join(found)}{why}"} if found else {}


def _more_than_air(extremes: Table) -> dict[str, Cell]:
    """Return the species with mixing ratios above 1 mol/mol: the model does not add them to the amount of air."""
    rows = extremes.rows
    found = [f"{name} {most / _PPB:.3g}" for name, _, most, _ in rows if isinstance(most, float) and most > _PPB]
    return {MORE_THAN_AIR: f"{', '.join(found)} mol/mol at most; reduce the emission"} if found else {}


def _extremes(model: "AirModel", names: Sequence[str]) -> Table:
    """Return the extremes and surface means of species, with one reduction over ranks for all species."""
    subdomain = model.parts.subdomain
    values = [_PPB * model.value(name) for name in names]
    least, greatest = ([float(extreme(value)) for value in values] for extreme in (np.min, np.max))
    extremes = subdomain.ranks.largest(np.array([*np.negative(least), *greatest])).reshape(2, -1)
    at_ground = np.array([value[0] for value in values]).reshape(-1, *model.parts.grid.shape[1:])  # also for no species
    means = subdomain.mean_over_columns(at_ground)
    rows = [
        (name, -float(below), float(above), float(mean))
        for name, below, above, mean in zip(names, *extremes, means, strict=True)
    ]
    return Table(
        "Minima and maxima of the last state [ppb]", ("species", "minimum", "maximum", "mean at the ground"), rows
    )


def _input(model: "AirModel") -> Table:
    parts = model.parts
    rows = [("meteorology", name, origin) for name, origin in parts.meteorology.provenance.items()]
    origins = parts.boundary.provenance | ({} if parts.outer is None else parts.outer.origins())
    rows += [("boundary", name, origin) for name, origin in origins.items()]
    for section, provenance in parts.processes.provenance.items():
        rows += [(section, name, origin) for name, origin in provenance.items()]
    rows += [(part, "", note) for part, note in parts.notes]
    rows += [("emission", "", note) for note in emission_notes(parts.sources)]
    rows += [(name, "", text) for name, text in parts.attributes.items()]
    return Table("Input: read, given or diagnosed", ("part", "field", "origin"), rows)

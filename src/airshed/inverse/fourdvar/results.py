"""Results of an assimilation: report.txt with costs, departures and diagnostics, and analysis.nc."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.report import Cell, Report, Table
from airshed.inverse.fourdvar.control import Block, ControlVector
from airshed.inverse.fourdvar.minimise import Analysis, Record, check_background
from airshed.inverse.fourdvar.posterior import Posterior
from airshed.inverse.fourdvar.study import Outcome, Study
from airshed.inverse.fourdvar.twin import truth, twin_facts
from airshed.observations.observation import Observations

if TYPE_CHECKING:
    import xarray as xr


def cost_table(history: Sequence[Record]) -> Table:
    """Return the cost by part, the norm of the gradient, and the number of runs of model and adjoint, by iteration."""
    names = list(history[0].parts)
    columns = ("iteration", "J", *(f"J {name}" for name in names), "|grad J|", "runs")
    rows = [
        (each.iteration, each.cost, *(each.parts[name] for name in names), each.gradient_norm, each.evaluations)
        for each in history
    ]
    return Table("Cost", columns, rows)


def departure_table(observations: Observations, analysis: Analysis) -> Table:
    """Return mean and root mean square of y - H(x), and the mean of ((y - H(x)) / sigma)^2, before and after."""
    rows: list[Sequence[Cell]] = []
    for name, numbers in observations.groups().items():
        for unit in np.unique(observations.unit[numbers]).tolist():
            mine = numbers[(observations.unit[numbers] == unit) & analysis.accepted[numbers]]
            if mine.size:
                before = _moments(observations, analysis.background, mine)
                after = _moments(observations, analysis.simulated, mine)
                pairs = [value for pair in zip(before, after, strict=True) for value in pair]
                rows.append((name, unit, int(mine.size), *pairs))
    names = ("mean before", "mean after", "rms before", "rms after", "chi2/p before", "chi2/p after")
    return Table("Departures of observations", ("observed", "unit", "p", *names), rows)


def _moments(observations: Observations, simulated: Array, rows: npt.NDArray[np.intp]) -> tuple[float, float, float]:
    d = observations.value[rows] - simulated[rows]
    return float(d.mean()), float(np.sqrt(np.mean(d**2))), float(np.mean((d / observations.sigma[rows]) ** 2))


def control_table(control: ControlVector, analysis: Analysis, posterior: Posterior | None = None) -> Table:
    """Return the range of controls, and the mean standard deviation of x before and after, by block."""
    rows: list[Sequence[Cell]] = []
    for block in control.blocks:
        values = analysis.controls[block.name]
        spread = float(posterior.spread[block.name].mean()) if posterior else None
        ends = (float(values.min()), float(np.median(values)), float(values.max()))
        rows.append((block.name, block.kind, int(values.size), *ends, float(block.covariance.sigma.mean()), spread))
    columns = ("control", "kind", "n", "least", "median", "most", "sigma before", "sigma after")
    return Table("Controls", columns, rows)


def diagnostics_report(
    control: ControlVector, observations: Observations, analysis: Analysis, posterior: Posterior | None = None
) -> Report:
    """Return all tables, and diagnostics of the assumed errors.

    If B and R are correct and H is nearly linear, 2 J / p at the minimum is 1 +- sqrt(2 / p). A larger value means
    that the assumed errors are too small, a smaller one that they are too large.  2 J_b should equal the degrees of
    freedom for signal.

    source  Talagrand 1999, ECMWF Workshop on Diagnosis of Data Assimilation Systems, 17-28
    """
    last, p = analysis.history[-1], int(analysis.accepted.sum())
    facts: dict[str, Cell] = {
        "observations": p,
        "rejected by the background check": int((~analysis.accepted).sum()),
        "controls": control.size,
        "iterations": last.iteration,
        "runs of model and adjoint": last.evaluations,
        "stopped by": analysis.stopped,
        "gradient reduced to": last.gradient_norm / analysis.history[0].gradient_norm if last.gradient_norm else 0.0,
        "2 J / p": 2.0 * last.cost / p,
        "its deviation if errors are correct": float(np.sqrt(2.0 / p)),
        "2 J background": 2.0 * last.parts["background"],
    }
    if posterior is not None:
        facts |= {"degrees of freedom for signal": posterior.dfs, "their standard error": posterior.dfs_error}
    tables = [cost_table(analysis.history), departure_table(observations, analysis)]
    tables.append(control_table(control, analysis, posterior))
    return Report("4D-Var", tables, facts, ok=analysis.stopped != "no step")


Variables = dict[str, tuple[Any, ...]]

ANALYSIS: Final = "analysis.nc"
REPORT: Final = "report.txt"


def outcome_report(study: Study, outcome: Outcome) -> Report:
    """Return diagnostics, the change of the cost, withheld observations, and errors of factors in twin experiments."""
    found = diagnostics_report(study.control, study.observed.observations, outcome.analysis, outcome.posterior)
    observed, analysis = study.observed, outcome.analysis
    before, after = (each.cost - each.parts["background"] for each in (analysis.history[0], analysis.history[-1]))
    facts: dict[str, Cell] = {
        **found.facts, "cost of observations before": before, "cost of observations after": after,
        "reduction of the cost of observations [%]": 100.0 * (1.0 - after / before),
        "rows rejected": sum(row.rows for row in observed.rejected),
    }  # fmt: skip

    # Withheld observations: chi2/p is 1 where departures equal the observation errors.
    for when, simulated in (("before", outcome.withheld_before), ("after", outcome.withheld_after)):
        if (withheld := observed.withheld) is not None and simulated is not None:
            chi2 = np.mean(((withheld.value - simulated) / withheld.sigma) ** 2)
            facts[f"chi2/p of withheld observations {when}"] = float(chi2)

    # Observations that the background check rejected.
    settings, background = study.case.assimilation.observations, analysis.background
    checked = check_background(
        observed.observations, background, settings.background_check, settings.background_error * np.abs(background)
    )  # fmt: skip
    rejected = [checked.table()] if checked.rejected else []
    clipped = {
        f"control {name} is clipped at zero [% of cells]": 100.0 * share for name, share in outcome.clipped.items()
    }
    facts |= clipped
    tables = [*found.tables, *rejected, *observed.tables()]
    if study.case.assimilation.twin.stations:
        more, table = twin_facts(study, outcome)
        facts, tables = facts | more, [*tables, table]
    return replace(found, title=f"4D-Var: {study.case.title}", facts=facts, tables=tables, warnings=list(clipped))


def analysis_dataset(study: Study, outcome: Outcome) -> "xr.Dataset":
    """Return controls before and after, the departures of all observations, and the history of the cost.

    In addition to the dimensions of the grid, controls have the dimensions `CONTROL_part_of_day` and `CONTROL_region`.
    """
    import xarray as xr

    grid, analysis = study.air_model.whole, outcome.analysis
    variables: Variables = {**grid.axes.dataset_coords()}
    for block in study.control.blocks:
        variables |= _control(study, outcome, block)
    variables |= _departures("", study.observed.observations, analysis.background, analysis.simulated, study.case.start)
    variables["accepted"] = ("observation", analysis.accepted.astype(np.int8), {"long_name": "passed the check"})
    before, after = outcome.withheld_before, outcome.withheld_after
    if study.observed.withheld is not None and before is not None and after is not None:
        variables |= _departures("withheld_", study.observed.withheld, before, after, study.case.start)
    variables |= _history(outcome)
    names = {each.name for each in grid.axes.coordinates} | {name for name in variables if name.endswith("_region")}
    data = {name: value for name, value in variables.items() if name not in names}
    attributes = {"title": study.case.title, "stopped_by": analysis.stopped, **study.air_model.parts.attributes}
    return xr.Dataset(data, {name: variables[name] for name in names}, attributes)


def _control(study: Study, outcome: Outcome, block: Block) -> Variables:
    """Return the variables of a control: before, after, standard deviations, and the truth of a twin experiment."""
    name, (section,) = block.name, (each for each in study.case.assimilation.control if each.name == block.name)
    own = ("part_of_day", "region", "domain")
    dims = tuple(f"{name}_{dim}" if dim in own else dim for dim in block.dims)
    unit, kind = ("1", "factor on") if block.kind == "log-normal" else ("mol mol-1", "increment of")
    spread = f"standard deviation{' of its logarithm' if block.kind == 'log-normal' else ''}"
    values = {
        "prior": (block.control(np.zeros(block.shape)), "before"),
        "posterior": (outcome.analysis.controls[name], "after"),
        "sigma": (block.covariance.sigma, f"{spread}, before"),
    }
    if outcome.posterior is not None:
        values["spread"] = (outcome.posterior.spread[name], f"{spread}, after")
    if study.case.assimilation.twin.stations:
        values["truth"] = (truth(study.case, study.control)[name], "in the true run of the twin experiment")
    found: Variables = {}
    for suffix, (array, about) in values.items():
        text = f"{kind} {section.target} of {', '.join(section.species)}, {about}"
        found[f"{name}_{suffix}"] = (dims, array, {"units": unit, "long_name": text})
    if section.resolution == "region":
        found[f"{name}_region"] = (f"{name}_region", list(section.regions))
    return found


def _departures(
    prefix: str, of: Observations, before: Array, after: Array, start: np.datetime64
) -> Variables:  # fmt: skip
    along = f"{prefix}observation"
    words = {name: (along, getattr(of, name).astype(str).tolist()) for name in ("station", "kind", "species", "unit")}
    times = {name: start + (1e9 * getattr(of, name)).astype("timedelta64[ns]") for name in ("begin", "end")}
    numbers = {"lon": (of.lon, "degrees_east"), "lat": (of.lat, "degrees_north")}
    measured = {"value": of.value, "error": of.sigma}
    measured |= {"departure_before": of.value - before, "departure_after": of.value - after}
    own = prefix or "observation_"
    found: Mapping[str, tuple[Any, ...]] = {
        **words,
        **{name: (along, value) for name, value in times.items()},
        **{name: (along, value, {"units": unit}) for name, (value, unit) in numbers.items()},
        **{name: (along, value, {"comment": "in the unit of each"}) for name, value in measured.items()},
    }
    return {f"{own}{name}": value for name, value in found.items()}


def _history(outcome: Outcome) -> Variables:
    history = outcome.analysis.history
    parts = list(history[0].parts)
    found: Variables = {
        "cost": ("iteration", [each.cost for each in history], {"units": "1", "long_name": "J"}),
        "gradient_norm": ("iteration", [each.gradient_norm for each in history], {"units": "1"}),
        "runs": ("iteration", [each.evaluations for each in history], {"long_name": "runs of model and adjoint"}),
    }
    for name in parts:
        about = {"units": "1", "long_name": f"J of {name}"}
        found[f"cost_{name.replace(' ', '_')}"] = ("iteration", [each.parts[name] for each in history], about)
    return found


def write_results(folder: Path, study: Study, outcome: Outcome) -> Report:
    """Write both files and return the report; raises OutputError."""
    found = outcome_report(study, outcome)
    with write_whole(folder / ANALYSIS) as part:
        analysis_dataset(study, outcome).to_netcdf(part, engine="netcdf4")
    with write_whole(folder / REPORT) as part:
        part.write_text(found.to_text(), encoding="utf-8")
    return found

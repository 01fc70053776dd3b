"""What a person looks at after an assimilation: the cost by part, the departures, and whether the errors were right."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from airshed.core.report import Cell, Report, Table
from airshed.inverse.fourdvar.control import ControlVector
from airshed.inverse.fourdvar.minimise import Analysis
from airshed.inverse.fourdvar.posterior import Posterior
from airshed.inverse.fourdvar.state_file import Record
from airshed.observations.observation import Observations

Array = npt.NDArray[np.float64]


def cost_table(history: Sequence[Record]) -> Table:
    """Return the cost by part, the norm of its gradient, and the runs of model and adjoint, by iteration."""
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
    """Return by block the range of what the model gets, and the mean spread of x before and after."""
    rows: list[Sequence[Cell]] = []
    for block in control.blocks:
        values = analysis.controls[block.name]
        spread = float(posterior.spread[block.name].mean()) if posterior else None
        ends = (float(values.min()), float(np.median(values)), float(values.max()))
        rows.append((block.name, block.kind, int(values.size), *ends, float(block.covariance.sigma.mean()), spread))
    columns = ("control", "kind", "n", "least", "median", "most", "sigma before", "sigma after")
    return Table("Controls", columns, rows)


def report(
    control: ControlVector, observations: Observations, analysis: Analysis, posterior: Posterior | None = None
) -> Report:
    """Return all tables, and as facts what tells whether the errors were right.

    2 J / p at the minimum is 1 +- sqrt(2 / p) where B and R are right and H is nearly linear: above, they were too
    small, below, too large.  2 J_b should be as large as the degrees of freedom for signal.
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
        "its deviation where errors are right": float(np.sqrt(2.0 / p)),
        "2 J background": 2.0 * last.parts["background"],
    }
    if posterior is not None:
        facts |= {"degrees of freedom for signal": posterior.dfs, "their standard error": posterior.dfs_error}
    tables = [cost_table(analysis.history), departure_table(observations, analysis)]
    tables.append(control_table(control, analysis, posterior))
    return Report("4D-Var", tables, facts, ok=analysis.stopped != "no step")

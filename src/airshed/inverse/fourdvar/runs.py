"""Runs before and after an assimilation, as ordinary runs with their own folders."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.inverse.fourdvar.air_model import InitialControls
from airshed.inverse.fourdvar.control import Controls
from airshed.inverse.fourdvar.study import Outcome, Study
from airshed.inverse.function.inputs import EmissionFactors
from airshed.inverse.gradient import Progress
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation

if TYPE_CHECKING:
    import xarray as xr

BEFORE: Final = "before"
AFTER: Final = "after"


def write_runs(folder: Path, study: Study, outcome: Outcome, progress: Progress = lambda part, done: None) -> None:
    """Run the case with the background and with the analysis; write both into `before` and `after` of a folder.

    Existing runs are replaced. All ranks call this together.

    progress  receives the name of the run and its completed part, 0 to 1
    raises    OutputError
    """
    background = study.control.controls(np.zeros(study.control.size))
    for name, controls in ((BEFORE, background), (AFTER, outcome.analysis.controls)):
        _write_run(study.case, folder / name, controls, partial(progress, name))


def _write_run(case: Case, folder: Path, controls: Controls, progress: Callable[[float], None]) -> None:
    """Run a case with some controls, and write its outputs into a folder."""
    case = case.without_groups()
    initial = _initial(case, controls)
    given = [each for each in case.assimilation.control if each.target == "emission"]
    with Simulation(case, initial=initial, output=folder, overwrite=True) as simulation:
        EmissionFactors(simulation.model, given).apply(controls)
        simulation.run(observer=lambda info: progress(info.fraction))


def _initial(case: Case, controls: Controls) -> "xr.Dataset | None":
    """Return the mixing ratios of controlled species at the start, which the first record of a run contains."""
    import xarray as xr

    given = [each for each in case.assimilation.control if each.target == "initial"]
    if not given:
        return None
    with Simulation(case) as simulation:
        model = simulation.model
        InitialControls(model, given).apply(controls)
        whole = np.asarray(model.subdomain.whole(model.mixing_ratios()))
        rows = {name: whole[model.network.index(name)] for each in given for name in each.species}
        dims = "level", *model.whole.dims
    return xr.Dataset({name: (dims, values) for name, values in rows.items()})

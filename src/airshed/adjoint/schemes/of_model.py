"""The derivatives of the steps of a model, by its scheme."""

from pathlib import Path
from typing import Any

from airshed.adjoint.area import Area
from airshed.adjoint.schemes.protocol import Derivatives
from airshed.adjoint.schemes.two_step import TwoStep
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation


def simulation_of(case: Case | str | Path, **given: Any) -> Simulation:
    """Return the simulation of a case on ranks that are all alike: groups of ranks take the same steps.

    given  what :class:`airshed.Simulation` takes besides
    """
    loaded: Any = load_case(case) if isinstance(case, str | Path) else case
    return Simulation(loaded.without_groups() if isinstance(loaded, Case) else loaded, **given)


def derivatives_of(model: AirModel, *, lend: bool = False) -> Derivatives:
    """Return the derivatives of a model's steps; raises CaseError for what has none.

    lend  whether they may use the model's own state and threads, so that they end with it
    """
    area = Area.of(model)
    return TwoStep(model.kernel, area, model.constants)

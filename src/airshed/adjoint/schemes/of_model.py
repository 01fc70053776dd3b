"""The derivatives of the steps of a model, by its scheme."""

from pathlib import Path
from typing import Any

from airshed.adjoint.area import Area
from airshed.adjoint.schemes.protocol import Derivatives
from airshed.adjoint.schemes.split import Split
from airshed.adjoint.schemes.split_again import Again
from airshed.adjoint.schemes.two_step import TwoStep
from airshed.air.case import Case
from airshed.air.model import AirModel
from airshed.air.schemes.imex import Imex
from airshed.air.schemes.moving import Mover
from airshed.air.schemes.strang import Strang
from airshed.core.errors import CaseError
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
    scheme, area = model.scheme, Area.of(model)
    if isinstance(scheme, Imex):
        return TwoStep(model.kernel, area, model.constants)
    assert isinstance(scheme, Strang)
    _refuse(model.case, scheme)
    columns = None if scheme.vertical is None else scheme.vertical.stepper
    lent = Again(scheme.stepper, columns, scheme.chemistry, scheme.density_factor) if lend else None
    return Split(
        model.kernel, None if columns is None else columns.kernel, area, model.constants,
        None if scheme.chemistry is None else scheme.chemistry.alike, model.network, scheme.density_factor, lent,
    )  # fmt: skip


def _refuse(case: Case, scheme: Strang) -> None:
    """Refuse what steps of Strang splitting cannot be taken back with."""
    beside = 'beside chemistry.integrator = "strang"'
    if case.adjoint.rounding != "none":
        raise CaseError(f'adjoint.rounding = {case.adjoint.rounding!r} takes other steps {beside}; take "none"')
    if not isinstance(scheme.moving, Mover):
        raise CaseError("ranks in groups (parallel.groups) take no steps back; take case.without_groups()")

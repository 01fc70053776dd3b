"""The derivatives of the steps of a model, by its scheme."""

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


def derivatives_of(model: AirModel, *, lend: bool = False) -> Derivatives:
    """Return the derivatives of a model's steps; raises CaseError for what has none.

    lend  whether they may use the model's own state and threads, so that they end with it
    """
    scheme = model.scheme
    if isinstance(scheme, Imex):
        return TwoStep(model.kernel, model.layout, model.constants)
    assert isinstance(scheme, Strang)
    _refuse(model.case, scheme)
    columns = None if scheme.vertical is None else scheme.vertical.stepper
    lent = Again(scheme.stepper, columns, scheme.chemistry, scheme.density_factor) if lend else None
    return Split(
        model.kernel, None if columns is None else columns.kernel, model.layout, model.constants,
        None if scheme.chemistry is None else scheme.chemistry.alike, model.network, scheme.density_factor, lent,
    )  # fmt: skip


def _refuse(case: Case, scheme: Strang) -> None:
    """Refuse what steps of Strang splitting cannot be taken back with."""
    beside = 'beside chemistry.integrator = "strang"'
    if case.chemistry.concurrent:
        raise CaseError(f"chemistry.concurrent = true has no adjoint {beside}")
    if case.adjoint.rounding != "none":
        raise CaseError(f'adjoint.rounding = {case.adjoint.rounding!r} takes other steps {beside}; take "none"')
    if not isinstance(scheme.moving, Mover):
        raise CaseError(f"parallel.groups has no adjoint {beside}")

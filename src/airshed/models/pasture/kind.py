"""The pasture model as a kind of model: what the runtime makes of a case of it."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Final

from airshed.core.errors import CaseError
from airshed.models.pasture.case import PastureCase
from airshed.models.pasture.description import describe
from airshed.models.pasture.fields import DAY
from airshed.models.pasture.inputs import Inputs, open_inputs
from airshed.models.pasture.model import PastureModel
from airshed.parallel.binding import cores_each
from airshed.parallel.communicator import Communicator
from airshed.parallel.domain import Domain
from airshed.runtime.registry import Built, ModelKind

_TOLD: Final = ("source", "license", "comment", "synthetic")
"""Of what inputs say of themselves, what results must say too."""


def _check(case: PastureCase, inputs: Inputs) -> None:
    """Refuse a case that begins within a day, takes longer than there is weather, or declares another humidity."""
    start = case.start.astype("datetime64[D]")
    if case.start != start:
        raise CaseError(f"time.start = {case.start}: a pasture case begins at midnight; leave the hour out")
    days = ceil(case.time.length.value / DAY)
    inputs.calendar.check(inputs.calendar.number(start), days, str(case.path(case.inputs.folder)))


def build(
    case: PastureCase, ranks: Communicator, check: Callable[[Communicator], None], inputs: Inputs | None = None
) -> Built:
    """Return the model of a case, see :class:`airshed.runtime.registry.ModelKind`.

    inputs  in place of those in the case's folder
    """
    check(ranks)
    inputs = inputs or open_inputs(case.path(case.inputs.folder))
    _check(case, inputs)
    told = {name: text for name, text in inputs.attributes.items() if name in _TOLD}
    domain = replace(Domain.even(inputs.grid.axes, ranks), attributes=told)
    threads = case.run.threads or cores_each(ranks)
    return Built(PastureModel(case, inputs, domain, threads=threads))


KIND = ModelKind(
    PastureCase, build, describe=describe, info=PastureModel.info, gradients="airshed.inverse.point_sensitivity"
)

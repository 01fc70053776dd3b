"""Shapes carried by rotation and deformation: error norms, observed order, mass, and no new extremes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import xarray as xr

from airshed.grid import Grid
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order
from airshed.verify.transport.flow import (
    SHAPES,
    Array,
    Errors,
    Winds,
    amount,
    clipped_share,
    plane_case,
    rotation,
    shapes,
    swirl,
)

REFERENCE: Final = {
    "rotation": {"cosine hump": 0.029, "Gaussian": 0.067, "slotted cylinder": 0.41},
    "swirl": {"cosine hump": 0.077, "Gaussian": 0.129, "slotted cylinder": 0.437},
}
"""l1 of the scheme at 100 x 100 cells in another implementation of it."""

_FLOWS: Final[dict[str, Callable[[Grid], Winds]]] = {"rotation": rotation, "swirl": swirl}
_MARGIN: Final = 1.1  # over the reference, which was made at another Courant number
_LEAST_ORDER: Final = {"rotation": 2.3, "swirl": 1.8}
_ROUND_OFF: Final = 1e-12
_SCHEME: Final = "by another code of Hundsdorfer et al. 1995"
_NONE: Final = "exact: 0"
_SMOOTH: Final = "exact: 3 where smooth"


@dataclass(frozen=True)
class Carried:
    """What has become of the shapes when a flow has brought them back.

    errors  of each shape;  mass  relative change of all there is, less what has left;  clipped  share of it
    """

    errors: dict[str, Errors]
    mass: float
    clipped: float
    steps: int
    field: Array

    def worst(self, name: str) -> float:
        """The largest of an error over the shapes."""
        return max(float(getattr(each, name)) for each in self.errors.values())


def carry(flow: str, cells: int, courant: float = 0.4) -> Carried:
    """Carry the shapes around by a flow on cells x cells cells until they are back."""
    case, exact = plane_case(cells, courant), shapes(cells)
    grid = case.make_grid()
    given = xr.Dataset({"TRACER": (("level", "lat", "lon"), exact)})
    with Simulation(case, _FLOWS[flow](grid), given) as simulation:
        before = amount(simulation)
        simulation.run()
        gone = float(simulation.budget()["outflow"].sel(species="TRACER"))
        field = simulation["TRACER"].values
        errors = {name: Errors.of(field[i], exact[i], grid.cell_volume[0]) for i, name in enumerate(SHAPES)}
        mass = (amount(simulation) + gone) / before - 1.0
        return Carried(errors, mass, clipped_share(simulation), simulation.model.steps, field)


def check(flow: str, resolutions: Sequence[int] = (50, 100)) -> list[Figure]:
    """Return the figures of a flow: errors at 100 x 100 cells, and the order between the two finest resolutions."""
    results = {cells: carry(flow, cells) for cells in resolutions}
    standard = results[100]
    test = f"{flow}, 100 x 100 cells"
    figures = [
        Figure(test, f"l1 of the {name}", standard.errors[name].l1, _MARGIN * value, reference=f"{value:g} {_SCHEME}")
        for name, value in REFERENCE[flow].items()
    ]
    coarse, fine = (results[cells].errors["cosine hump"].l1 for cells in resolutions[-2:])
    what = f"order of l1, cosine hump, {resolutions[-2]} to {resolutions[-1]}"
    figures.append(Figure(test, what, observed_order(coarse, fine), _LEAST_ORDER[flow], True, _SMOOTH))
    extremes = max(standard.worst("overshoot"), standard.worst("undershoot"))
    figures += [
        Figure(test, "change of mass", abs(standard.mass), _ROUND_OFF, reference=_NONE),
        Figure(test, "largest new extreme", extremes, _ROUND_OFF, reference=_NONE),
        Figure(test, "clipped at zero, share of mass", standard.clipped, _ROUND_OFF, reference=_NONE),
    ]
    return figures

"""Analytic flows for checks: a box that is small enough to be plane, winds from a stream function, and shapes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order

Winds = xr.Dataset | Callable[[float], xr.Dataset]

SIDE: Final = EARTH_RADIUS * np.pi / 180.0
"""Side of the box [m]: one degree at the equator, where a degree of longitude is as long to 4e-5."""

DAY: Final = 86400.0
SHAPES: Final = ("cosine hump", "Gaussian", "slotted cylinder")
"""Shapes in the layers, from the ground up."""


def tracer_case(area: Mapping[str, Any], layers: list[str], **sections: Mapping[str, Any]) -> Case:
    """Return a case of passive tracers in prescribed air, without diffusion and deposition.

    Sections replace settings. Mechanism files are in the folder of this module.
    """
    base: dict[str, Any] = {
        "grid": {**area, "layers": layers},
        "time": {"start": "2022-01-01T00:00:00Z", "length": "24 h"},
        "chemistry": {"mechanism": "tracer"},
        "transport": {"diffusion": False},
        "deposition": {"scheme": "none"},
        "run": {"threads": 1},
    }
    base |= {name: {**base.get(name, {}), **section} for name, section in sections.items()}
    return Case.from_dict(base, base=Path(__file__).parent)


def plane_case(cells: int, courant: float) -> Case:
    """Return the case of a square degree at the equator, cells x cells, with a layer for each shape."""
    area = {"area": {"lon": [-0.5, 0.5], "lat": [-0.5, 0.5]}, "spacing": f"{1.0 / cells!r} deg"}
    return tracer_case(area, ["100 m", "200 m", "300 m"], time={"courant": courant})


def winds(stream: Callable[[Array, Array], Array], grid: Grid, factor: float = 1.0) -> xr.Dataset:
    """Return the winds at cell faces of a stream function psi of x, y in the unit square [m2/s].

    u = -d psi / dy, v = d psi / dx, as differences of psi between the corners of a cell. The divergence is 0 to
    round-off. On the sphere the length of a face is part of the difference.
    """
    x, y = (faces - faces[0] for faces in (grid.x_faces, grid.y_faces))
    return corner_winds(factor * stream(*np.meshgrid(x / x[-1], y / y[-1])), grid)


def corner_winds(psi: Array, grid: Grid) -> xr.Dataset:
    """Return the winds across the cell faces of a stream function psi [m2/s] at their corners (ny + 1, nx + 1)."""
    (y, x), of_poles = grid.dims, np.zeros(grid.y_face_length.shape)
    east = -np.diff(psi, axis=0) / grid.x_face_length
    north = np.divide(np.diff(psi, axis=1), grid.y_face_length, out=of_poles, where=grid.y_face_length > 0.0)
    return xr.Dataset({"eastward_wind": ((y, f"{x}_face"), east), "northward_wind": ((f"{y}_face", x), north)})


def rotation(grid: Grid) -> xr.Dataset:
    """Return the winds of a solid-body rotation around the centre of the box, with one turn a day."""
    speed = np.pi / DAY * SIDE**2
    return winds(lambda x, y: speed * ((x - 0.5) ** 2 + (y - 0.5) ** 2), grid)


def swirl(grid: Grid) -> Callable[[float], xr.Dataset]:
    """Return the deformation that reverses at half time, so that the exact end state is the initial state.

    psi = cos(pi t / T) sin^2(pi x) sin^2(pi y) / pi in units with T = 1.5. Source: LeVeque 1996, SIAM J. Numer.
    Anal. 33, 627-665.
    """
    speed = -1.5 * SIDE**2 / DAY / np.pi

    def at(seconds: float) -> xr.Dataset:
        turned = float(np.cos(np.pi * seconds / DAY))
        return winds(lambda x, y: speed * (np.sin(np.pi * x) * np.sin(np.pi * y)) ** 2, grid, turned)

    return at


def shapes(cells: int) -> Array:
    """Return the shapes at the cell centres of the unit square, (shape, y, x), between 0 and 1.

    A cosine hump and a slotted cylinder of radius 0.15 at (0.25, 0.5) and (0.5, 0.75), slot 0.05 wide up to y = 0.85
    (LeVeque 1996), and a Gaussian of standard deviation 0.05 at (0.5, 0.75).
    """
    centres = (np.arange(cells) + 0.5) / cells
    x, y = np.meshgrid(centres, centres)
    left, upper = np.hypot(x - 0.25, y - 0.5) / 0.15, np.hypot(x - 0.5, y - 0.75) / 0.15
    hump = 0.5 * (1.0 + np.cos(np.pi * np.minimum(left, 1.0)))
    gaussian = np.exp(-0.5 * (0.15 * upper / 0.05) ** 2)
    cylinder = (upper <= 1.0) & ((np.abs(x - 0.5) >= 0.025) | (y >= 0.85))
    return np.stack([hump, gaussian, cylinder.astype(np.float64)])


@dataclass(frozen=True)
class Errors:
    """Errors of a field: norms relative to the exact field, undershoot and overshoot."""

    l1: float
    l2: float
    linf: float
    undershoot: float
    overshoot: float

    @classmethod
    def of(cls, field: Array, exact: Array, volume: Array) -> "Errors":
        """Compare a field with the exact one, weighted by the volume of cells."""
        difference, weight = field - exact, np.broadcast_to(volume, field.shape)
        return cls(
            l1=float(np.sum(weight * np.abs(difference)) / np.sum(weight * np.abs(exact))),
            l2=float(np.sqrt(np.sum(weight * difference**2) / np.sum(weight * exact**2))),
            linf=float(np.abs(difference).max() / np.abs(exact).max()),
            undershoot=max(float(exact.min() - field.min()), 0.0),
            overshoot=max(float(field.max() - exact.max()), 0.0),
        )


def amount(simulation: Simulation, species: str = "TRACER") -> float:
    """Return the amount of a species [mol], computed independently of the model's budget."""
    content = simulation["air_density"].values * simulation.model.grid.cell_volume
    return float(np.sum(simulation[species].values * content))


def clipped_share(simulation: Simulation, species: str = "TRACER") -> float:
    """Return the amount of a species added by clipping at zero, relative to its throughput."""
    budget = simulation.budget().sel(species=species)
    return float(budget["clipped"] / budget["throughput"])


# Shapes in rotation and deformation: error norms, observed order, mass, and no new extremes.


REFERENCE: Final = {
    "rotation": {"cosine hump": 0.029, "Gaussian": 0.067, "slotted cylinder": 0.41},
    "swirl": {"cosine hump": 0.077, "Gaussian": 0.129, "slotted cylinder": 0.437},
}
"""l1 of the scheme at 100 x 100 cells in another implementation of it."""

_FLOWS: Final[dict[str, Callable[[Grid], Winds]]] = {"rotation": rotation, "swirl": swirl}
_MARGIN: Final = 1.1  # relative to the reference, which has another Courant number
_LEAST_ORDER: Final = {"rotation": 2.3, "swirl": 1.8}
_ROUND_OFF: Final = 1e-12
_SCHEME: Final = "by another code of Hundsdorfer et al. 1995"
_NONE: Final = "exact: 0"
_SMOOTH: Final = "exact: 3 where smooth"


@dataclass(frozen=True)
class TransportResult:
    """Result of a flow whose exact end state is the initial state.

    errors   errors of each shape
    mass     relative change of mass, without outflow
    clipped  fraction of mass that was added by clipping
    """

    errors: dict[str, Errors]
    mass: float
    clipped: float
    steps: int
    field: Array

    def worst(self, name: str) -> float:
        """Return the largest error of the shapes."""
        return max(float(getattr(each, name)) for each in self.errors.values())


def carry(flow: str, cells: int, courant: float = 0.4) -> TransportResult:
    """Transport the shapes in a flow on cells x cells cells, back to their initial positions."""
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
        return TransportResult(errors, mass, clipped_share(simulation), simulation.model.steps, field)


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

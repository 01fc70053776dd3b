"""Column against exact solutions: vertical transport on unequal layers, diffusion, emission, deposition."""

from typing import Final

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.figure import Figure, observed_order
from airshed.verify.transport.plane import Errors, tracer_case

_TOP: Final = 1000.0
_STILL: Final = {"eastward_wind": ((), 0.0), "northward_wind": ((), 0.0), "air_temperature": ((), 288.0)}
_HOURS: Final = 6.0
_THINNED: Final = 0.6
_DIFFUSIVITY: Final = 20.0
_COLUMN: Final = {"area": {"lon": [0.0, 1.0], "lat": [45.0, 46.0]}, "spacing": "1 deg"}
_DEPTH, _VELOCITY, _EMITTED, _FILLED = 200.0, 0.01, 20.0, 1e-9  # m, m/s, mol/s, mol/mol


def growing_tops(count: int) -> Array:
    """Return the tops of layers whose thickness grows eightfold from the ground to 1000 m, for any number of layers."""
    return np.asarray(_TOP * (8.0 ** (np.arange(1, count + 1) / count) - 1.0) / 7.0)


def alternating_tops(count: int) -> Array:
    """Return the tops of layers whose thickness alternates by a factor of 2, the hardest case for a reconstruction."""
    thickness = np.where(np.arange(count) % 2 == 0, 1.0, 2.0)
    return np.asarray(_TOP * np.cumsum(thickness) / thickness.sum())


def equal_tops(count: int) -> Array:
    """Return the tops of equal layers up to 1000 m."""
    return np.asarray(_TOP * np.arange(1, count + 1) / count)


def _case(tops: Array, *, diffusion: bool, step: str = "auto") -> Case:
    layers = [f"{top!r} m" for top in tops.tolist()]
    time = {"length": f"{_HOURS!r} h", "step": step}
    return tracer_case(_COLUMN, layers, time=time, transport={"diffusion": diffusion, "advection": not diffusion})


def _profile(values: Array) -> xr.Dataset:
    return xr.Dataset({"TRACER": ("level", values)})


def _front(faces: Array, factor: float) -> Array:
    """Return layer means of a smooth front, (1 + tanh)/2, in air that has expanded by a factor."""
    middle, width = 300.0 * factor, 80.0 * factor
    integral = 0.5 * (faces + width * np.log(np.cosh((faces - middle) / width)))
    return np.asarray(np.diff(integral) / np.diff(faces))


def lift(layers: int) -> Errors:
    """Return the errors of a front in air that rises because its density decreases evenly, without any wind.

    The density falls linearly to 0.6 of its value everywhere. Continuity gives w = 0.4 z / (T - 0.4 t), and air from z
    ends at z / 0.6.
    """
    case = _case(alternating_tops(layers), diffusion=False)
    faces = case.make_grid().layer_faces
    pressure = ("time", [1e5, _THINNED * 1e5])
    air = xr.Dataset({**_STILL, "air_pressure": pressure}, coords={"time": [0.0, 3600.0 * _HOURS]})
    with Simulation(case, air, _profile(_front(faces, 1.0))) as simulation:
        simulation.run()
        field = simulation["TRACER"].values[:, 0, 0]
    return Errors.of(field, _front(faces, 1.0 / _THINNED), np.diff(faces))


def mix(tops: Array, step: str) -> Array:
    """Return the profile of the mode 1 + cos(pi z / H) after its decay by diffusion in uniform air."""
    case = _case(tops, diffusion=True, step=step)
    still = xr.Dataset({**_STILL, "air_pressure": ((), 1e5), "atmosphere_heat_diffusivity": ((), _DIFFUSIVITY)})
    with Simulation(case, still, _profile(0.5 * (1.0 + _mode(case.make_grid().layer_faces)))) as simulation:
        simulation.run()
        return np.asarray(2.0 * simulation["TRACER"].values[:, 0, 0])  # half of it, because mixing ratios are at most 1


def _mode(faces: Array) -> Array:
    """Return the layer means of cos(pi z / H)."""
    wave = np.pi / _TOP
    return np.asarray(np.diff(np.sin(wave * faces)) / (wave * np.diff(faces)))


def decay(rate: float) -> float:
    """Return the fraction of a mode that is left at the end."""
    return float(np.exp(-rate * 3600.0 * _HOURS))


def error_of_space(layers: int, step: str = "60 s") -> float:
    """Return the largest error of the decaying mode, on layers whose thickness grows."""
    tops = growing_tops(layers)
    exact = 1.0 + decay(_DIFFUSIVITY * (np.pi / _TOP) ** 2) * _mode(np.concatenate([[0.0], tops]))
    return float(np.abs(mix(tops, step) - exact).max())


def error_of_time(layers: int, step: str) -> float:
    """Return the largest error on equal layers against the exact solution of the discrete equation in z.

    The layer means of the mode are an eigenvector of the second-order difference: rate 4 K / dz^2 sin^2(pi dz / 2 H).
    """
    tops, thickness = equal_tops(layers), _TOP / layers
    rate = 4.0 * _DIFFUSIVITY / thickness**2 * np.sin(0.5 * np.pi * thickness / _TOP) ** 2
    exact = 1.0 + decay(rate) * _mode(np.concatenate([[0.0], tops]))
    return float(np.abs(mix(tops, step) - exact).max())


def fill(integrator: str, step: str) -> float:
    """Return the relative error for emission E and deposition with the velocity v in still air, in a layer of depth h.

    dq/dt = E/A - v/h q from q0: q = E h/(A v) (1 - exp(-v t/h)) + q0 exp(-v t/h), with the air A of the layer [mol].
    """
    chimney = {"species": "TRACER", "lon": 0.5, "lat": 45.5, "rate": f"{_EMITTED!r} mol/s"}
    case = tracer_case(
        _COLUMN, [f"{_DEPTH!r} m"], time={"length": f"{_HOURS!r} h", "step": step},
        chemistry={"integrator": integrator}, emissions={"point": [chimney]},
        deposition={"scheme": "constant", "velocities": {"TRACER": f"{_VELOCITY!r} m/s"}},
    )  # fmt: skip
    still = xr.Dataset({**_STILL, "air_pressure": ((), 1e5)})
    with Simulation(case, still, _profile(np.array([_FILLED]))) as simulation:
        simulation.run()
        found = float(simulation["TRACER"].item())
        air = float((simulation["air_density"] * simulation.model.grid.cell_volume).item())
    rate = _VELOCITY / _DEPTH
    balance = _EMITTED / (air * rate)
    return abs(found / (balance + (_FILLED - balance) * decay(rate)) - 1.0)


def check_sources() -> list[Figure]:
    """Return error and order of emission and deposition in still air, for both integrators."""
    figures = []
    for integrator in ("imex", "strang"):
        coarse, fine = (fill(integrator, step) for step in ("600 s", "300 s"))
        test = f"emission and deposition in still air, {integrator}"
        figures += [
            Figure(test, "relative error, 300 s", fine, 5e-5, reference="exact: exponential approach to balance"),
            Figure(test, "order in time, 600 s to 300 s", observed_order(coarse, fine), 1.9, True, "exact: 2"),
        ]
    return figures


def check(layers: int = 40) -> list[Figure]:
    """Return errors and orders of vertical transport (layers, then twice as many) and diffusion (half, then layers)."""
    coarse, fine = lift(layers), lift(2 * layers)
    space = [error_of_space(count) for count in (layers // 2, layers)]
    time = [error_of_time(layers // 2, step) for step in ("600 s", "300 s")]
    order_of_space = observed_order(coarse.l1, fine.l1)
    rising, mixing = f"rising air, {2 * layers} unequal layers", f"vertical diffusion, {layers} layers"
    return [
        Figure(rising, "l1 of a smooth front", fine.l1, 5e-4, reference="exact: 0"),
        Figure(rising, f"order of l1, {layers} to {2 * layers}", order_of_space, 2.5, True, "exact: 3"),
        Figure(mixing, "greatest error", space[1], 2e-4, reference="exact: cosine decays by K (pi/H)^2"),
        Figure(mixing, f"order in dz, {layers // 2} to {layers}", observed_order(*space), 1.9, True, "exact: 2"),
        Figure(mixing, "order in time, 600 s to 300 s", observed_order(*time), 1.9, True, "exact: 2"),
    ]

"""Integrates a mechanism in one box of air by the kernel of the three-dimensional model."""

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.air.box.conditions import BoxConditions
from airshed.air.box.forcing import BoxForcing, constant_fraction
from airshed.air.box.steps import BoxStep, steps
from airshed.core.errors import NumericalError
from airshed.core.version import __version__
from airshed.kernels.layout import AnyArray, Layout
from airshed.kernels.pipeline import compile_mechanism
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step_arguments import TERMS
from airshed.kernels.stepper import ColumnForcing, Stepper, TransportForcing
from airshed.mechanism.network import ReactionNetwork
from airshed.process.twostep import two_step_weights

Array = npt.NDArray[np.float64]

_CHUNK: Final = 1024  # steps whose conditions are evaluated together: formulas cost nothing, memory neither
_CLIPPED: Final = TERMS.index("clipped")


class BoxRun:
    """One box: a column of one level without transport, which holds 1 mol of air at the start.

    The state is mixing ratios q = c / M, so that a box whose air density M changes expands and is compressed with its
    content, and nothing flows in. Emission E [molecules cm-3 s-1] and loss D [s-1] are those of the model's
    lowest layer: dc/dt = P(c) - L(c) c + E - D c.

    steps    taken so far;  seconds  wall time of the integration
    clipped  (species,) [molecules cm-3] that was added to keep concentrations from getting negative
    """

    def __init__(self, network: ReactionNetwork, conditions: BoxConditions, *, precision: str = "double") -> None:
        self.network, self.conditions = network, conditions
        self.forcing = BoxForcing(conditions, network)
        start = conditions.time.start.value
        self._air = self.forcing.at(np.array([start]))
        self._density = float(self._air["M"].reshape(-1)[0])  # at the start [molecules cm-3]
        self.kernel = compile_mechanism(network, 1, precision)
        self.layout = Layout(1, 1, self.kernel.shape.width, self.kernel.dtype)
        self.stepper = self._make_stepper()
        self.packed = PackedConditions(self.layout, self.forcing, self._density)
        self.steps, self.seconds, self.clipped = 0, 0.0, np.zeros(len(network.species))
        self._set_initial(start)

    def run(self) -> xr.Dataset:
        """Integrate from the start to the end and return the time series."""
        began = time.perf_counter()
        series = _Series()
        series.add(self.conditions.time.start.value, self._mixing_ratios(), self._air, 0)
        for chunk in _chunks(steps(self.conditions), _CHUNK):
            values = self.forcing.at(np.array([step.at for step in chunk]))
            self.packed.load(values, len(chunk))
            for number, step in enumerate(chunk):
                self._advance(number, step)
                if step.output:
                    self._check(step.end)
                    series.add(step.end, self._mixing_ratios(), values, number)
        self.seconds = time.perf_counter() - began
        return self._dataset(series)

    def _advance(self, number: int, step: BoxStep) -> None:
        self.packed.set(number, self.stepper)
        weights = two_step_weights(step.length, step.previous)
        sums = self.stepper.step(weights, self.packed.transport, self.packed.column)
        self.clipped += self._density * sums[_CLIPPED]
        self.steps += 1

    def _mixing_ratios(self) -> Array:
        return self.stepper.state.q[0, 0, :, 0, 0].astype(np.float64)

    def _check(self, seconds: float) -> None:
        # The kernel keeps concentrations from getting negative, NaN too, which then shows in what it added.
        wrong = np.flatnonzero(~np.isfinite(self._mixing_ratios() + self.clipped))
        if wrong.size:
            names = ", ".join(self.network.names[species] for species in wrong[:3])
            raise NumericalError(
                f"the state is no longer finite at {seconds:g} s ({names}): check rate constants and conditions, "
                "or shorten solver.step"
            )

    def _dataset(self, series: "_Series") -> xr.Dataset:
        densities = np.array(series.mixing_ratios) * np.array(series.air["M"])[:, None]
        variables = {
            name: ("time", np.array(series.air[key]), {"units": unit, "long_name": text})
            for key, (name, unit, text) in _RECORDED.items()
        }
        for number, species in enumerate(self.network.species):
            attributes = {"units": "molecules cm-3", "long_name": species.text or species.name}
            variables[species.name] = ("time", densities[:, number], attributes)
        clock = {"units": "s", "long_name": "local time since midnight of the first day"}
        return xr.Dataset(
            variables,
            {"time": ("time", np.array(series.times), clock)},
            {
                "title": self.conditions.title,
                "Conventions": "CF-1.11",
                "source": f"Airshed {__version__}",
                "mechanism": self.network.name,
                "precision": self.kernel.shape.precision,
                "airshed_conditions": self.conditions.to_toml(),
            },
        )

    def _make_stepper(self) -> Stepper:
        species = len(self.network.species)
        return Stepper(
            self.kernel,
            self.layout,
            ghosts=np.zeros((species, 1)),
            top=np.zeros(species),
            density_factor=np.array([[self._density / REFERENCE_DENSITY]]),
            vertical_weights=np.zeros((1, 4)),
            deposited=list(self.forcing.deposited),
            emitted=list(self.forcing.emitted),
            sweeps=self.conditions.solver.sweeps,
            oxygen=constant_fraction("fixed.O2", self._air["O2"], self._air["M"]),
            nitrogen=constant_fraction("fixed.N2", self._air["N2"], self._air["M"]),
        )

    def _set_initial(self, start: float) -> None:
        state = self.stepper.state
        air = {name: value.reshape(-1)[0] for name, value in self._air.items()}
        for species, density in self.forcing.start(start, air).items():
            state.q[:, :, species] = state.q_other[:, :, species] = density / self._density
        state.air[...] = state.air_other[...] = 1.0


_RECORDED: Final = {
    "T": ("temperature", "K", "air temperature"),
    "M": ("M", "molecules cm-3", "number density of air"),
    "sec_zenith": ("sec_zenith", "1", "secant of the solar zenith angle, 1 at night"),
    "daylight": ("daylight", "1", "factor on photolysis"),
}
"""Conditions in the time series: their name there, unit and text."""


class _Series:
    """Mixing ratios and recorded conditions at the output times."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.mixing_ratios: list[Array] = []
        self.air: dict[str, list[float]] = {name: [] for name in _RECORDED}

    def add(self, seconds: float, mixing_ratios: Array, values: dict[str, Array], number: int) -> None:
        """Append the time, the state, and the conditions of step `number` of those evaluated together."""
        self.times.append(seconds)
        self.mixing_ratios.append(mixing_ratios)
        for name, listed in self.air.items():
            value = values[name]
            listed.append(float(value[number] if value.ndim else value))


class PackedConditions:
    """The conditions of one step as the kernel reads them; what changes from step to step is all that is written."""

    def __init__(self, layout: Layout, forcing: BoxForcing, density: float) -> None:
        self._forcing, self._density = forcing, density
        self.temperature, self.water, self._nothing = (layout.zeros(1) for _ in range(3))
        self.sun = layout.zeros(2)
        self.deposition = layout.zeros(len(forcing.deposited))
        self.emission = layout.zeros(len(forcing.emitted), 1)
        faces_x, faces_y = layout.pack(np.zeros((1, 1, 2))), layout.pack(np.zeros((1, 2, 1)))
        self.transport = TransportForcing(
            (faces_x, faces_x), (faces_y, faces_y), (self._nothing, self._nothing), weight=0.0, weight_z=0.0
        )
        self.column = ColumnForcing(
            (self.temperature,) * 2,
            (self.water,) * 2,
            (self._nothing,) * 2,
            (self.deposition,) * 2,
            weight=0.0,
            emission=self.emission,
            sun=self.sun,
        )
        self._changing: list[tuple[AnyArray, Array]] = []
        self._air: Array | None = None

    def load(self, values: dict[str, Array], count: int) -> None:
        """Take the values of the next `count` steps."""
        air = values["M"] / self._density  # [mol] in the volume that holds 1 mol at the start
        self._air = np.broadcast_to(air, count) if np.ptp(air) > 0.0 or np.any(air != 1.0) else None
        for key in ("O2", "N2"):
            constant_fraction(f"fixed.{key}", values[key], values["M"])
        sources = [
            (self.temperature[0, 0], [values["T"]]),
            (self.water[0, 0], [values["H2O"] / values["M"]]),
            (self.sun[0, 0], [values["sec_zenith"], values["daylight"]]),
            (self.deposition[0, 0], [values[f"deposition {species}"] * air for species in self._forcing.deposited]),
            (
                self.emission[0, 0, :, 0],
                [values[f"emission {species}"] / self._density for species in self._forcing.emitted],
            ),
        ]
        self._changing = []
        for target, rows in sources:
            if not rows:
                continue
            table = np.stack([np.broadcast_to(row, count) for row in rows], axis=1)[:, :, None]
            target[...] = table[0]
            if np.any(table != table[0]):
                self._changing.append((target, table))

    def set(self, number: int, stepper: Stepper) -> None:
        """Write the conditions of one of the loaded steps; the same air at all time levels keeps the mixing ratios."""
        for target, table in self._changing:
            target[...] = table[number]
        if self._air is not None:
            stepper.state.air[...] = stepper.state.air_other[...] = self._air[number]


def integrate_box(network: ReactionNetwork, conditions: BoxConditions, *, precision: str = "double") -> xr.Dataset:
    """Integrate a mechanism in a box of air and return the time series.

    Two-step backward differentiation with Gauss-Seidel sweeps over the species, second order; see ``process.twostep``.

    returns  each species and M [molecules cm-3], temperature [K], sec_zenith and daylight [1], over time [s]
    Raises CaseError for conditions that do not fit the mechanism, NumericalError when the state does not stay finite.
    source   Verwer 1994, SIAM J. Sci. Comput. 15, 1243-1250
    """
    return BoxRun(network, conditions, precision=precision).run()


def _chunks(items: Iterable[BoxStep], size: int) -> Iterator[list[BoxStep]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk

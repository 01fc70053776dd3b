"""Toy models with the protocol of 4D-Var: a random matrix, and a tracer with drift and mixing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.grid import Grid
from airshed.inverse.cost import AdjointForcing, OnFields
from airshed.inverse.fourdvar.control import Block, ControlVector, Covariance, axis_root
from airshed.inverse.fourdvar.cost import Controls, Pullback
from airshed.observations.observation import Kernel, Observation, Observations

Array = npt.NDArray[np.float64]
RANDOM = np.random.default_rng(7)

GRID = Grid.regular(lon=(0.0, 8.0), lat=(45.0, 51.0), spacing=1.0, layers=[20.0, 100.0, 400.0])
SPECIES = ("NO2", "O3")
TIMES = np.arange(7) * 3600.0


@dataclass
class Matrix:
    """Linear model y = G x of blocks in the order of their names; a wrong ``transpose`` is a negative control."""

    matrix: Array
    transpose: Array | None = None
    runs: int = 0

    def value_and_gradient(self, controls: Controls) -> tuple[Array, Pullback]:
        self.runs += 1
        back = self.matrix.T if self.transpose is None else self.transpose

        def pullback(weights: Array) -> Mapping[str, Array]:
            ends = np.cumsum([values.size for values in controls.values()])[:-1]
            parts = zip(controls.items(), np.split(back @ weights, ends), strict=True)
            return {name: part.reshape(values.shape) for (name, values), part in parts}

        return self.matrix @ np.concatenate([values.ravel() for values in controls.values()]), pullback


class Drift:
    """c(k + 1) = A c(k) + b e(k) f: emission factors f (2 parts of a day, lat, lon), and factors g on c(0), of NO2.

    A moves a tenth of the content of a cell to the east and mixes rows; only the eastern edge has an outflow.
    """

    steps_between = 4

    def __init__(self) -> None:
        rows, columns = GRID.shape[1:]
        random = np.random.default_rng(3)
        self.emission = 1e-9 * random.random((rows, columns))
        self.start = 1e-9 * (1.0 + random.random((rows, columns)))
        self.move = 0.9 * np.eye(columns) + 0.1 * np.eye(columns, k=-1)
        self.mix = 0.8 * np.eye(rows) + 0.1 * np.eye(rows, k=1) + 0.1 * np.eye(rows, k=-1)

    def run(self, controls: Controls, on_fields: OnFields) -> Callable[[AdjointForcing], Controls]:
        factors, initial = controls["emission"], controls["initial"]
        c = self.start * initial
        shape = (2, *GRID.shape)
        for k in range(TIMES.size):
            fields = np.zeros(shape)
            fields[0, 0] = c
            on_fields(k, fields)
            for _ in range(self.steps_between):
                c = self.mix @ c @ self.move.T + 0.1 * self.emission * factors[self.part(k)]
        return self._reverse

    def _reverse(self, force: AdjointForcing) -> Controls:
        rows, columns = GRID.shape[1:]
        bar, factors = np.zeros((rows, columns)), np.zeros((2, rows, columns))
        for k in reversed(range(TIMES.size)):
            for _ in range(self.steps_between):
                factors[self.part(k)] += 0.1 * self.emission * bar
                bar = self.mix.T @ bar @ self.move
            bar = bar + force(k)[0, 0]
        return {"emission": factors, "initial": self.start * bar}

    @staticmethod
    def part(k: int) -> int:
        return int(2 * k >= TIMES.size)


def drift_control(sigma: float = 0.5) -> ControlVector:
    rows, columns = GRID.shape[1:]
    along = [axis_root(np.arange(size, dtype=float), 1.5, "balgovind") for size in (rows, columns)]
    emission = Covariance(np.full((2, rows, columns), sigma), [None, *along])
    initial = Covariance(np.full((rows, columns), 0.2), along)
    return ControlVector(
        [Block("emission", ("part_of_day", "lat", "lon"), emission), Block("initial", ("lat", "lon"), initial)]
    )


def observation(**changes: object) -> Observation:
    given = {
        "station": "A", "kind": "surface", "species": "NO2", "lon": 3.2, "lat": 47.7, "begin": 3600.0, "end": 7200.0,
        "value": 12.0, "unit": "ug/m3", "sigma": 2.0, "where": "stations.csv, line 2", "kernel": None,
    }  # fmt: skip
    return Observation(**{**given, **changes})  # type: ignore[arg-type]


def column(**changes: object) -> Observation:
    kernel = Kernel(np.array([0.0, 50.0, 250.0, 1000.0]), np.array([0.4, 0.7, 1.1]), np.array([1e-5, 2e-5, 3e-5]))
    given = {"station": "", "kind": "column", "unit": "mol/m2", "begin": 5000.0, "end": 5000.0, "kernel": kernel}
    return observation(**{**given, **changes})


def many(count: int, seed: int = 1, sigma: float = 0.05) -> Observations:
    """Return observations at random locations and hours, in ppb."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        end = 3600.0 * random.integers(1, 7)
        place = {"lon": float(random.uniform(0, 8)), "lat": float(random.uniform(45, 51))}
        row = observation(station=str(number), begin=end - 3600.0, end=end, unit="ppb", value=0.0, sigma=sigma, **place)
        rows.append(row)
    return Observations.of(rows)

"""The same results on any number of threads, and close ones in single precision."""

from typing import Final

import numpy as np

from airshed.air.case import Case
from airshed.runtime.checks.chemistry import cut_case
from airshed.runtime.checks.figure import Figure
from airshed.runtime.checks.flow import Array
from airshed.runtime.simulation import Simulation

COMPARED: Final = ("O3", "NO2", "CO", "HNO3", "SO2", "HCHO")
"""Species that single precision is compared for: abundant ones of each kind."""


def final_state(case: Case) -> dict[str, Array]:
    """Run a case and return the mixing ratios of all species at its end, (level, lat, lon)."""
    with Simulation(case) as simulation:
        simulation.run()
        return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def differing(one: dict[str, Array], other: dict[str, Array]) -> int:
    """Return in how many numbers two states differ in any bit."""
    return sum(int(np.count_nonzero(one[name] != other[name])) for name in one)


def distance(one: dict[str, Array], other: dict[str, Array], species: str) -> float:
    """Return the greatest difference of a species over its greatest mixing ratio."""
    return float(np.abs(one[species] - other[species]).max() / np.abs(one[species]).max())


def check(length: str = "1 h", threads: int = 2) -> list[Figure]:
    """Return the numbers that differ between 1 and more threads, and the distance of single from double precision."""
    double = final_state(cut_case(length))
    parallel = final_state(cut_case(length, run={"threads": threads}))
    single = final_state(cut_case(length, chemistry={"precision": "single"}))
    test, differ = f"{threads} threads against 1, {length} of full chemistry", differing(double, parallel)
    closeness = f"single against double precision, {length} of full chemistry"
    return [
        Figure(test, "numbers that differ in any bit", differ, 0, reference="0"),
        *(
            Figure(closeness, f"{name}: greatest difference over maximum", distance(double, single, name), 1e-4)
            for name in COMPARED
        ),
    ]

"""The same results on any number of threads, and close ones in single precision."""

from typing import Any, Final

import numpy as np

from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from airshed.verify.chemistry.families import cut_case
from airshed.verify.figure import Figure
from airshed.verify.transport.flow import Array

COMPARED: Final = ("O3", "NO2", "CO", "HNO3", "SO2", "HCHO")
"""Species that single precision is compared for: abundant ones of each kind."""


State = dict[str, Array]
"""Mixing ratios (level, lat, lon) by species."""

LIMIT_OF_SINGLE: Final = {"imex": 1e-5, "strang": 1e-4}
"""A few times what was first found; Strang splitting may take other steps, within a tolerance of 1e-2 for each."""


def final_state(case: Case) -> State:
    """Run a case and return the mixing ratios of all species at its end, (level, lat, lon)."""
    with Simulation(case) as simulation:
        simulation.run()
        return dict(zip(simulation.model.network.names, simulation.model.mixing_ratios(), strict=True))


def differing(one: State, other: State) -> int:
    """Return in how many numbers two states differ in any bit."""
    return sum(int(np.count_nonzero(one[name] != other[name])) for name in one)


def distance(one: State, other: State, species: str) -> float:
    """Return the greatest difference of a species over its greatest mixing ratio."""
    return float(np.abs(one[species] - other[species]).max() / np.abs(one[species]).max())


def with_settings(case: Case, **sections: dict[str, Any]) -> Case:
    """Return a case with some settings of some sections changed."""
    data = case.to_dict()
    changed = {name: {**data[name], **section} for name, section in sections.items()}
    return Case.from_dict(data | changed, base=case.base)


def compare(case: Case, threads: int = 2) -> list[Figure]:
    """Return the numbers that differ between 1 and more threads, and the distance of single from double precision."""
    double = final_state(case)
    parallel = final_state(with_settings(case, run={"threads": threads}))
    single = final_state(with_settings(case, chemistry={"precision": "single"}))
    integrator = case.chemistry.integrator
    what = f"{case.time.length.text} of full chemistry, {integrator}"
    limit, reference = LIMIT_OF_SINGLE[integrator], "double precision"
    return [
        Figure(
            f"{threads} threads against 1, {what}", "numbers that differ in any bit", differing(double, parallel), 0,
            reference="exact: 0",
        ),
        *(
            Figure(
                f"single precision, {what}", f"{name}: greatest difference over maximum",
                distance(double, single, name), limit, reference=reference,
            )
            for name in COMPARED
        ),
    ]  # fmt: skip


def check(length: str = "1 h") -> list[Figure]:
    """Return what :func:`compare` finds in a part of west-europe by IMEX."""
    return compare(cut_case(length))

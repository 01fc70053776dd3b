"""Step a case of the bucket model by BMI, set its rain, and print the results of each rank as JSON."""

import json
import sys

import numpy as np

from airshed.bmi import Component
from airshed.core.errors import CaseError

DAY = 86400.0


def steps(file: str) -> dict[str, list[float]]:
    """Return the values of all variables after some days, and of a pointer."""
    bucket = Component()
    bucket.initialize(file)
    pointer = bucket.get_value_ptr("water")
    bucket.update()
    bucket.set_value("rain", np.linspace(0.0, 60.0, 7))
    bucket.update_until(4 * DAY)
    bucket.set_value_at_indices("rain", np.array([5]), np.array([80.0]))
    bucket.update()
    found = {
        name: bucket.get_value(name, np.empty(bucket.get_grid_size(bucket.get_var_grid(name)))).tolist()
        for name in bucket.get_output_var_names()
    }
    bucket.finalize()
    return {**found, "pointer": pointer.tolist()}


def refusal(file: str, rank: int) -> str:
    """Return the error for values that differ between ranks."""
    bucket = Component()
    bucket.initialize(file)
    try:
        bucket.set_value("rain", np.full(7, float(rank)))
    except CaseError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    from mpi4py import MPI

    ranks = MPI.COMM_WORLD
    each = ranks.gather(steps(sys.argv[1]))
    message = refusal(sys.argv[1], ranks.rank)
    if ranks.rank == 0:
        print(json.dumps({"each": each, "message": message}))

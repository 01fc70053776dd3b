"""One of the ranks that the benchmark starts: measures what its argument asks for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airshed.bench.adjoint_io.experiment import Experiment, measure
from airshed.bench.started import work
from airshed.parallel.communicator import Communicator


def measured(request: Mapping[str, Any], ranks: Communicator) -> dict[str, Any]:
    """Return what is found on these ranks."""
    given = request["experiment"]
    asked: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
    return measure(Experiment(**asked), ranks, Path(request["folder"]))


if __name__ == "__main__":
    work(measured)

"""One of the ranks that the benchmark starts: measures what its argument asks for."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from airshed.bench.io.experiment import Experiment, measure
from airshed.bench.started import work
from airshed.parallel.communicator import Communicator


def measured(request: Mapping[str, Any], ranks: Communicator) -> dict[str, Any]:
    """Return what is found on these ranks."""
    asked = {**request["experiment"], "strategies": tuple(request["experiment"]["strategies"])}
    runs = measure(Experiment(**asked), ranks, Path(request["folder"]))
    return {kind: [asdict(each) for each in found] for kind, found in runs.items()}


if __name__ == "__main__":
    work(measured)

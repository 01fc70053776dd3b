"""One of the ranks that the benchmark starts: measures what its argument asks for; the root prints it as JSON."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from airshed.bench.io.experiment import Experiment, measure
from airshed.core.errors import AirshedError
from airshed.parallel.communicator import world


def main() -> None:
    """Measure."""
    request = json.loads(sys.argv[1])
    asked = {**request["experiment"], "strategies": tuple(request["experiment"]["strategies"])}
    ranks = world()
    try:
        runs = measure(Experiment(**asked), ranks, Path(request["folder"]))
    except AirshedError as error:
        sys.exit(str(error))
    if ranks.rank == 0:
        print(json.dumps({kind: [asdict(each) for each in found] for kind, found in runs.items()}))


if __name__ == "__main__":
    main()

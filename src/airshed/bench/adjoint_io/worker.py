"""One of the ranks that the benchmark starts: measures what its argument asks for; the root prints it as JSON."""

import json
import sys
from pathlib import Path
from typing import Any

from airshed.bench.adjoint_io.experiment import Experiment, measure
from airshed.core.errors import AirshedError
from airshed.parallel.communicator import world


def main() -> None:
    """Measure."""
    request = json.loads(sys.argv[1])
    given = request["experiment"]
    asked: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
    ranks = world()
    try:
        found = measure(Experiment(**asked), ranks, Path(request["folder"]))
    except AirshedError as error:
        sys.exit(str(error))
    if ranks.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()

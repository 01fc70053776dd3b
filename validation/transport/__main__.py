"""Run the study, or some parts of it, and write figures (JSON), pictures (PNG) and README.md.

python -m validation.transport [plane] [sphere] [limits] [comparison]        all parts: half an hour on one core
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import report, results

PARTS = ("plane", "sphere", "limits", "comparison")


def main(chosen: list[str]) -> None:
    """Run the chosen parts, by default all, and write README.md."""
    unknown = set(chosen) - set(PARTS)
    if unknown:
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in chosen or PARTS:
        run: Callable[[], Any] = import_module(f"validation.transport.{part}").run
        print(part, flush=True)
        try:
            results.write(part, run())
        except ModuleNotFoundError as error:
            sys.exit(f"the part {part} needs the package {error.name}: make setup installs it")
    report.write()


if __name__ == "__main__":
    main(sys.argv[1:])

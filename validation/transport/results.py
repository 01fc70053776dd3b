"""The figures of the study as JSON files, one for each part."""

import json
from pathlib import Path
from typing import Any

from airshed.core.atomic import write_whole

HERE = Path(__file__).parent


def write(part: str, figures: Any) -> None:
    """Write the figures of a part, completely or not at all."""
    with write_whole(HERE / f"{part}.json") as temporary:
        temporary.write_text(json.dumps(rounded(figures), indent=1) + "\n", encoding="utf-8")


def read(part: str) -> Any:
    """Return the figures of a part."""
    return json.loads((HERE / f"{part}.json").read_text(encoding="utf-8"))


def rounded(figures: Any) -> Any:
    """Return figures with five digits: more are not reproduced by another compiler."""
    if isinstance(figures, dict):
        return {str(key): rounded(value) for key, value in figures.items()}
    if isinstance(figures, list | tuple):
        return [rounded(value) for value in figures]
    return float(f"{figures:.5g}") if isinstance(figures, float) else figures

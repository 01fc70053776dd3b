"""Factors that are to be found again from the fields that a run with them gave."""

from typing import Any, Final

import numpy as np

TRUE: Final = {"NO": 1.6, "VOC": 0.5}
OUTPUTS: Final[dict[str, Any]] = {"NO": ["30 min", "1 h"], "VOC": "1 h"}
INPUTS: Final[dict[str, Any]] = {"factors": {"NO": ["NO"], "VOC": {"species": ["VOC"]}}}


def swapped(vjp: Any) -> Any:
    """A wrong gradient: that of one factor for the other."""

    def wrong(*given: Any) -> Any:
        found = vjp(*given)
        return dict(zip(found, reversed(found.values()), strict=True))

    return wrong


def spread(seen: Any, first: Any) -> float:
    """By how much fields are off at first, root mean square."""
    return float(np.sqrt(np.mean((np.asarray(seen) - np.asarray(first)) ** 2)))

"""Recovery of emission factors from the fields of a run with known factors."""

from typing import Any, Final

import numpy as np

TRUE: Final = {"NO": 1.6, "VOC": 0.5}
OUTPUTS: Final[dict[str, Any]] = {"NO": ["30 min", "1 h"], "VOC": "1 h"}
INPUTS: Final[dict[str, Any]] = {"factors": {"NO": ["NO"], "VOC": {"species": ["VOC"]}}}


def swapped(vjp: Any) -> Any:
    """Return a wrong gradient, with the factors exchanged."""

    def wrong(*given: Any) -> Any:
        found = vjp(*given)
        return dict(zip(found, reversed(found.values()), strict=True))

    return wrong


def spread(seen: Any, first: Any) -> float:
    """Return the root mean square misfit of the fields at the start."""
    return float(np.sqrt(np.mean((np.asarray(seen) - np.asarray(first)) ** 2)))

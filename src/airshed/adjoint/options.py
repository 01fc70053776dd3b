"""How a gradient is computed."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Options:
    """How a gradient is computed.

    source_levels  lowest levels into which sources are asked for
    frozen         whether limiters of the transport stay as they were, rather than change with the mixing ratios
    read           whether fields and numbers that processes read in steps are asked for
    """

    source_levels: int = 1
    frozen: bool = False
    read: bool = True


DEFAULT: Final = Options()

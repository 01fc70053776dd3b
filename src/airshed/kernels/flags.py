"""Numbers in shared memory by which processes tell each other how far they are, by the code of a kernel.

Python can neither order what it writes to memory nor wait without holding its lock.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import address

Flag = npt.NDArray[np.int64]
"""One number (1,) that one process raises and others read."""

_TURNS: Final = 4
"""Turns of waiting, some microseconds each, before the caller may see to something else."""


@dataclass(frozen=True)
class CompiledFlags:
    """Raises flags and waits for those of others."""

    kernel: MechanismKernel

    def raise_to(self, flag: Flag, value: int) -> None:
        """Let others see a value, and with it all that was written before."""
        self.kernel.functions.airshed_raise_flag(address(flag), value)

    def reached(self, flag: Flag, value: int) -> bool:
        """Wait some microseconds for a flag to reach a value; what its owner wrote before can be read then."""
        return bool(self.kernel.functions.airshed_await_flag(address(flag), value, _TURNS))

"""Redistribution of packed arrays between ranks whose packs differ in width, such as those of a CPU and of a GPU.

Messages carry the narrower packs, as parts of them would be scattered in memory. A rank with wider packs copies its
array before it sends, and after it has received.
"""

import time

import numpy as np

from airshed.kernels.host import AnyArray
from airshed.kernels.layout import repack
from airshed.parallel.redistribution import Distribution, Plan, Redistribution
from airshed.parallel.redistribution.redistribution import Transport


class PackedRedistribution:
    """Redistribution of packed arrays [lat][block][...][W] by a plan in the narrower packs of both sides.

    seconds  duration of the last call on this rank, with its copy [s]
    """

    def __init__(self, messages: Transport, plan: Plan) -> None:
        self.plan, self.seconds = plan, 0.0
        self._move = Redistribution(messages, plan)
        self._copies: dict[int, AnyArray] = {}

    def __call__(self, source: AnyArray | None, target: AnyArray | None) -> None:
        """Move an array into another one; None on ranks that do not hold it."""
        began = time.perf_counter()
        sent, received = self._narrow(source, self.plan.source), self._narrow(target, self.plan.target)
        if source is not None and sent is not None and sent is not source:
            repack(source, sent)
        self._move(sent, received)
        if target is not None and received is not None and received is not target:
            repack(received, target)
        self.seconds = time.perf_counter() - began

    def _narrow(self, array: AnyArray | None, held: Distribution) -> AnyArray | None:
        """Return an array with the packs of the plan: the given one, or memory for its copy."""
        if array is None or array.shape[-1] == held.shape[-1]:
            return array
        if id(held) not in self._copies:
            self._copies[id(held)] = np.empty(held.local_shape(self._move.rank), held.numbers)
        return self._copies[id(held)]

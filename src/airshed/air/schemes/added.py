"""Adds up what two operators, which start from one state, change of it.

With the first operator C, the second M, and the air A, A_C, A_M before and after each of them

    A' w = A_M M q + A_C C q - A q,      A' = A_C + A_M - A,      q' = max(w, 0)
"""

import numpy as np

from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import State


class Added:
    """The sum of what two operators change of a packed state; see the head of this file.

    before, between, after  air [mol] of cells before and after the first one, and after the second one alone
    """

    def __init__(self, state: State) -> None:
        self._state, self.q, self.before = state, state.q.copy(), state.air.copy()

    def begin_again(self) -> None:
        """Note what the first operator changed, and put the state back for the second one."""
        state, self.between = self._state, self._state.air.copy()
        self._change = amounts(state.q, state.air) - amounts(self.q, self.before)
        self._grown = state.air - self.before
        state.q[...], state.air[...] = self.q, self.before

    def add_up(self) -> AnyArray:
        """Add up both changes; return the mixing ratios w, of which those below zero become zero in the state."""
        state, self.after = self._state, self._state.air.copy()
        both = amounts(state.q, state.air) + self._change
        state.air += self._grown
        w = both / state.air[:, :, None]
        np.maximum(w, 0.0, out=state.q)
        return np.asarray(w)


def amounts(q: AnyArray, air: AnyArray) -> AnyArray:
    """Return amounts [mol] of mixing ratios [lat][block][species][level][W] in air [lat][block][level][W]."""
    return np.asarray(q * air[:, :, None])

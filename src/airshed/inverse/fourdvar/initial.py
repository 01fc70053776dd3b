"""The initial state with factors and increments, and the way back."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from airshed.inverse.fourdvar.seam import Controls
from airshed.models.air.case.inverse import ControlSection

Array = npt.NDArray[np.float64]


class InitialControls:
    """c = f c_0 for log-normal controls, max(c_0 + d, 0) for gaussian ones, one after the other.

    names  of the species of the state (species, level, lat, lon)
    """

    def __init__(self, controls: Sequence[ControlSection], names: Sequence[str]) -> None:
        chosen = [each for each in controls if each.of == "initial"]
        self._start: dict[int, Array] = {}
        self._steps = [(each, list(names).index(species)) for each in chosen for species in each.species]

    def apply(self, controls: Controls, state: Array) -> list[Array]:
        """Change a state [mol/mol] in place; return what :meth:`gradient` needs: each field as it was."""
        before = []
        if not self._start:
            self._start = {row: state[row].copy() for _, row in self._steps}
        for control, row in self._steps:
            before.append(state[row].copy())
            values = controls[control.name]
            state[row] = state[row] * values if control.kind == "log-normal" else np.maximum(state[row] + values, 0.0)
        return before

    def clipped(self, controls: Controls) -> dict[str, float]:
        """Return by control the share of cells in which it asks for less than nothing, where that is more than 0.

        There the state is 0, and nothing depends on the control.
        """
        state = {row: field.copy() for row, field in self._start.items()}
        found: dict[str, float] = {}
        for control, row in self._steps if state else ():
            values = controls[control.name]
            wanted = state[row] * values if control.kind == "log-normal" else state[row] + values
            share = float(np.mean(wanted < 0.0))
            if share:
                found[control.name] = max(share, found.get(control.name, 0.0))
            state[row] = np.maximum(wanted, 0.0)
        return found

    def gradient(self, controls: Controls, before: Sequence[Array], adjoint: Array) -> dict[str, Array]:
        """Return the gradient by each control from that by the state, (species, level, lat, lon)."""
        bar = adjoint.copy()
        found = {each.name: np.zeros_like(controls[each.name]) for each, _ in self._steps}
        for (control, row), field in reversed(list(zip(self._steps, before, strict=True))):
            values = controls[control.name]
            if control.kind == "log-normal":
                own, bar[row] = bar[row] * field, bar[row] * values
            else:
                own = bar[row] = np.where(field + values > 0.0, bar[row], 0.0)
            found[control.name] += own if control.per == "cell" else own.sum()
        return found

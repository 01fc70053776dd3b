"""The failure of the chemistry of a cell, and the conditions by which `airshed box` replays it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import write_whole
from airshed.core.errors import ReplayableError
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.network import ReactionNetwork
from airshed.models.box.conditions import BoxConditions
from airshed.models.box.forcing import BoxForcing
from airshed.models.box.names import INPUTS

Array = npt.NDArray[np.float64]

FAILED_CELL = "failed-cell.toml"
"""Conditions in the run folder by which `airshed box` replays a cell whose chemistry failed."""

_UNIT = "molecules/cm3"
_MOST_NAMED = 5


@dataclass(frozen=True)
class FailureState:
    """Where the chemistry of a cell failed.

    cell      its number, or words for it; None where there is but one
    time      [s] that it reached;  interval  [s] of the integration
    state     (species,) [molecules cm-3] at that time
    """

    cell: int | str | None
    time: float
    interval: tuple[float, float]
    state: Array


class ChemistryFailure(ReplayableError):  # noqa: N818  the failure of a cell, which is an error of the user's to mend
    """The chemistry of a cell failed, also with smaller steps.

    cell, time, interval, state  see :class:`FailureState`
    conditions  replay the interval from its start, see :meth:`write`
    """

    def __init__(
        self, network: ReactionNetwork, where: FailureState, conditions: BoxConditions, *,
        tried: str = "also with smaller steps", remedy: str = "raise solver.most_steps",
    ) -> None:  # fmt: skip
        cell, time, interval, state = where.cell, where.time, where.interval, where.state
        self.network, self.cell, self.time, self.interval = network, cell, time, interval
        self.state, self.conditions = state, conditions
        order = np.argsort(-np.nan_to_num(state, nan=np.inf, posinf=np.inf))[:_MOST_NAMED]
        largest = ", ".join(f"{network.names[species]} {state[species]:.3g}" for species in order)
        whose = "" if cell is None else f" of {cell}" if isinstance(cell, str) else f" of cell {cell}"
        super().__init__(
            f"the chemistry{whose} goes no further than t = {time:.10g} s, on its way from {interval[0]:.10g} s to "
            f"{interval[1]:.10g} s, {tried} (most there is of {largest} {_UNIT}): look for a rate or a source that "
            f"lets something grow without bound, or {remedy}"
        )

    def keep(self, folder: Path, case: Any) -> "ChemistryFailure":
        """Write it for a run; see :class:`ReplayableError`."""
        without = [] if case.model == self.conditions.model else [each.file for each in case.process]
        return self.write(folder / FAILED_CELL, case.mechanism, without)

    def write(self, path: Path, mechanism: str, without: Sequence[str] = ()) -> "ChemistryFailure":
        """Write a conditions file that replays the failure; return the failure, which then names it.

        mechanism  the argument of `airshed box`;  without  files whose processes the conditions leave out.
        Raises OutputError.
        """
        command = f"airshed box {mechanism} --conditions {path}"
        code = " --allow-code" if self.conditions.process else ""
        state = "".join(
            f"#   {name} = {value:.17g}\n" for name, value in zip(self.network.names, self.state, strict=True)
        )
        text = (
            f"# Replays the interval in which the chemistry of mechanism {self.network.name} failed:\n"
            f"#   {command} --output replay.nc{code}\n"
            f"# It came to t = {self.time:.17g} s, with [{_UNIT}]\n{state}"
            + "".join(f"# Reactions that {file} adds, if any, are not in it.\n" for file in without)
            + "\n"
        )
        with write_whole(path) as part:
            part.write_text(text + self.conditions.conditions_file(path.parent), encoding="utf-8")
        self.args = (f"{self}; to replay it: {command}{code}",)
        return self


def replay_conditions(
    network: ReactionNetwork,
    state: npt.ArrayLike,
    inputs: Mapping[str, float],
    length: float,
    sections: Mapping[str, Any] | None = None,
) -> BoxConditions:
    """Return conditions under which a box does what one cell did over `length` [s], its inputs constant.

    state     (species,) [molecules cm-3] at the beginning
    inputs    values of the air, the sun and the mechanism's parameters, by the names that mechanisms have for them:
              TEMP [K], PRESS [Pa], M, O2, N2, H2O [molecules cm-3], SUN or sec_zenith, daylight, ...
    sections  further ones of the conditions, such as [solver], by their names
    """
    amounts = zip(network.names, np.asarray(state, np.float64).tolist(), strict=True)
    fixed = {each.name for each in network.fixed} | set(AIR_GASES)
    units = {each.name: each.unit for each in network.parameters}
    rates = {
        name: f"{float(value)!r} {units[name]}" if units.get(name) else float(value)
        for name, value in inputs.items()
        if name not in fixed and name not in INPUTS and not (name == "SUN" and "sec_zenith" in inputs)
    }
    data = {
        "title": "Replay",
        "time": {"length": f"{length!r} s", "output_every": f"{length!r} s"},
        "environment": {"temperature": f"{float(inputs['TEMP'])!r} K"},
        "initial": {name: f"{value!r} {_UNIT}" for name, value in amounts},
        "fixed": {name: f"{float(value)!r} {_UNIT}" for name, value in inputs.items() if name in fixed},
        "rates": rates,
        **(sections or {}),
    }
    return BoxConditions.from_dict(data)


def at_start_of(
    conditions: BoxConditions, forcing: BoxForcing, cell: int, state: Array, start: float, end: float
) -> BoxConditions:
    """Return the conditions of one box in one interval [s] of its time, from its state (species,) at the start."""
    data = conditions.conditions()
    names = forcing.network.names
    data["time"] |= {"start": f"{start!r} s", "length": f"{end - start!r} s", "output_every": f"{end - start!r} s"}
    data["initial"] = {name: f"{value!r} {_UNIT}" for name, value in zip(names, state.tolist(), strict=True)}
    _put(data, forcing.own_values(cell), forcing.network)
    return BoxConditions.from_dict(data, conditions.folder)


def _put(data: dict[str, Any], values: Mapping[str, float], network: ReactionNetwork) -> None:
    """Replace values of all cells by those of one cell."""
    environment = {"T": ("temperature", "K"), "p": ("pressure", "Pa"), "humidity": ("humidity", "1")}
    units = {each.name: each.unit for each in network.parameters}
    fixed = {each.name for each in network.fixed} | set(AIR_GASES)
    for name, value in values.items():
        if name in environment:
            key, unit = environment[name]
            data.setdefault("environment", {})[key] = f"{value!r} {unit}"
        elif name in fixed:
            data["fixed"][name] = f"{value!r} {_UNIT}"
        else:
            data["rates"][name] = f"{value!r} {units.get(name, '')}".strip()
    for here, other in (("p", ("fixed", "M")), ("M", ("environment", "pressure"))):
        if here in values:
            data[other[0]].pop(other[1], None)

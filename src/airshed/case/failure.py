"""Failure of the chemistry in a cell, and the conditions with which `airshed box` reproduces it."""

from collections.abc import Callable, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.toml import write_toml
from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.errors import ReplayableError
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.network import ReactionNetwork

FAILED_CELL: Final = "failed-cell.toml"
"""File in the run folder with the conditions of the failed cell, for `airshed box`."""

INPUTS: Final = {"TEMP": "T", "PRESS": "p"}
"""Names in mechanisms, and their names in formulas of conditions."""

UNIT: Final = "molecules/cm3"
_MOST_NAMED: Final = 5


class ChemistryFailure(ReplayableError):  # noqa: N818  the term of the field
    """The integration of the chemistry in a cell failed, also with smaller steps.

    cell        number or description of the cell; None for a single box
    times       start of the interval, time reached, and end of the interval [s]: `interval` and `time`
    state       (species,) concentrations at the time reached [molecules cm-3]
    conditions  conditions file as plain values, which reproduces the interval; paths are absolute
    """

    def __init__(
        self, network: ReactionNetwork, conditions: Mapping[str, Any], cell: int | str | None,
        times: tuple[float, float, float], state: Array, *, tried: str = "also with smaller steps",
        remedy: str = "raise solver.most_steps",
    ) -> None:  # fmt: skip
        begin, time, end = times
        self.network, self.conditions, self.cell = network, conditions, cell
        self.time, self.interval, self.state = time, (begin, end), state
        order = np.argsort(-np.nan_to_num(state, nan=np.inf, posinf=np.inf))[:_MOST_NAMED]
        largest = ", ".join(f"{network.names[species]} {state[species]:.3g}" for species in order)
        whose = "" if cell is None else f" of {cell}" if isinstance(cell, str) else f" of cell {cell}"
        super().__init__(
            f"the chemistry{whose} goes no further than t = {time:.10g} s, on its way from {begin:.10g} s to "
            f"{end:.10g} s, {tried} (most there is of {largest} {UNIT}): look for a rate or a source that "
            f"lets something grow without bound, or {remedy}"
        )

    def keep(self, folder: Path, case: Any) -> "ChemistryFailure":
        """Write the conditions file into a run folder, see :class:`ReplayableError`."""
        without = [] if case.model == "box" else [each.file for each in case.process]
        return self.write(folder / FAILED_CELL, case.mechanism, without)

    def write(self, path: Path, mechanism: str, without: Sequence[str] = ()) -> "ChemistryFailure":
        """Write a conditions file that replays the failure; return the failure, which then names it.

        mechanism  the argument of `airshed box`;  without  files whose processes the conditions leave out.
        Raises OutputError.
        """
        command = f"airshed box {mechanism} --conditions {path}"
        code = " --allow-code" if self.conditions.get("process") else ""
        state = "".join(
            f"#   {name} = {value:.17g}\n" for name, value in zip(self.network.names, self.state, strict=True)
        )
        text = (
            f"# Replays the interval in which the chemistry of mechanism {self.network.name} failed:\n"
            f"#   {command} --output replay.nc{code}\n"
            f"# It came to t = {self.time:.17g} s, with [{UNIT}]\n{state}"
            + "".join(f"# Reactions that {file} adds, if any, are not in it.\n" for file in without)
            + "\n"
        )
        conditions = with_paths(self.conditions, lambda file: relpath(file, path.parent))
        with write_whole(path) as part:
            part.write_text(text + write_toml(conditions), encoding="utf-8")
        self.args = (f"{self}; to replay it: {command}{code}",)
        return self


def with_paths(conditions: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return conditions, as plain values, with changed paths of CSV files and process files."""

    def changed(key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: changed(name, each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [changed(key, each) for each in value]
        return change(value) if key in ("csv", "file") and isinstance(value, str) else value

    found: dict[str, Any] = changed("", conditions)
    return found


def replay_conditions(
    network: ReactionNetwork,
    state: npt.ArrayLike,
    inputs: Mapping[str, float],
    length: float,
    sections: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return box conditions that reproduce one cell over `length` [s] with constant inputs.

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
    return {
        "title": "Replay",
        "time": {"length": f"{length!r} s", "output_every": f"{length!r} s"},
        "environment": {"temperature": f"{float(inputs['TEMP'])!r} K"},
        "initial": {name: f"{value!r} {UNIT}" for name, value in amounts},
        "fixed": {name: f"{float(value)!r} {UNIT}" for name, value in inputs.items() if name in fixed},
        "rates": rates,
        **(sections or {}),
    }

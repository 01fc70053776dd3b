"""Names of branches: from the changes with which they begin, or from the change that they leave out."""

from collections.abc import Mapping
from typing import Any

from airshed.case.case import RunCase
from airshed.case.toml import flatten
from airshed.runtime.registry import Lever, model_kind
from airshed.serve.model.sessions import HostedSession
from airshed.serve.protocol import types
from airshed.serve.scenarios.names import scenario_name, shortened


def branch_name(parent: HostedSession, command: types.Branch) -> str:
    """Return the name of a branch; raises CaseError for an unknown snapshot."""
    stored = None if command.snapshot is None else parent.snapshot(command.snapshot)
    case = parent.simulation.case if stored is None else stored.case
    if command.changes:
        return scenario_name(command.changes, _levers(parent), values_by_path(case))
    if stored is not None and stored.about.change is not None:
        return without(parent.log[stored.about.change].command, _levers(parent), values_by_path(case))
    time = state_time(parent) if stored is None else stored.about.time
    return f"Copy from {time[11:16]}"


def opened_name(session: HostedSession, changes: Mapping[str, Any]) -> str:
    """Return the name of a session that was opened with changes; empty without any."""
    return scenario_name(changes, _levers(session), {}) if changes else ""


def without(command: Mapping[str, Any], levers: Mapping[str, Lever], before: Mapping[str, Any]) -> str:
    """Return the name of a run that leaves out a change."""
    match command:
        case {"kind": "set", "changes": dict(changes)}:
            return shortened(f"Without {scenario_name(changes, levers, before)}")
        case {"kind": "release", "species": species}:
            return f"Without the release of {species}"
        case {"variable": variable}:
            return f"Without the painting of {variable}"
    return "Without a change"


def values_by_path(case: RunCase) -> dict[str, Any]:
    """Return the settings of a case by dotted paths."""
    return {".".join(map(str, path)): value for path, value in flatten(case.to_dict()).items()}


def state_time(session: HostedSession) -> str:
    """Return the time of a session's state in ISO 8601."""
    return str(session.simulation.time)


def _levers(session: HostedSession) -> Mapping[str, Lever]:
    return model_kind(session.simulation.case.model).info(session.simulation.model).levers

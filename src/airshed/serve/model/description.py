"""State and description of a session's model, as sent to clients."""

from airshed.core.report import Report, json_cell
from airshed.core.version import __version__
from airshed.runtime.model import Timings
from airshed.runtime.registry import model_kind
from airshed.serve.fields.published import Shape
from airshed.serve.model.advance import Goal
from airshed.serve.model.sessions import HostedSession, iso
from airshed.serve.protocol import types
from airshed.serve.protocol.schema import case_schema, values_of

CAPABILITIES = (
    "step", "run", "pause", "restart", "set", "paint", "snapshot", "forget", "restore", "branch", "replay", "compare",
)  # fmt: skip


def state_of(
    name: str, hosted: HostedSession, goal: Goal | None = None, *, version: int = 0, error: str | None = None
) -> types.SessionState:  # fmt: skip
    """Return the state of a session; for the model's thread."""
    simulation = hosted.simulation
    seconds = simulation.seconds
    status: types.Status = "failed" if error else "running" if goal else "paused"
    if status == "paused" and seconds >= simulation.end:
        status = "ended"
    return types.SessionState(
        session=name, title=simulation.case.title, model=simulation.case.model, case=simulation.case.name,
        status=status, step=hosted.step, seconds=seconds, time=iso(simulation.time), begin=simulation.begin,
        end=simulation.end, target=None if goal is None else goal.until, version=version,
        steps_per_second=None if goal is None else goal.speed, log_entries=len(hosted.log),
        parent=hosted.parent, error=error, scenario=hosted.scenario,
    )  # fmt: skip


def shape_of(hosted: HostedSession) -> Shape:
    """Return the variables and the map of a session's model."""
    model = hosted.simulation.model
    groups = model_kind(hosted.simulation.case.model).info(model).groups
    return Shape.of(model.fields, model.domain.axes, groups, model.domain.attributes)


def air_of(hosted: HostedSession) -> str:
    """Return the variable with the amount of air of a session's model; empty for a model without one."""
    return model_kind(hosted.simulation.case.model).info(hosted.simulation.model).air


def info_of(hosted: HostedSession, shape: Shape, state: types.SessionState, timings: Timings) -> types.ModelInfo:
    """Return the description of a session's model; for the model's thread, on rank 0.

    timings  of all ranks, measured by a collective call
    """
    simulation, model = hosted.simulation, hosted.simulation.model
    kind = model_kind(simulation.case.model)
    about = kind.info(model)
    known = state.error is None  # after an error within a step the state belongs to no time
    variables = [
        each.model_copy(update={"value": float(simulation.values(each.name))})
        if known and each.settable and not each.dims
        else each
        for each in shape.variables.values()
    ]
    return types.ModelInfo(
        version=__version__, state=state, start=iso(simulation.case.start), variables=variables,
        grid=shape.grid, notices=[*hosted.notices, *simulation.notices],
        timing=[types.Timing(part=part, seconds=float(seconds)) for part, seconds in timings.parts.items()],
        species=[name for name, each in shape.variables.items() if each.group == "species"],
        processes=list(about.processes), shown=[name for name in about.shown if name in shape.variables],
        air=about.air or None,
        settings=case_schema(simulation), values=values_of(simulation),
        ranks=model.domain.ranks.size, capabilities=[*CAPABILITIES, *(["release"] if kind.release else [])],
        attributes=dict(shape.attributes),
    )  # fmt: skip


def summary_of(report: Report, state: types.SessionState) -> types.Summary:
    """Return a report as sent to clients; numbers that are not finite become null."""
    tables = [
        types.SummaryTable(
            title=each.title, columns=list(each.columns), rows=[list(map(json_cell, row)) for row in each.rows],
            note=each.note,
        )
        for each in report.tables
    ]  # fmt: skip
    facts = {name: json_cell(cell) for name, cell in report.facts.items()}
    return types.Summary(state=state, facts=facts, tables=tables)

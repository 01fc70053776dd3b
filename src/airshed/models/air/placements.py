"""Placements of the stages of a step: all on the CPU, all on a GPU, or transport on the CPU and the rest on the GPU.

Trial steps of the case measure the times of stages on each device. These times predict the time of a step for each
placement, and select the device of ``run.device = "auto"``.
"""

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.core.errors import CaseError, KernelError
from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted
from airshed.kernels.backend import Backend, gpus
from airshed.kernels.host import usable_cores
from airshed.models.air.case import Case
from airshed.models.air.case.sections import GroupsSection
from airshed.models.air.model import AirModel
from airshed.models.air.programs.groups import RedistributionRunner
from airshed.models.air.programs.step_times import StepTimes
from airshed.parallel.communicator import Communicator, SingleRank
from airshed.parallel.failure import catching_together, raising_together
from airshed.parallel.groups import Groups

DEVICES: Final = ("cpu", "cuda")
_TIMED: Final = 2
"""Steps whose times are averaged, after a first step."""

Make = Callable[[Case], AirModel]
"""Function that builds the model of a case."""

_TRIALS: Final[dict[tuple[object, ...], tuple[dict[str, StepTimes], list[str]]]] = {}
"""Trials and notices of this process, by the settings that determine the cost of a step.

A changed case continues on its device.
"""


def on_device(case: Case, device: str) -> Case:
    """Return a case without groups whose steps run on a device."""
    return case.without_groups().model_copy(update={"run": case.run.model_copy(update={"device": device})})


def on_both(case: Case) -> Case:
    """Return a case of one process with transport on the CPU and all other stages on the GPU."""
    groups = GroupsSection(transport="same", transport_device="cpu", chemistry_device="cuda")
    return case.model_copy(update={"parallel": case.parallel.model_copy(update={"groups": groups})})


def time_steps(model: AirModel) -> StepTimes:
    """Return the times of trial steps of a model, and close it; collective. Times are those of the slowest rank."""
    with closing(model):
        first = _time_steps(model, 1)  # loads code and allocates memory
        return _time_steps(model, _TIMED) if model.seconds < model.case.time.length.value else first


def _time_steps(model: AirModel, most: int) -> StepTimes:
    """Return the mean times of the next steps, at most `most` before the end of the run."""
    spent, end, count = model.executor.spent, model.case.time.length.value, 0
    spent.clear()
    began, begin = time.perf_counter(), model.seconds
    while count < most and model.seconds < end:
        change = model.next_change()
        model.step_through([min(model.seconds + model.longest_step(change), change, end)])
        count += 1
    own = np.array([time.perf_counter() - began, *spent.values()]) / count
    step, *stages = model.subdomain.ranks.largest(own).tolist()
    return StepTimes(dict(zip(spent, stages, strict=True)), step, (model.seconds - begin) / count)


def device_trials(case: Case, make: Make, ranks: Communicator) -> tuple[dict[str, StepTimes], list[str]]:
    """Return the times of trial steps on both devices, and notices; no times if a rank has no GPU. Collective.

    If the GPU cannot run the case, for example by lack of memory, there are no times, and a notice has the reason.
    """
    if not all(ranks.gather_all(_gpu_name() is not None)):
        return {}, []
    chemistry = case.chemistry
    key = case.make_grid().shape, ranks.size, chemistry.mechanism, chemistry.precision, chemistry.integrator
    if key not in _TRIALS:
        try:
            with catching_together(ranks), raising_together(ranks):
                _TRIALS[key] = {device: time_steps(make(on_device(case, device))) for device in DEVICES}, []
        except KernelError as error:
            _TRIALS[key] = {}, [f'run.device = "auto" has chosen cpu, as a trial failed: {error}']
    return _TRIALS[key]


def fastest(trials: Mapping[str, StepTimes]) -> str:
    """Return the device with the shortest predicted time of a step: the CPU without trials."""
    return min(trials, key=lambda device: trials[device].predicted, default="cpu")


def shared_gpus(chosen: Backend, ranks: Communicator) -> list[str]:
    """Return a notice if several ranks share a GPU, else nothing; collective if the backend has devices.

    GPUs are compared by their identity, since a launcher may show a different GPU to each rank.
    """
    if not chosen.devices:
        return []
    used = len(set(ranks.gather_all((socket.gethostname(), chosen.identity))))
    if used == ranks.size:
        return []
    return [f"{ranks.size} ranks share {counted(used, 'GPU')}, and wait for each other; take as many ranks as GPUs"]


def placement_report(case: Case) -> Report:
    """Return the predicted and measured times of a step for each placement on this machine.

    Raises KernelError if the code does not compile for the GPU.
    """
    threads = case.run.threads or usable_cores()

    def make(each: Case) -> AirModel:
        wanted = each.parallel.groups
        return AirModel(each, threads=threads, groups=Groups.of(SingleRank(), wanted.transport, wanted.chemistry))

    # trials on each device, and on both
    gpu = _gpu_name()
    trials = {device: time_steps(make(on_device(case, device))) for device in DEVICES[: 1 + (gpu is not None)]}
    program = case.without_groups().program(case.network())
    rows = [_Row(f"all on {device}", *each.split(program), None, each.step) for device, each in trials.items()]
    refused = "there is no GPU" if gpu is None else _refused(case)
    if not refused:
        rows.append(_row_on_both(make(on_both(case)), trials))

    # the fastest one
    best = min(rows, key=lambda row: row.predicted).placement
    steps = f"steps of {trials['cpu'].length:.4g} s, {counted(threads, 'thread')}" + (f", {gpu}" if gpu else "")
    note = f"predicted to be fastest: {best}; {steps}" + (f"; not on both: {refused}" if refused else "")
    columns = (
        "placement", "stages with transport [s]", "other stages [s]", "redistribution [s]", "predicted [s]",
        "measured [s]",
    )  # fmt: skip
    return Report(case.title, [Table("Placements of a step", columns, [row.cells for row in rows], note)])


@dataclass(frozen=True)
class _Row:
    """Times of a step for a placement [s]: of its parts, and measured for the whole step."""

    placement: str
    transport: float
    others: float
    redistribution: float | None
    measured: float

    @property
    def predicted(self) -> float:
        """The predicted time of a step."""
        return self.transport + self.others + (self.redistribution or 0.0)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The row of the table."""
        return self.placement, self.transport, self.others, self.redistribution, self.predicted, self.measured


def _row_on_both(model: AirModel, trials: Mapping[str, StepTimes]) -> _Row:
    """Return the times of transport on the CPU and all other stages on the GPU; close the model."""
    program, runner = model.program, model.executor.runners["redistribute"]
    assert isinstance(runner, RedistributionRunner)
    moves = runner.predicted(program)
    transport, others = trials["cpu"].split(program)[0], trials["cuda"].split(program)[1]
    return _Row("transport on cpu, other stages on cuda", transport, others, moves, time_steps(model).step)


def _refused(case: Case) -> str:
    """Return why the stages of a case cannot be on both devices; empty if they can."""
    if case.boundary.run is not None or case.boundary.files:
        return "groups have no boundary concentrations of face cells"
    try:
        return "" if on_both(case).has_groups else "the case has no groups"
    except CaseError as error:
        return str(error)


def _gpu_name() -> str | None:
    """Return the name of the GPU of this process; None without one."""
    try:
        return gpus()[0]
    except KernelError:
        return None

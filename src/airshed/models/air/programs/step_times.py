"""Times of trial steps on a device, and the predicted time of a step whose stages are on two devices.

The time of a stage does not depend on the device of other stages. So a step with transport on the CPU and all other
stages on the GPU takes

    t = sum over transport of t_cpu + sum over other stages of t_gpu + sum over redistributions of t_r

with t_r predicted from the measured costs of messages and copies, see ``parallel.redistribution.costs``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from airshed.core.report import Cell, Table
from airshed.program.stage import Program


@dataclass(frozen=True)
class StepTimes:
    """Mean times of trial steps [s].

    stages  of each stage by its key, the sum over its occurrences in a step
    step    of a whole step, with its control
    length  simulated time of a step
    """

    stages: Mapping[str, float]
    step: float
    length: float

    @property
    def predicted(self) -> float:
        """The predicted time of a step: that of its stages."""
        return sum(self.stages.values())

    def split(self, program: Program) -> tuple[float, float]:
        """Return the times of stages with horizontal transport, and of all other stages."""
        transport = {stage.key for stage in program.stages if "transport" in stage.operators}
        moving = sum(seconds for key, seconds in self.stages.items() if key in transport)
        return moving, self.predicted - moving


def device_table(trials: Mapping[str, StepTimes], device: str, measured: float) -> Table:
    """Return the predicted times of a step on each device, and the measured one of the run on the chosen device [s]."""
    rows: list[tuple[Cell, ...]] = [
        (name, trial.predicted, measured if name == device else None) for name, trial in trials.items()
    ]
    note = f'run.device = "auto" selected {device} by trial steps; predicted and measured are times of stages'
    return Table("Device", ("device", "predicted [s]", "measured [s]"), rows, note)

"""Inputs and results of executors of derivatives: options, a step to reverse, and summed adjoints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.kernels.derivatives import ReadAdjoints
from airshed.kernels.host import AnyArray
from airshed.kernels.step.data import Level
from airshed.models.air.programs.records import FormulaStep, StepRecord

Array = npt.NDArray[np.float64]

Observer = Callable[[FormulaStep | None, AnyArray, AnyArray, Array | None], None]
"""Callback for each part of a replayed step.

It receives an application of a formula, the packed mixing ratios before and after it, and the amounts clipped in each
block [lat][block][species], None if these are unknown. For cells and sums the application is None, and both mixing
ratios are those after them.
"""


@dataclass(frozen=True)
class AdjointOptions:
    """Options of the adjoint of steps.

    read       compute the adjoints of fields and numbers that operators read
    reactions  compute those of factors on reaction rates; Rosenbrock methods compute them always
    frozen     treat the limiters of transport as constant
    """

    threads: int = 1
    read: bool = True
    reactions: bool = True
    frozen: bool = False


@dataclass(frozen=True)
class ReverseStep:
    """Step to reverse: its record, time levels n-1, n and n+1, and the step before it, or its tendency T(n-1)."""

    record: StepRecord
    levels: tuple[Level, Level, Level]
    before: StepRecord | AnyArray


@dataclass(frozen=True)
class Totals:
    """Adjoints summed over steps, see :class:`airshed.kernels.derivatives.Reverser`; `read` is None if not computed."""

    boundary: Mapping[float, Array]
    boundary_profile: Array
    top: Array
    reactions: Array
    read: ReadAdjoints | None

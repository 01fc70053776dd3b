"""Sections of the cases of all models: time, output, restarts, and threads."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import model_validator

from airshed.case.values import YEARS, Fields, FileName, Instant, Interval, Length, StrategyName, Text
from airshed.core.settings import KEY, KeywordUnion, Section, Whole, refuse, setting
from airshed.core.units import Quantity
from airshed.io.cf import Statistic
from airshed.io.strategies.choice import AUTO, COMPRESSING, Strategy


class TimeSection(Section):
    """Start and length of the run."""

    start: Instant = setting(..., f"First moment of the output, in UTC, from {YEARS[0]} to {YEARS[1] - 1}.", unit="UTC")
    length: Length = setting(..., "Length of the simulation.")

    @property
    def whole(self) -> float:
        """Total simulated time [s], including the spin-up."""
        return self.length.value

    @property
    def parts(self) -> str:
        """Names of the settings whose sum is :attr:`whole`."""
        return "time.length"


class OutputSection(Section):
    """Output file."""

    insert_before = "strategy"

    name: FileName = setting("output", "Name of the file, without `.nc`.")
    fields: Annotated[tuple[Text, ...] | Literal["all"], KeywordUnion(("all",), Fields)] = setting(
        "all", "Fields to write."
    )
    every: Interval = setting("1 h", "Time between two records.")
    statistic: Statistic = setting(
        "point",
        "Statistic of a record: `point` for the values at its time; `mean`, `maximum` or `minimum` of all steps since "
        "the previous record.",
    )
    strategy: StrategyName = setting(
        "gather:async",
        "Strategy of output, such as `gather`, `files` or `mpiio`; `:async` writes in the background; "
        "see docs/reference/io.md.",
    )
    compression: Literal["zlib", "none"] = setting(
        "none",
        "Compression with `gather`, `files` and `zarr`: `zlib` reduces files by a third, for a tenth of the run time.",
    )

    def selection(self) -> Mapping[str, Sequence[int]]:
        """Return the indices to write along dimensions that are written in part."""
        return {}

    @model_validator(mode="after")
    def _can_compress(self) -> Self:
        if self.compression != "none" and Strategy.parse(self.strategy).name not in (*COMPRESSING, AUTO):
            raise refuse(
                f'{KEY}.compression = "{self.compression}" is not available with the strategy "{self.strategy}"; '
                f'take {", ".join(COMPRESSING[:-1])} or {COMPRESSING[-1]}, or compression "none"'
            )
        return self


class RestartSection(Section):
    """Restart files."""

    every: Interval = setting("6 h", "Time between two restart files; the last two are stored.")
    strategy: StrategyName = setting("gather:async", "Strategy of writing, as for an output.")


class RunSection(Section):
    """Settings of the machine, which change results by rounding at most."""

    threads: Whole = setting(0, "Number of threads; 0 uses all cores.", unit="1", ge=0, le=4096)
    device: Literal["auto", "cpu", "cuda"] = setting(
        "cpu",
        "Where the steps of the air run: `cuda`, on a GPU; `auto`, on a GPU if there is one and trial steps are faster "
        "there than on the CPU.",
    )


Due = Sequence[tuple[str, Quantity]]
"""Recurring events: key of the interval, and the interval."""

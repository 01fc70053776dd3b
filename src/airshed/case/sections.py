"""The sections that the case of every model has: when, what is written, restarts, and how this machine does it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import model_validator

from airshed.case.values import YEARS, Fields, FileName, Instant, Interval, Length, StrategyName, Text
from airshed.core.settings import KEY, KeywordUnion, Section, Whole, refuse, setting
from airshed.core.units import Quantity
from airshed.io.cf import Statistic
from airshed.io.strategies.choice import AUTO, COMPRESSING, Strategy


class TimeSection(Section):
    """When."""

    start: Instant = setting(..., f"First moment of the output, in UTC, from {YEARS[0]} to {YEARS[1] - 1}.", unit="UTC")
    length: Length = setting(..., "How long to simulate.")

    @property
    def whole(self) -> float:
        """How long is simulated in all [s], also before the start."""
        return self.length.value

    @property
    def parts(self) -> str:
        """The settings that :attr:`whole` is the sum of, in words."""
        return "time.length"


class OutputSection(Section):
    """One file of results."""

    insert_before = "strategy"

    name: FileName = setting("output", "Name of the file, without `.nc`.")
    fields: Annotated[tuple[Text, ...] | Literal["all"], KeywordUnion(("all",), Fields)] = setting(
        "all", "Fields to write."
    )
    every: Interval = setting("1 h", "Time between two records.")
    statistic: Statistic = setting(
        "point",
        "What a record holds: `point` the values at its time; `mean`, `maximum` or `minimum` of all steps since the "
        "record before.",
    )
    strategy: StrategyName = setting(
        "gather:async",
        "Strategy of output, such as `gather`, `files` or `mpiio`; `:async` writes in the background; "
        "see docs/reference/io.md.",
    )
    compression: Literal["zlib", "none"] = setting(
        "none",
        "By `gather`, `files` and `zarr`: `zlib` takes a third off the files, and costs a tenth of a run's time.",
    )

    def selection(self) -> Mapping[str, Sequence[int]]:
        """Return the indices to write along dimensions that are not written whole."""
        return {}

    @model_validator(mode="after")
    def _can_compress(self) -> Self:
        if self.compression != "none" and Strategy.parse(self.strategy).name not in (*COMPRESSING, AUTO):
            raise refuse(
                f'{KEY}.compression = "{self.compression}" cannot be had by the strategy "{self.strategy}"; '
                f'take {", ".join(COMPRESSING[:-1])} or {COMPRESSING[-1]}, or compression "none"'
            )
        return self


class RestartSection(Section):
    """Insurance against interruption."""

    every: Interval = setting("6 h", "Time between two restart files; the last two are kept.")
    strategy: StrategyName = setting("gather:async", "How they are written, as that of an output.")


class RunSection(Section):
    """How this machine does it; nothing here changes a result."""

    threads: Whole = setting(0, "Threads to compute with; 0 takes all cores.", unit="1", ge=0, le=4096)


Due = Sequence[tuple[str, Quantity]]
"""What is due again and again: its key, and the time between."""

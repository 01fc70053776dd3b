"""What a run of pasture has to say at its end: balances of water and dry matter, means over the land."""

from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.fields import FieldRegistry
from airshed.core.report import Cell, Report, Table
from airshed.models.pasture.balance import DRY_MATTER, WATER, Balance
from airshed.parallel.domain import Domain

Array = npt.NDArray[Any]

_SHOWN: Final = ("standing_dry_matter", "green", "dead", "litter", "total_cover", "soil_water_index", "nitrogen_index")


class Summed(Protocol):
    """What a summary asks of a model."""

    steps: int
    domain: Domain
    fields: FieldRegistry

    @property
    def start(self) -> dict[str, Array]:
        """The state that balances count from."""
        ...

    def view(self, name: str) -> Any:
        """This rank's part of a field."""
        ...


def summary(model: Summed, area: Array, *, brief: bool = False) -> Report:
    """Return the balances since the start, and unless it is brief fields at the end.

    area  of this rank's cells, in any unit
    """
    means = _Means(model.domain, area)
    tables = [_balance(balance, model, means) for balance in (WATER, DRY_MATTER)]
    if not brief:
        rows = [_row(model, means, name) for name in _SHOWN if name in model.fields]
        tables.append(Table("The land at the end", ("field", "unit", "least", "mean", "most"), rows))
    facts: dict[str, Cell] = {
        "days": model.steps,
        "cells": model.domain.cells,
        "sources": "; ".join(model.domain.attributes.values()),
    }
    return Report("Summary", tables, {name: fact for name, fact in facts.items() if fact != ""})


class _Means:
    """Means over the land, the same bits on any number of ranks."""

    def __init__(self, domain: Domain, area: Array) -> None:
        self._domain, self._area = domain, area
        self._whole = float(domain.total(area)[()])

    def __call__(self, field: Array) -> float:
        return float(self._domain.total(np.asarray(field, np.float64) * self._area)[()]) / self._whole

    def greatest(self, field: Array) -> float:
        return self._domain.greatest(float(field.max(initial=-np.inf)))


def _balance(balance: Balance, model: Summed, means: _Means) -> Table:
    """Came, went, stays: means over the land, and the worst cell's residual."""
    now = {name: model.view(name) for name in (*balance.stores, *balance.signs)}
    rows = [
        (name.removesuffix("_total").replace("_", " "), sign * means(now[name]) + 0.0)
        for name, sign in balance.signs.items()
    ]
    rows.append(("change in store", means(balance.change(now, model.start))))
    worst = means.greatest(balance.relative_residual(now, model.start))
    return Table(
        f"Balance of {balance.text}, mean over the land [{balance.unit}]", ("term", balance.unit), rows,
        note=f"In each cell what came less what went is what stays, to {worst:.1e} of what moved",
    )  # fmt: skip


def _row(model: Summed, means: _Means, name: str) -> tuple[str, str, float, float, float]:
    field = np.asarray(model.view(name), np.float64)
    low, high = -means.greatest(-field), means.greatest(field)
    return name.replace("_", " "), model.fields[name].unit, low, means(field), high

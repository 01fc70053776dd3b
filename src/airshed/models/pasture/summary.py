"""Balances of a cell, gains minus losses compared with the change in store, and the summary of a run.

rain - runoff - soil evaporation - transpiration - use by trees - drainage  =  change of the water in all layers
growth - detachment - eaten - trampled - burnt                              =  change of standing dry matter
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.report import Cell, Report, Table
from airshed.models.pasture.fields import LAYERS, POOLS
from airshed.parallel.domain import Domain

if TYPE_CHECKING:
    from airshed.models.pasture.model import PastureModel

Values = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class Balance:
    """Balance of a quantity.

    stores  state variables that contain it
    signs   totals since the start: 1 for gains, -1 for losses
    """

    text: str
    unit: str
    stores: Sequence[str]
    signs: Mapping[str, float]

    def change(self, now: Values, start: Values) -> AnyArray:
        """Return the change in store of each cell since the start."""
        return np.asarray(_sum(now, self.stores) - _sum(start, self.stores))

    def residual(self, now: Values, start: Values) -> AnyArray:
        """Return gains minus losses minus the change in store, in each cell; 0 except for round-off."""
        moved = sum(sign * np.asarray(now[name], np.float64) for name, sign in self.signs.items())
        return np.asarray(moved - self.change(now, start))

    def relative_residual(self, now: Values, start: Values) -> AnyArray:
        """Return the residual relative to the sum of gains, losses and initial store, 0 if these are 0."""
        size = _sum(now, self.signs) + _sum(start, self.stores)
        residual = np.abs(self.residual(now, start))
        share: AnyArray = np.divide(residual, size, out=np.zeros_like(residual), where=size > 0.0)
        return share


def _sum(values: Values, names: Sequence[str] | Mapping[str, float]) -> AnyArray:
    return np.asarray(np.sum([np.asarray(values[name], np.float64) for name in names], axis=0))


WATER: Final = Balance(
    "water", "mm", tuple(f"water_{layer}" for layer in LAYERS),
    {
        "rain_total": 1.0, "runoff_total": -1.0, "soil_evaporation_total": -1.0, "transpiration_total": -1.0,
        "tree_water_use_total": -1.0, "drainage_total": -1.0,
    },
)  # fmt: skip

DRY_MATTER: Final = Balance(
    "standing dry matter", "kg ha-1", POOLS,
    {
        "growth_total": 1.0, "detachment_total": -1.0, "eaten_total": -1.0, "trampled_total": -1.0,
        "burnt_total": -1.0,
    },
)  # fmt: skip

_CLOSED: Final = 1e-4  # maximum relative residual from round-off, in single precision
_SHOWN: Final = ("standing_dry_matter", "green", "dead", "litter", "total_cover", "soil_water_index", "nitrogen_index")


def summary(model: "PastureModel", area: AnyArray, *, brief: bool = False) -> Report:
    """Return the balances since the start, and fields at the end unless it is brief.

    area  area of the cells of this rank, in any unit
    """
    means = _Means(model.domain, area)
    facts: dict[str, Cell] = {"days": model.steps, "cells": model.domain.cells}
    if brief:
        return Report("Summary", (), facts | {b.text: _closing(b, model, means) for b in (WATER, DRY_MATTER)})
    tables = [_balance(balance, model, means) for balance in (WATER, DRY_MATTER)]
    rows = [_row(model, means, name) for name in _SHOWN if name in model.fields]
    tables.append(Table("The land at the end", ("field", "unit", "least", "mean", "most"), rows))
    if sources := "; ".join(model.domain.attributes.values()):
        facts["sources"] = sources
    return Report("Summary", tables, facts)


class _Means:
    """Means over the land, bitwise identical on any number of ranks."""

    def __init__(self, domain: Domain, area: AnyArray) -> None:
        self._domain, self._area = domain, area
        self._whole = float(domain.total(area)[()])

    def __call__(self, field: AnyArray) -> float:
        return float(self._domain.total(np.asarray(field, np.float64) * self._area)[()]) / self._whole

    def greatest(self, field: AnyArray) -> float:
        return self._domain.greatest(float(field.max(initial=-np.inf)))


def _closing(balance: Balance, model: "PastureModel", means: _Means) -> str:
    """Return a statement on the closure of a balance in the worst cell."""
    now = {name: model.view(name) for name in (*balance.stores, *balance.signs)}
    worst = means.greatest(balance.relative_residual(now, model.start))
    return f"balance {'closed' if worst < _CLOSED else 'NOT closed'}: largest relative error {worst:.0e}"


def _balance(balance: Balance, model: "PastureModel", means: _Means) -> Table:
    """Return gains, losses and the change in store as means over the land, and the residual of the worst cell."""
    now = {name: model.view(name) for name in (*balance.stores, *balance.signs)}
    rows = [
        (name.removesuffix("_total").replace("_", " "), sign * means(now[name]) + 0.0)
        for name, sign in balance.signs.items()
    ]
    rows.append(("change in store", means(balance.change(now, model.start))))
    worst = means.greatest(balance.relative_residual(now, model.start))
    return Table(
        f"Balance of {balance.text}, mean over the land [{balance.unit}]", ("term", balance.unit), rows,
        note=f"Largest relative residual of a cell: {worst:.1e}",
    )  # fmt: skip


def _row(model: "PastureModel", means: _Means, name: str) -> tuple[str, str, float, float, float]:
    field = np.asarray(model.view(name), np.float64)
    low, high = -means.greatest(-field), means.greatest(field)
    return name.replace("_", " "), model.fields[name].unit, low, means(field), high

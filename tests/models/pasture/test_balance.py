"""Balances close where they do, and show where they do not."""

import numpy as np
import pytest

from airshed.models.pasture.summary import DRY_MATTER, WATER, Balance


@pytest.mark.parametrize("balance", [WATER, DRY_MATTER])
def test_what_came_less_what_went_is_what_stays(balance: Balance) -> None:
    random = np.random.default_rng(1)
    start = {name: random.uniform(1.0, 100.0, 50) for name in balance.stores}
    now = {name: random.uniform(1.0, 100.0, 50) for name in balance.signs}
    gained = sum(sign * now[name] for name, sign in balance.signs.items())
    now |= {name: start[name] + gained / len(balance.stores) for name in balance.stores}
    assert balance.relative_residual(now, start).max() < 1e-14
    now[balance.stores[0]][7] += 1e-6
    wrong = balance.relative_residual(now, start)
    assert (int(wrong.argmax()), wrong[7] > 1e-9) == (7, True), "a millionth of a millimetre is seen in its cell"
    assert balance.residual(now, start)[7] == pytest.approx(-1e-6, rel=1e-5)


def test_a_cell_without_anything_has_no_residual() -> None:
    nothing = {name: np.zeros(3) for name in (*WATER.stores, *WATER.signs)}
    assert WATER.relative_residual(nothing, nothing).tolist() == [0.0, 0.0, 0.0]

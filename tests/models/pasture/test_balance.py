"""Balances close, and residuals appear in the cells that cause them."""

import numpy as np
import pytest

from airshed.models.pasture.summary import DRY_MATTER, WATER, Balance


@pytest.mark.parametrize("balance", [WATER, DRY_MATTER])
def test_inflow_minus_outflow_is_the_change_of_storage(balance: Balance) -> None:
    random = np.random.default_rng(1)
    start = {name: random.uniform(1.0, 100.0, 50) for name in balance.stores}
    now = {name: random.uniform(1.0, 100.0, 50) for name in balance.signs}
    gained = sum(sign * now[name] for name, sign in balance.signs.items())
    now |= {name: start[name] + gained / len(balance.stores) for name in balance.stores}
    assert balance.relative_residual(now, start).max() < 1e-14
    now[balance.stores[0]][7] += 1e-6
    wrong = balance.relative_residual(now, start)
    assert (int(wrong.argmax()), wrong[7] > 1e-9) == (7, True), "a millionth of a millimetre appears in its cell"
    assert balance.residual(now, start)[7] == pytest.approx(-1e-6, rel=1e-5)


def test_an_empty_cell_has_no_residual() -> None:
    nothing = {name: np.zeros(3) for name in (*WATER.stores, *WATER.signs)}
    assert WATER.relative_residual(nothing, nothing).tolist() == [0.0, 0.0, 0.0]

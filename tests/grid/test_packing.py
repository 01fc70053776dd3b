"""Packed cells recover their grid, and are spread over it."""

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.grid.packing import PackedGrid

LAT, LON = -29.0 + 0.1 * (0.5 + np.arange(30)), 138.0 + 0.1 * (0.5 + np.arange(20))


def land(share: float = 0.3, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a land mask, and latitude and longitude of its cells."""
    mask = np.random.default_rng(seed).uniform(size=(LAT.size, LON.size)) < share
    mask[0, 0] = mask[-1, -1] = True
    lat, lon = np.broadcast_to(LAT[:, None], mask.shape), np.broadcast_to(LON, mask.shape)
    return mask, lat[mask], lon[mask]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_lie_where_their_cells_do(dtype: type) -> None:
    mask, lat, lon = land()
    packing = PackedGrid.of(lat.astype(dtype), lon.astype(dtype))
    np.testing.assert_allclose(packing.lat, LAT, atol=1e-5)
    np.testing.assert_allclose(packing.lon, LON, atol=1e-5)
    values = np.arange(2.0 * lat.size).reshape(2, -1)
    spread = packing.spread(values)
    assert spread.shape == (2, *mask.shape)
    np.testing.assert_array_equal(spread[:, mask], values)
    assert np.all(np.isnan(spread[:, ~mask]))


def test_the_order_of_cells_is_free_and_lines_without_a_cell_are_kept() -> None:
    packing = PackedGrid.of([10.0, 10.0, 11.0, 14.0], [3.0, 1.0, 3.0, 1.5])
    assert (packing.lat.tolist(), packing.lon.tolist()) == ([10.0, 11.0, 12.0, 13.0, 14.0], [1.0, 1.5, 2.0, 2.5, 3.0])
    spread = packing.spread(np.array([1, 2, 3, 4]), -1)
    assert spread.dtype.kind == "i"
    assert (spread[0, 4], spread[0, 0], spread[1, 4], spread[4, 1], spread.sum()) == (1, 2, 3, 4, 10 - 21)


@pytest.mark.parametrize(
    ("lat", "lon", "reason"),
    [
        ([1.0, 1.0, 2.0], [5.0, 5.0, 5.0], "two cells are at the same point"),
        ([1.0, 2.0, 3.37], [5.0, 5.0, 5.0], "lat of packed cells is not on lines of uniform spacing"),
        ([1.0, np.nan], [5.0, 5.0], "lat of packed cells must be one number"),
        ([], [], "lat of packed cells must be one number"),
    ],
)
def test_cells_without_a_grid_are_refused(lat: list[float], lon: list[float], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        PackedGrid.of(lat, lon)

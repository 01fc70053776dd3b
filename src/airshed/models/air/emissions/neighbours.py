"""What lies around the cells of a fine grid: smoothing, and cells near others.

Both are written out here, since SciPy's image filters would make up a third of a second of every start.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TRUNCATE = 3.0


def smoothed(field: Array, sigma: float, cell: tuple[float, float]) -> Array:
    """Return a field convolved with a Gaussian that ends at three standard deviations; outside the field is zero.

    field (lat, lon);  sigma [km], size of a cell along longitude and latitude [km]
    """
    east, north = cell
    return _along_first(_along_first(field, sigma / north).T, sigma / east).T


def _along_first(field: Array, sigma: float) -> Array:
    """Return the convolution along the first axis, sigma in cells."""
    reach = int(_TRUNCATE * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    padded = np.pad(field, ((reach, reach), (0, 0)))
    result = weights[reach] * field
    for offset in range(1, reach + 1):
        before, after = padded[reach - offset : -reach - offset], padded[reach + offset :][: len(field)]
        result += weights[reach + offset] * (before + after)
    return np.asarray(result)


def within(cells: NDArray[np.bool_], distance: float, cell: tuple[float, float]) -> NDArray[np.bool_]:
    """Return which cells lie with their middles within a distance [km] of the middle of a marked one.

    cells (lat, lon);  size of a cell along longitude and latitude [km]
    """
    east, north = cell
    rows, columns = cells.shape
    counts = np.zeros((rows, columns + 1), np.int64)
    np.cumsum(cells, axis=1, out=counts[:, 1:])
    found = np.zeros_like(cells)
    places = np.arange(columns)
    furthest = min(int(distance / north), rows - 1)
    for offset in range(-furthest, furthest + 1):
        reach = int(np.sqrt(distance**2 - (offset * north) ** 2) / east)
        right, left = np.minimum(places + reach + 1, columns), np.maximum(places - reach, 0)
        beside = counts[:, right] > counts[:, left]
        if offset >= 0:
            found[: rows - offset] |= beside[offset:]
        else:
            found[-offset:] |= beside[:offset]
    return found

"""Background covariances as operators: B = S S^T, never a matrix of all by all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Covariance:
    """Standard deviations times separable correlations.

        B = D (C_1 x C_2 x ... ) D = S S^T,    S = D (C_1^(1/2) x C_2^(1/2) x ...)

    sigma   (n1, n2, ...)  standard deviations, the diagonal of D, above 0
    roots   for each axis the symmetric root of its correlation matrix, or None where nothing is correlated along it
    raises  CaseError for deviations that are not above 0, or roots that do not fit
    """

    sigma: Array
    roots: Sequence[Array | None]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sigma).all() and (self.sigma > 0.0).all()):
            raise CaseError("a background standard deviation is not finite or not above 0; take the control out")
        if len(self.roots) != self.sigma.ndim:
            raise CaseError(f"{len(self.roots)} correlations for a control with {self.sigma.ndim} axes")
        for axis, (root, size) in enumerate(zip(self.roots, self.sigma.shape, strict=True)):
            if root is not None and root.shape != (size, size):
                raise CaseError(f"the correlation of axis {axis} has shape {root.shape}, but {size} places")

    def root(self, v: Array) -> Array:
        """Return S v, of the shape of sigma."""
        return self.sigma * self._correlated(v)

    def root_transposed(self, x: Array) -> Array:
        """Return S^T x; each C_i^(1/2) is its own transpose."""
        return self._correlated(self.sigma * x)

    def __call__(self, x: Array) -> Array:
        """Return B x."""
        return self.root(self.root_transposed(x))

    def _correlated(self, values: Array) -> Array:
        for axis, root in self._along():
            values = np.moveaxis(np.tensordot(root, values, axes=(1, axis)), 0, axis)
        return values

    def _along(self) -> Iterator[tuple[int, Array]]:
        return ((axis, root) for axis, root in enumerate(self.roots) if root is not None)

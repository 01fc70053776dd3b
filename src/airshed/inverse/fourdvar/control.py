"""The control vector of 4D-Var: blocks preconditioned by background covariances with separable correlations.

source  Gaspari & Cohn 1999, Q. J. R. Meteorol. Soc. 125, 723-757; Balgovind et al. 1983, Mon. Wea. Rev. 111, 701-722
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError

Controls = Mapping[str, Array]
"""Factors on emission or on the initial state [1], or increments of the initial state [mol/mol], by block."""
Shape = Literal["exponential", "gaussian", "balgovind"]

SHAPES: Final[Mapping[Shape, Callable[[Array], Array]]] = {
    "exponential": lambda r: np.exp(-r),
    "gaussian": lambda r: np.exp(-0.5 * r**2),
    "balgovind": lambda r: (1.0 + r) * np.exp(-r),
}
"""Correlation as a function of distance / length; all are positive definite in up to three dimensions."""

_MOST_PLACES: Final = 4096
"""Maximum number of points along an axis: the root of the correlation matrix is dense."""


def correlation(places: Array, length: float, shape: Shape = "exponential", *, period: float = np.inf) -> Array:
    """Return the correlation matrix C = shape(distance / length) of points along an axis, (n, n).

    places  coordinates (n,) in the unit of ``length``; a length of 0 means no correlation
    period  period of a cyclic axis, such as 24 h; distances are then chords of a circle, so that C is positive
            definite
    raises  CaseError for a negative length, or too many points for a dense matrix
    """
    if not 0.0 <= length < np.inf:
        raise CaseError(f"a correlation length is {length:g}; give 0 or more")
    if places.size > _MOST_PLACES:
        raise CaseError(f"{places.size} points are correlated along one axis; the maximum is {_MOST_PLACES}")
    if length == 0.0:
        return np.eye(places.size)
    along = np.abs(places[:, None] - places[None, :])
    distance = along if np.isinf(period) else period / np.pi * np.abs(np.sin(np.pi * along / period))
    return SHAPES[shape](distance / length)


def symmetric_root(matrix: Array) -> Array:
    """Return the symmetric S with S S = C; negative eigenvalues from round-off are set to 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def axis_root(places: Array, length: float, shape: Shape = "exponential", *, period: float = np.inf) -> Array:
    """Return the root of the correlations along heights, rows or columns [m], or times [s]; see :func:`correlation`."""
    return symmetric_root(correlation(places, length, shape, period=period))


@dataclass(frozen=True, eq=False)
class Covariance:
    """Background error covariance: standard deviations and separable correlations.

        B = D (C_1 x C_2 x ... ) D = S S^T,    S = D (C_1^(1/2) x C_2^(1/2) x ...)

    sigma   (n1, n2, ...)  standard deviations, the diagonal of D, above 0
    roots   symmetric root of the correlation matrix of each axis, None for an axis without correlation
    raises  CaseError for deviations that are not above 0, or roots of the wrong shape
    """

    sigma: Array
    roots: Sequence[Array | None]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sigma).all() and (self.sigma > 0.0).all()):
            raise CaseError("a background standard deviation is not finite or not above 0; remove the control")
        if len(self.roots) != self.sigma.ndim:
            raise CaseError(f"{len(self.roots)} correlations for a control with {self.sigma.ndim} axes")
        for axis, (root, size) in enumerate(zip(self.roots, self.sigma.shape, strict=True)):
            if root is not None and root.shape != (size, size):
                raise CaseError(f"the correlation of axis {axis} has shape {root.shape}, but there are {size} points")

    def root(self, v: Array) -> Array:
        """Return S v, with the shape of sigma."""
        return self.sigma * self._correlated(v)

    def root_transposed(self, x: Array) -> Array:
        """Return S^T x; each C_i^(1/2) is its own transpose."""
        return self._correlated(self.sigma * x)

    def __call__(self, x: Array) -> Array:
        """Return B x."""
        return self.root(self.root_transposed(x))

    def _correlated(self, values: Array) -> Array:
        for axis, root in enumerate(self.roots):
            if root is not None:
                values = np.moveaxis(np.tensordot(root, values, axes=(1, axis)), 0, axis)
        return values


_LARGEST_LOGARITHM = 300.0


@dataclass(frozen=True, eq=False)
class Block:
    """Block of the control vector, with its background and covariance.

    log-normal  the control is the factor f = exp(x) on an emission or on the initial state, positive for any x
    gaussian    the control is x itself, an increment of the initial state in its unit
    dims        names of the axes, such as ("part_of_day", "lat", "lon")
    background  x_b, with the shape of the covariance; by default 0: the median of f is 1, its mean exp(sigma^2 / 2)
    """

    name: str
    dims: tuple[str, ...]
    covariance: Covariance
    kind: Literal["log-normal", "gaussian"] = "log-normal"
    background: Array | float = 0.0

    def __post_init__(self) -> None:
        if len(self.dims) != len(self.shape):
            raise CaseError(f"the control {self.name} has axes {self.dims}, but deviations of shape {self.shape}")
        if np.shape(self.background) not in ((), self.shape) or not np.isfinite(self.background).all():
            raise CaseError(f"the background of the control {self.name} must be finite, of shape {self.shape}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of controls along each axis."""
        return self.covariance.sigma.shape

    def state(self, v: Array) -> Array:
        """Return x = x_b + B^(1/2) v."""
        return self.background + self.covariance.root(v)

    def control(self, v: Array) -> Array:
        """Return the factors or increments for the model; raises CaseError for a factor that overflows."""
        x = self.state(v)
        if self.kind == "log-normal" and np.abs(x).max(initial=0.0) > _LARGEST_LOGARITHM:
            raise CaseError(
                f"a factor of the control {self.name} is exp({np.abs(x).max():.3g}); its sigma is too large"
            )
        return np.exp(x) if self.kind == "log-normal" else x

    def slope(self, v: Array) -> Array | float:
        """Return d control / dx: f for a log-normal control, 1 for a gaussian one."""
        return self.control(v) if self.kind == "log-normal" else 1.0


@dataclass(frozen=True, eq=False)
class ControlVector:
    """Control vector v (n,) of all blocks; its background is 0 and its background covariance is the identity.

    raises  CaseError for no block, or for two blocks with the same name
    """

    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        names = [block.name for block in self.blocks]
        if not names or len(set(names)) < len(names):
            raise CaseError(f"a control vector needs blocks with different names; they are {names}")

    @cached_property
    def size(self) -> int:
        """The number of controls n."""
        return sum(block.covariance.sigma.size for block in self.blocks)

    def split(self, v: Array) -> dict[str, Array]:
        """Return a flat vector as blocks by name; raises CaseError for a wrong length."""
        if v.shape != (self.size,):
            raise CaseError(f"the control vector has shape {v.shape}; it must have {self.size} controls")
        ends = np.cumsum([block.covariance.sigma.size for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(v, ends), strict=True)
        return {block.name: part.reshape(block.shape) for block, part in parts}

    def join(self, blocks: Mapping[str, Array]) -> Array:
        """Return blocks as a flat vector, the transpose of :meth:`split`; raises CaseError for other blocks."""
        shapes = {block.name: block.shape for block in self.blocks}
        given = {name: np.shape(values) for name, values in blocks.items()}
        if given != shapes:
            raise CaseError(f"the blocks are {given}; the control vector has {shapes}")
        return np.concatenate([np.ravel(blocks[name]) for name in shapes])

    def controls(self, v: Array) -> dict[str, Array]:
        """Return the factors or increments for the model, by name."""
        return self._each(v, lambda block, part: block.control(part))

    def push(self, v: Array, dv: Array) -> dict[str, Array]:
        """Return d controls = diag(slope) B^(1/2) dv, the tangent of :meth:`controls` at v."""
        given = self.split(dv)
        return self._each(v, lambda block, part: block.slope(part) * block.covariance.root(given[block.name]))

    def pull(self, v: Array, gradient: Controls) -> Array:
        """Return B^(T/2) diag(slope) g, the gradient with respect to v from the gradient g by the controls."""
        self.join(gradient)  # raises an error for a missing block or a wrong shape
        return self.join(
            self._each(
                v, lambda block, part: block.covariance.root_transposed(block.slope(part) * gradient[block.name])
            )
        )

    def _each(self, v: Array, of: Callable[[Block, Array], Array]) -> dict[str, Array]:
        parts = self.split(v)
        return {block.name: of(block, parts[block.name]) for block in self.blocks}

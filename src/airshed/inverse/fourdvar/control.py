"""The control vector: what 4D-Var may change, in blocks, preconditioned by the background covariance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.inverse.fourdvar.covariance import Covariance
from airshed.inverse.fourdvar.seam import Controls

Array = npt.NDArray[np.float64]

_LARGEST_LOGARITHM = 300.0


@dataclass(frozen=True, eq=False)
class Block:
    """One array of controls with its background and covariance.

    log-normal  the model gets the factor f = exp(x), on an emission or on the initial state: above 0 for any x
    gaussian    the model gets x itself, an increment of the initial state in its unit

    dims        names of the axes, such as ("part_of_day", "lat", "lon")
    background  x_b, of the shape of the covariance; without it 0: the median of f is 1, its mean exp(sigma^2 / 2)
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
        """Return what the model gets; raises CaseError for a factor that no number holds."""
        x = self.state(v)
        if self.kind == "log-normal" and np.abs(x).max(initial=0.0) > _LARGEST_LOGARITHM:
            raise CaseError(
                f"a factor of the control {self.name} is exp({np.abs(x).max():.3g}); its sigma is too large"
            )
        return np.exp(x) if self.kind == "log-normal" else x

    def slope(self, v: Array) -> Array | float:
        """Return d control / dx: f where it is log-normal, 1 where it is not."""
        return self.control(v) if self.kind == "log-normal" else 1.0


@dataclass(frozen=True, eq=False)
class ControlVector:
    """All blocks as one vector v (n,), in which the background is 0 and its covariance the identity.

    raises  CaseError for blocks of one name, or none
    """

    blocks: Sequence[Block]

    def __post_init__(self) -> None:
        names = [block.name for block in self.blocks]
        if not names or len(set(names)) < len(names):
            raise CaseError(f"a control vector needs blocks with names of their own, not {names}")

    @cached_property
    def size(self) -> int:
        """The number of controls n."""
        return sum(block.covariance.sigma.size for block in self.blocks)

    def split(self, v: Array) -> dict[str, Array]:
        """Return a flat vector as blocks by name; raises CaseError for one of another length."""
        if v.shape != (self.size,):
            raise CaseError(f"a control vector of shape {v.shape} was given; this one has {self.size} controls")
        ends = np.cumsum([block.covariance.sigma.size for block in self.blocks])[:-1]
        parts = zip(self.blocks, np.split(v, ends), strict=True)
        return {block.name: part.reshape(block.shape) for block, part in parts}

    def join(self, blocks: Mapping[str, Array]) -> Array:
        """Return blocks as a flat vector: the transpose of :meth:`split`; raises CaseError for other blocks."""
        shapes = {block.name: block.shape for block in self.blocks}
        given = {name: np.shape(values) for name, values in blocks.items()}
        if given != shapes:
            raise CaseError(f"blocks {given} were given for a control vector of {shapes}")
        return np.concatenate([np.ravel(blocks[name]) for name in shapes])

    def states(self, v: Array) -> dict[str, Array]:
        """Return x = x_b + B^(1/2) v of each block."""
        return self._each(v, lambda block, part: block.state(part))

    def controls(self, v: Array) -> dict[str, Array]:
        """Return what the model gets: factors or increments, by name."""
        return self._each(v, lambda block, part: block.control(part))

    def push(self, v: Array, dv: Array) -> dict[str, Array]:
        """Return d controls = diag(slope) B^(1/2) dv, the tangent of :meth:`controls` at v."""
        given = self.split(dv)
        return self._each(v, lambda block, part: block.slope(part) * block.covariance.root(given[block.name]))

    def pull(self, v: Array, gradient: Controls) -> Array:
        """Return B^(T/2) diag(slope) g, the gradient by v of a function whose gradient by the controls is g."""
        self.join(gradient)  # a block that is missing or of another shape is an error here
        return self.join(
            self._each(
                v, lambda block, part: block.covariance.root_transposed(block.slope(part) * gradient[block.name])
            )
        )

    def _each(self, v: Array, of: Callable[[Block, Array], Array]) -> dict[str, Array]:
        parts = self.split(v)
        return {block.name: of(block, parts[block.name]) for block in self.blocks}

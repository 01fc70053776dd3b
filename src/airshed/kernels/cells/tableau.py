"""Rosenbrock methods as data; construction checks the order conditions.

For dy/dt = f(t, y) with Jacobian J, one step of length h takes s stages, all with the same matrix

    (1/(gamma h) - J) K_i = f(t + alpha_i h, y + sum_(j<i) a_ij K_j) + sum_(j<i) c_ij/h K_j + gamma_i h df/dt
    y(t + h) = y + sum m_i K_i,    error = sum e_i K_i

in the transformed variables that avoid products with J (Hairer & Wanner 1996, Solving Ordinary Differential Equations
II, section IV.7; Sandu et al. 1997, Atmos. Environ. 31, 3459-3472).
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.core.text import suggestion

Rows = tuple[tuple[float, ...], ...]

_TOLERANCE: Final = 1e-12
"""Tolerance for conditions, from the number of published digits."""

_DIFFERENT: Final = 1e-3  # minimum residual of the error estimate in some condition of the order of the solution
_ROUND_OFF: Final = 100.0  # of the stability function, relative to that of its coefficients


@dataclass(frozen=True)
class Tableau:
    """The coefficients of a Rosenbrock method in transformed form.

    a, c      strictly lower triangles: row i has the coefficients of stages 0 .. i-1, the first row is empty
    m, e      weights of the solution and of its error estimate
    order     of the solution; the embedded solution has one order less
    Raises KernelError if the coefficients violate an order condition, or the method is not L-stable.
    """

    name: str
    order: int
    gamma: float
    a: Rows
    c: Rows
    m: tuple[float, ...]
    e: tuple[float, ...]
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        shapes = {len(self.a), len(self.c), len(self.m), len(self.e)}
        if shapes != {self.stages} or any(len(row) != i for rows in (self.a, self.c) for i, row in enumerate(rows)):
            raise KernelError(f"method {self.name!r}: its coefficients are not for {self.stages} stages")
        if not 1 <= self.order <= 4:
            raise KernelError(f"method {self.name!r}: conditions are available for orders 1 to 4, not {self.order}")
        self._check("the solution", np.array(self.m), self.order)
        self._check("its error estimate", np.array(self.m) - np.array(self.e), self.order - 1)
        own = self.residuals(np.array(self.m) - np.array(self.e), self.order)
        if all(abs(residual) < _DIFFERENT for residual in own.values()):
            message = f"its error estimate also has order {self.order}: it estimates nothing"
            raise KernelError(f"method {self.name!r}: {message}")
        if abs(self.at_infinity) > _TOLERANCE:
            raise KernelError(f"method {self.name!r} is not L-stable: its R(infinity) is {self.at_infinity:.3g}, not 0")
        growth = np.abs(self.stability(1j * np.logspace(-3, 6, 400))).max() - 1.0
        if growth > _ROUND_OFF * _TOLERANCE:
            message = f"it amplifies an oscillation by {growth:.3g} per step"
            raise KernelError(f"method {self.name!r} is not A-stable: {message}")

    @property
    def stages(self) -> int:
        """The number of stages s."""
        return len(self.m)

    @cached_property
    def gammas(self) -> Array:
        """Matrix of gamma_ij with gamma on its diagonal: the inverse of 1/gamma - c."""
        return np.asarray(np.linalg.inv(np.eye(self.stages) / self.gamma - _square(self.c)))

    @cached_property
    def alphas(self) -> Array:
        """Matrix of alpha_ij, the weights of stages in the argument of f."""
        return np.asarray(_square(self.a) @ self.gammas)

    @cached_property
    def alpha(self) -> tuple[float, ...]:
        """Times alpha_i of the stages in steps, rounded to the published digits."""
        return tuple(round(float(value), 14) for value in self.alphas.sum(axis=1))

    @cached_property
    def gamma_sums(self) -> tuple[float, ...]:
        """Weights gamma_i of df/dt."""
        return tuple(float(value) for value in self.gammas.sum(axis=1))

    @cached_property
    def evaluates(self) -> tuple[bool, ...]:
        """Flag for each stage that evaluates f; a stage with the argument of the previous one reuses f."""
        return tuple(
            i == 0 or any(x != y for x, y in zip(self.a[i], (*self.a[i - 1], 0.0), strict=True))
            for i in range(self.stages)
        )

    def stability(self, z: npt.ArrayLike) -> npt.NDArray[np.complex128]:
        """Return the stability function R(z) = 1 + z b (I - z B)^-1 1: the growth of y in a step of dy/dt = (z/h) y."""
        each = np.asarray(z, complex)[..., None, None]
        b, coupling, ones = np.array(self.m) @ self.gammas, self.alphas + self.gammas, np.ones((self.stages, 1))
        stages = np.linalg.solve(np.eye(self.stages) - each * coupling, ones)
        return np.asarray(1.0 + each[..., 0, 0] * (b @ stages)[..., 0])

    @property
    def at_infinity(self) -> float:
        """The stability function R(z) = 1 + z b (I - z B)^-1 1 at z = -infinity."""
        b, coupling = np.array(self.m) @ self.gammas, self.alphas + self.gammas
        return float(1.0 - b @ np.linalg.solve(coupling, np.ones(self.stages)))

    def _check(self, what: str, weights: Array, order: int) -> None:
        for text, residual in self.residuals(weights, order).items():
            if not abs(residual) < _TOLERANCE:
                raise KernelError(f"method {self.name!r}: {what} misses {text} of order {order} by {residual:.3g}")

    def residuals(self, weights: Array, order: int) -> dict[str, float]:
        """Return the residual of weights m in each condition up to an order (Hairer & Wanner 1996, table IV.7.1)."""
        gamma, alphas = self.gamma, self.alphas
        b, alpha = weights @ self.gammas, alphas.sum(axis=1)
        beta = np.tril(alphas + self.gammas, -1)
        sums = beta.sum(axis=1)
        conditions: list[tuple[int, str, float, float]] = [
            (1, "sum b", b.sum(), 1.0),
            (2, "sum b beta", b @ sums, 0.5 - gamma),
            (3, "sum b alpha^2", b @ alpha**2, 1 / 3),
            (3, "sum b beta beta", b @ beta @ sums, 1 / 6 - gamma + gamma**2),
            (4, "sum b alpha^3", b @ alpha**3, 1 / 4),
            (4, "sum b alpha alpha beta", (b * alpha) @ alphas @ sums, 1 / 8 - gamma / 3),
            (4, "sum b beta alpha^2", b @ beta @ alpha**2, 1 / 12 - gamma / 3),
            (4, "sum b beta beta beta", b @ beta @ beta @ sums, 1 / 24 - gamma / 2 + 1.5 * gamma**2 - gamma**3),
        ]
        return {text: float(found - expected) for least, text, found, expected in conditions if least <= order}


def _square(rows: Rows) -> Array:
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


_G2: Final = 1.0 + 1.0 / np.sqrt(2.0)
_ROS3_B21: Final = 0.43586652150845899941601945119356
_SANDU: Final = "Sandu et al. 1997, Atmos. Environ. 31, 3459-3472"

ROS2: Final = Tableau(
    "ros2", 2, _G2, a=((), (1.0 / _G2,)), c=((), (-2.0 / _G2,)),
    m=(1.5 / _G2, 0.5 / _G2), e=(0.5 / _G2, 0.5 / _G2),
    source="Verwer, Spee, Blom & Hundsdorfer 1999, SIAM J. Sci. Comput. 20, 1456-1480",
)  # fmt: skip

ROS3: Final = Tableau(
    "ros3", 3, _ROS3_B21, a=((), (1.0,), (1.0, 0.0)),
    c=(
        (), (-1.0156171083877702091975600115545,),
        (4.0759956452537699824805835358067, 9.2076794298330791242156818474003),
    ),
    m=(1.0, 6.1697947043828245592553615689730, -0.42772256543218573326238373806514),
    e=(0.5, -2.9079558716805469821718236208017, 0.22354069897811569627360909276199),
    source=_SANDU,
)  # fmt: skip

RODAS3: Final = Tableau(
    "rodas3", 3, 0.5, a=((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0)),
    c=((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0)),
    m=(2.0, 0.0, 1.0, 1.0), e=(0.0, 0.0, 0.0, 1.0),
    source=_SANDU,
)  # fmt: skip

_RODAS4_LAST: Final = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)

RODAS4: Final = Tableau(
    "rodas4", 4, 0.25,
    a=(
        (), (1.544,), (0.9466785280815826, 0.2557011698983284),
        (3.314825187068521, 2.896124015972201, 0.9986419139977817), _RODAS4_LAST, (*_RODAS4_LAST, 1.0),
    ),
    c=(
        (), (-5.6688,), (-2.430093356833875, -0.2063599157091915),
        (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
        (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
        (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
    ),
    m=(*_RODAS4_LAST, 1.0, 1.0), e=(0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    source="Hairer & Wanner 1996, Solving Ordinary Differential Equations II, section VI.4",
)  # fmt: skip

METHODS: Final = {method.name: method for method in (ROS2, ROS3, RODAS3, RODAS4)}


def method(name: str) -> Tableau:
    """Return a method by its case-insensitive name; raise KernelError with the available names."""
    found = METHODS.get(name.casefold())
    if found is None:
        known = ", ".join(METHODS)
        raise KernelError(f"there is no Rosenbrock method {name!r} ({known}); {suggestion(name, METHODS)}")
    return found

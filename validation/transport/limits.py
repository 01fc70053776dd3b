"""The largest Courant numbers at which the two-step scheme stays positive, bounded and stable, found by bisection."""

from collections.abc import Callable
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.verify.transport.driven import BLOWN_UP, SLACK, Bench, Outcome, attempt, eddies, row, scaled

CRITERIA = ("positive", "bounded", "stable")
DATA = ("smooth", "rough")
_MOST = 2.0


def oblique(cells: int = 64) -> Bench:
    """Return a uniform wind across a square, twice as strong to the east as to the north."""
    east, north = np.full((1, cells, cells + 1), 2.0), np.full((1, cells + 1, cells), 1.0)
    return scaled("2-D, uniform oblique wind", east, north, 80)


def overturning(cells: int = 20, levels: int = 16) -> Bench:
    """Return a closed flow in a cube: an eddy that fades upward, with air that rises and descends."""
    faces, height = np.linspace(0.0, np.pi, cells + 1), np.linspace(0.0, np.pi, levels + 1)
    middle = 0.5 * (faces[1:] + faces[:-1])
    psi = np.cos(0.25 * (height[1:] + height[:-1]))[:, None, None] * np.sin(faces)[:, None] * np.sin(faces)
    rolls = -np.diff(np.sin(height))[:, None, None]
    east = -np.diff(psi, axis=1) + rolls * np.sin(middle)[:, None] * np.sin(faces)
    north = np.diff(psi, axis=2) + rolls * np.sin(faces)[:, None] * np.sin(2.0 * middle)
    return scaled("3-D, closed overturning", east, north, 160)


BENCHES: tuple[Callable[[], Bench], ...] = (row, oblique, eddies, overturning)


def keeps(outcome: Outcome, criterion: str) -> Array:
    """Return for each data set whether a criterion held.

    positive  no value was negative before clipping, to 1e-12 of the amount
    bounded   no step had a value above the greatest initial one, to 1e-12
    stable    no value exceeded twice the greatest initial one
    """
    if criterion == "positive":
        return np.asarray(outcome.clipped <= SLACK)
    return np.asarray(outcome.greatest <= (1.0 + SLACK if criterion == "bounded" else BLOWN_UP))


def largest(bench: Bench, halvings: int = 9) -> dict[str, dict[str, float]]:
    """Return for each criterion and data set the Courant number up to which it holds, to 2^-halvings; 2 at most.

    The search assumes that a criterion that holds at a step holds at shorter ones.
    """
    seen: dict[float, Outcome] = {}
    found: dict[str, dict[str, float]] = {}
    for criterion in CRITERIA:
        found[criterion] = {}
        for number, name in enumerate(DATA):
            low, high = 0.0, _MOST
            for _ in range(halvings + 1):
                courant = 0.5 * (low + high)
                if courant not in seen:
                    seen[courant] = attempt(bench, courant)
                low, high = (courant, high) if keeps(seen[courant], criterion)[number] else (low, courant)
            found[criterion][name] = low
    return found


def linear_limit(halvings: int = 30) -> float:
    """Return the Courant number up to which the scheme without limiter is stable for every wave (von Neumann).

    With z = nu times the symbol of the kappa = 1/3 differences, both roots of the two-step formula must keep

        (3/2) g^2 - 2 g + 1/2 = z (2 g - 1),     |g| <= 1.

    In several directions z is a sum, and waves that are equal in all of them are the worst: the limit holds for the sum
    of the Courant numbers.
    """
    theta = np.linspace(0.0, np.pi, 2001)[1:]
    shift = np.exp(-1j * theta)
    # q_face = q_i + (q_(i+1) - q_i)/3 + (q_i - q_(i-1))/6, and the difference of two faces
    symbol = -(1.0 + (1.0 / shift - 1.0) / 3.0 + (1.0 - shift) / 6.0) * (1.0 - shift)
    low, high = 0.0, _MOST
    for _ in range(halvings):
        courant = 0.5 * (low + high)
        half = 2.0 + 2.0 * courant * symbol
        root = np.sqrt(half**2 - 6.0 * (0.5 + courant * symbol))
        radius = np.maximum(np.abs(half + root), np.abs(half - root)).max() / 3.0
        low, high = (courant, high) if radius <= 1.0 + 1e-9 else (low, courant)
    return low


def run() -> dict[str, Any]:
    """Return the limits of each flow, with the linear one of the scheme without limiter."""
    benches = [bench() for bench in BENCHES]
    flows = [{"text": bench.text, "shape": bench.shape, "steps": bench.steps, **largest(bench)} for bench in benches]
    return {"linear": linear_limit(), "flows": flows}

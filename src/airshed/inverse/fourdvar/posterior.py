"""Degrees of freedom for signal and spread of the analysis, estimated from random probes.

Near the minimum the analysis error of v has the covariance H^-1, where H is the Hessian of J. A Lanczos run from a
vector z of random signs gives  z.(I - H^-1) z,  whose mean is the trace, and  H^(-1/2) z,  a sample of the analysis
error.

source  Fisher & Courtier 1995, ECMWF Tech. Memo. 220; Hutchinson 1990, Commun. Stat. Simul. Comput. 19, 433-450;
        Ubaru, Chen & Saad 2017, SIAM J. Matrix Anal. Appl. 38, 1075-1099
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.fourdvar.control import ControlVector
from airshed.inverse.fourdvar.cost import Cost

Apply = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Posterior:
    """Estimates from m probes.

    dfs        degrees of freedom for signal, tr(I - H^-1) = tr(HK), between 0 and the number of observations
    dfs_error  standard error of `dfs`; NaN for one probe
    spread     standard deviation of x after the analysis, by block; its relative error is 1 / sqrt(2 m)
    """

    dfs: float
    dfs_error: float
    spread: Mapping[str, Array]


def hessian(cost: Cost, v: Array, step: float = 1e-4) -> Apply:
    """Return w -> H w = (grad J(v + e w) - grad J(v)) / e,  e = step / |w|; each product takes a run and an adjoint.

    step  size of the difference in background standard deviations: its error is of first order, its round-off
          1e-16 |v| / step
    """
    here = cost(v).gradient

    def apply(w: Array) -> Array:
        e = step / float(np.linalg.norm(w))
        return (cost(v + e * w).gradient - here) / e

    return apply


def estimate(
    apply: Apply, control: ControlVector, *, probes: int = 8, iterations: int = 30, seed: int = 0
) -> Posterior:
    """Return the estimates; they take up to ``probes`` x ``iterations`` runs of the model and its adjoint.

    apply       w -> H w, such as :func:`hessian` at the analysis
    iterations  Lanczos iterations; exact from the number of observations + 1, fewer are sufficient
    raises      CaseError for fewer than one probe or iteration
    """
    if probes < 1 or iterations < 1:
        raise CaseError("the spread of the analysis needs at least one probe and one iteration")
    random = np.random.default_rng(seed)
    signals, squares = np.empty(probes), {block.name: np.zeros(block.shape) for block in control.blocks}
    for number in range(probes):
        z = random.choice((-1.0, 1.0), size=control.size)
        signals[number], draw = probe(apply, z, iterations)
        parts = control.split(draw)
        for block in control.blocks:
            squares[block.name] += block.covariance.root(parts[block.name]) ** 2 / probes
    error = float(signals.std(ddof=1) / np.sqrt(probes)) if probes > 1 else np.nan
    return Posterior(float(signals.mean()), error, {name: np.sqrt(square) for name, square in squares.items()})


def exact(apply: Apply, control: ControlVector) -> Posterior:
    """Return the exact values from the full Hessian; they take as many runs as there are controls."""
    matrix = np.stack([apply(unit) for unit in np.eye(control.size)])
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    values = np.maximum(values, 1.0)
    squares = {block.name: np.zeros(block.shape) for block in control.blocks}
    for value, vector in zip(values, vectors.T, strict=True):
        for block, part in zip(control.blocks, control.split(vector).values(), strict=True):
            squares[block.name] += block.covariance.root(part) ** 2 / value
    dfs = float(np.sum(1.0 - 1.0 / values))
    return Posterior(dfs, 0.0, {name: np.sqrt(square) for name, square in squares.items()})


def probe(apply: Apply, z: Array, iterations: int) -> tuple[float, Array]:
    """Return z.(I - H^-1) z and H^(-1/2) z by the Lanczos vectors Q and H ~ Q T Q^T."""
    basis, matrix = lanczos(apply, z, iterations)
    values, vectors = np.linalg.eigh(matrix)
    # H = I + A^T A: smaller eigenvalues are round-off, and would give a negative signal.
    values = np.maximum(values, 1.0)
    size = float(np.linalg.norm(z))
    first = vectors[0]
    signal = size**2 * float(first**2 @ (1.0 - 1.0 / values))
    return signal, size * (basis.T @ (vectors @ (first / np.sqrt(values))))


def lanczos(apply: Apply, start: Array, iterations: int) -> tuple[Array, Array]:
    """Return orthonormal vectors (m, n), the first along ``start``, and T (m, m), the operator in this basis.

    The iteration ends early if the vectors span an invariant subspace.
    """
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    while True:
        w = apply(basis[-1])
        diagonal.append(float(basis[-1] @ w))
        if len(basis) == min(iterations, start.size):
            break
        held = np.array(basis)
        size = float(np.linalg.norm(w))
        for _ in range(2):  # a second orthogonalisation removes the round-off of the first
            w = w - held.T @ (held @ w)
        rest = float(np.linalg.norm(w))
        if rest <= 1e-8 * size:
            break
        off_diagonal.append(rest)
        basis.append(w / rest)
    return np.array(basis), np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)

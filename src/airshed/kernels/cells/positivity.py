"""Treatment of negative concentrations after a step.

Reactions keep concentrations positive; Rosenbrock steps do not. If a reaction A + B -> C consumes two species that are
both emitted, a long step makes both negative. If they were set to zero, the Jacobian would lose the reaction, and every
later step would fail in the same way. So a negative concentration is replaced by a positive one, :data:`REFLECTED`
times its size. There the Jacobian contains the reaction, and the next step finds the balance. The factor of a quarter
was found by experiment (validation/random_states). The replaced amount counts as error, so it is within the tolerance.

Some mechanisms consume a species that is not a reactant, for example "-0.11 PAR" among the products. Its rate may be
negative at zero: the species is overdrawn for any length of step. It is set to zero, which is no error. Its error is
that of the remaining concentration. A step that starts at zero with a negative rate holds the species at zero,
otherwise reactions would run backwards within the step. The production of the species in the last stage of such a step
counts as error.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.mechanism.network import ReactionNetwork

REFLECTED: Final = 0.25
"""Factor of the reflection of a negative concentration."""

HELD: Final = 1e12
"""Factor on the diagonal of the matrix of a step for a species that is held at zero."""


def overdrawn(network: ReactionNetwork) -> frozenset[int]:
    """Return the species that some reaction consumes although they are not its reactants."""
    pairs = zip(network.net_stoichiometry, network.reactant_indices, strict=True)
    return frozenset(
        species for net, reactants in pairs for species, change in net if change < 0.0 and species not in reactants
    )


def is_overdrawn(network: ReactionNetwork) -> npt.NDArray[np.bool_]:
    """Return the overdrawn species as a mask, (species,)."""
    return np.isin(np.arange(len(network.species)), list(overdrawn(network)))


def above_zero(network: ReactionNetwork, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return concentrations (species,) without negative values, as the compiled code treats them.

    Concentrations may be complex; their imaginary parts are derivatives.
    """
    return np.where(y.real < 0.0, -REFLECTED * y * ~is_overdrawn(network), y)

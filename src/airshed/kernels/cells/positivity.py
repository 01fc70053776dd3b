"""What becomes of concentrations that a step leaves below zero.

Reactions keep concentrations positive, steps of Rosenbrock methods do not. Of A + B -> C, both of which are produced, a
long step makes both negative. At zero, the Jacobian has lost the reaction: the next step does the same again, as every
step after it does until the end. So a concentration below zero becomes a positive one, :data:`REFLECTED` times its
size. There, the Jacobian has the reaction, and the next step finds the balance. A quarter is by experiment
(validation/random_states). What is below zero counts as error, so that it is within the tolerance.

Some mechanisms consume a species without needing it, as "-0.11 PAR" among the products. Its rate may be negative at
zero: it is overdrawn, whatever the step. It becomes zero, which is no error. Its error is that of what is kept.
Steps that begin there, with a rate below zero, hold it at zero: other reactions would run backwards with what is
negative within a step. What the last stage of such a step produces of it counts as error.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.mechanism.network import ReactionNetwork

REFLECTED: Final = 0.25
"""A concentration of -x becomes so many times x."""

HELD: Final = 1e12
"""By so much the diagonal of the matrix of a step is greater that holds a species."""


def overdrawn(network: ReactionNetwork) -> frozenset[int]:
    """Return the species that some reaction consumes without needing them."""
    pairs = zip(network.net_stoichiometry, network.reactant_indices, strict=True)
    return frozenset(
        species for net, reactants in pairs for species, change in net if change < 0.0 and species not in reactants
    )


def is_overdrawn(network: ReactionNetwork) -> npt.NDArray[np.bool_]:
    """Return the same as a mask, (species,)."""
    return np.isin(np.arange(len(network.species)), list(overdrawn(network)))


def above_zero(network: ReactionNetwork, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return concentrations (species,), those below zero made positive, as the compiled code does it.

    They may be complex: their imaginary parts are derivatives.
    """
    return np.where(y.real < 0.0, -REFLECTED * y * ~is_overdrawn(network), y)

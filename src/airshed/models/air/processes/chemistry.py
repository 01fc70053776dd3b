"""Chemistry: dq/dt = P(q) - L(q) q, the sum of the reactions of the mechanism.

Reactions are data, see :mod:`airshed.mechanism`; rate constants depend on the air and the light of each cell. The
equations are solved by Gauss-Seidel sweeps in the implicit step, or by a Rosenbrock method with adaptive steps
(`strang`).

source  Verwer 1994, SIAM J. Sci. Comput. 15, 1243-1250 (sweeps); Sandu et al. 1997, Atmos. Environ. 31, 3459-3472
"""

from collections.abc import Sequence

from airshed.mechanism.network import Reaction, ReactionNetwork
from airshed.models.air.case.sections import ChemistrySection
from airshed.process import Process, need, reactions


class Chemistry(Process, section="chemistry", order=0, model=ChemistrySection):
    """The reactions of the mechanism."""

    network = need(ReactionNetwork)

    def is_on(self) -> bool:
        """Return True if the mechanism has reactions."""
        return bool(self.network.reactions)

    @reactions
    def of_the_mechanism(self) -> Sequence[Reaction]:
        """All reactions of the mechanism."""
        return self.network.reactions

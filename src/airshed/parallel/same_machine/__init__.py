"""What ranks of one machine gain by sharing memory; nothing else needs this package, and without it all send messages.

``memory`` is memory that several processes have, ``edges`` the exchange of edges in it.
"""

from airshed.parallel.same_machine.edges import SharedEdges as SharedEdges

"""Shared memory of the ranks of one machine; without this package all ranks send messages.

``memory`` is the shared memory, ``edges`` the exchange of edges in it.
"""

from airshed.parallel.same_machine.edges import SharedEdges as SharedEdges

"""Several ranks in one run: domain decomposition and communication.

``decomposition`` divides the grid into tiles, ``subdomain`` is this rank's tile with exact sums over all ranks,
``communicator`` has the collective calls, ``halo`` exchanges edges with neighbours.
"""

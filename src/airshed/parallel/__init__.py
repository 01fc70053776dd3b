"""Several ranks in one run: domain decomposition and communication.

``communicator`` has the collective calls, ``decomposition`` divides the grid into tiles, ``domain`` is this rank's part
with exact sums over all ranks, ``halo`` exchanges edges with neighbours, ``balance`` moves columns to idle ranks,
``groups`` runs transport and chemistry on two groups of ranks by ``redistribution``; ``launch`` starts ranks.
"""

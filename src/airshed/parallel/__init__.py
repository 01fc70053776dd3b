"""MPI parallelism of one run: domain decomposition and communication.

``communicator`` has the collective calls, ``decomposition`` divides the grid into tiles, and ``domain`` has the part of
this rank with exact global sums. ``halo`` exchanges edges with neighbours, and ``balance`` moves columns to idle ranks.
``groups`` runs transport and chemistry on two groups of ranks by ``redistribution``; ``launch`` starts ranks.
"""

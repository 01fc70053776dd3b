"""Several ranks on one run: who holds what, what travels between them, and how.

``decomposition`` cuts the grid, ``communicator`` passes messages, ``exact_sum`` adds up alike for any number of ranks,
``halo`` brings the neighbours' edges.
"""

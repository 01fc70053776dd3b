"""File input and output: readers of forcing, results, restarts. Fields on grids, without physics."""

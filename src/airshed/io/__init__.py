"""Files: readers of forcing, output of results, restarts. Fields on grids, no physics."""

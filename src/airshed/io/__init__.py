"""Files: readers of forcing, output of results, restarts. Knows fields and grids, not physics."""

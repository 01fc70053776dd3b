"""Models of the runtime: the air over a region, pasture, a box; ``points`` is what models without neighbours share."""

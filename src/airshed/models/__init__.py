"""Models of the runtime: the air over a region, pasture, a box; ``points`` is the base of models without neighbours."""

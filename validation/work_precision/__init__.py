"""Error against cost of both integrators on the real case."""

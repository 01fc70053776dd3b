"""Work-precision study: error against cost of both integrators on the real case."""

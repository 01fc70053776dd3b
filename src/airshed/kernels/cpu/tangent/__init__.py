"""The tangent of a step: its own code on values that carry a change, made on demand and apart from it."""

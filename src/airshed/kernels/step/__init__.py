"""Backend-independent parts of a step: inputs, state, and the generation of its code."""

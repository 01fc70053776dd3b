"""How a step is composed of what acts in it: implicit-explicit in one, or split; both over the same processes."""

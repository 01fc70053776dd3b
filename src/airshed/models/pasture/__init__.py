"""Pasture: the daily soil water and growth of grass in each cell of a land."""

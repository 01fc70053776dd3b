"""Pasture model: daily soil water and growth of grass in each land cell."""

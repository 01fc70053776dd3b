"""Emission: the inventory of national totals, prescribed fields, single sources, and what they have in common."""

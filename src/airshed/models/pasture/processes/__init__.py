"""Processes of soil and pasture, in files by groups of equations; `order` is their sequence in a day."""

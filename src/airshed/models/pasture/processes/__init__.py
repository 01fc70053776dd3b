"""The processes of a day of soil and pasture, in files by groups of equations; their `order` is that of the day."""

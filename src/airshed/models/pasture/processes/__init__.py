"""What happens in a day of soil and pasture: one file for each group of equations, in the order of the day."""

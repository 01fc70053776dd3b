"""West-europe on a Lambert grid: how far a projected grid changes a day of ozone and nitrogen dioxide."""

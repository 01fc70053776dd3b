"""Plain words for readers of the page: names, formulae and groups of fields."""

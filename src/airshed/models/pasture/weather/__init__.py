"""Daily weather of stations: files of it, and what looks wrong with it."""

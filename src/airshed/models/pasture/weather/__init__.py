"""Daily weather of stations: files of it, and checks of it."""

"""Daily weather of stations: files and checks."""

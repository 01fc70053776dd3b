"""Fuzzing: spoiled input of every kind, and statistics of Airshed's responses: `python -m validation.fuzz`."""

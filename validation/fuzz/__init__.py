"""Feeds Airshed with spoilt input of every kind, and counts how it answers: `python -m validation.fuzz`."""

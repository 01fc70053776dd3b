"""Shared by all packages: constants, errors, units, settings, shipped files."""

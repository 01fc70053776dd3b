"""Derivatives of the steps of each scheme: one protocol, one implementation for each."""

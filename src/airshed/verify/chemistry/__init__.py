"""Checks of chemistry: published end states, orders, conservation, and other solvers."""

"""Checks of transport: shapes in prescribed flows, on the plane and the sphere."""

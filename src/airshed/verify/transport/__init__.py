"""Checks of transport: shapes carried by given flows, on the plane and the sphere."""

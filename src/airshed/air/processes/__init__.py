"""Processes that act on species besides transport by the wind and chemistry: one file each."""

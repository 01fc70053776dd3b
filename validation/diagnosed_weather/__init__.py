"""Diagnosed weather compared with reanalyses that have the fields; see README.md."""

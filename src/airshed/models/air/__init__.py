"""The air-quality model: forcing, emissions, deposition, boundary, and their composition from a case."""

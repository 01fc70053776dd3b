"""Sensitivities of receptors of each model, as datasets and reports."""

"""Verification of derivatives: recorded runs, dot products, Taylor remainders and finite differences."""

"""Fragments of the changelog: one file for each change, collected at a release."""

"""Mutation testing: what share of small errors in the sources the tests catch, see README.md."""

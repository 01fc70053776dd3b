"""Mutation testing: the share of small errors in the sources that the tests catch, see README.md."""

"""The transport study, see README.md: ``python -m validation.transport`` makes all of it anew."""

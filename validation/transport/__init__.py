"""The transport study, see README.md; ``python -m validation.transport`` repeats it completely."""

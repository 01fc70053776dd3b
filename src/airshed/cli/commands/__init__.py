"""The commands, those that belong together in one file; heavy imports wait until one runs, so that ``--help`` is quick.

A command has a parameter for each argument and option, however many: Typer reads names, types, defaults and texts of
help from them, and what gathered options into objects would only say all of that a second time.
"""

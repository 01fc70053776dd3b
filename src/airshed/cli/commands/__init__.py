"""The commands, related ones in one file; heavy imports happen when one runs, so that ``--help`` is quick.

A command has a parameter for each argument and option, however many: Typer reads names, types, defaults and help from
the signature, which option objects would duplicate.
"""

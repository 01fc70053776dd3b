"""A step is a program: a list of stages, which executors walk forwards or backwards.

Reading order: ``stage`` (the list), ``weights`` (formulas of stages), ``check`` (the simulator that accepts or refuses
a list), ``placement`` (which ranks run a stage), ``execute`` (the walks).
"""

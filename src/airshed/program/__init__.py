"""Programs: a time step as a list of stages, which executors walk forwards or backwards.

Reading order: ``stage`` (the list), ``integrators`` (the lists of the model), ``weights`` (formulas of stages),
``check`` (the simulator that accepts or refuses a list), ``placement`` (the ranks of a stage), ``execute`` (the walks).
"""

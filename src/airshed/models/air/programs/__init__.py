"""Executors of the program of a case: forward on packed columns, and a reference in NumPy.

Reading order: ``context`` (base class of runners and their common data), ``two_step``, ``one_step``, ``cells`` (one
runner for each kind of stage), ``forward`` (the executor), ``records`` (records of steps), ``reference`` (repetition of
records in NumPy), ``groups`` (chemistry and transport on two groups of ranks).
"""

"""Executes the program of a case on the packed state of its columns.

Reading order: ``context`` (what runners share), ``two_step``, ``one_step``, ``cells`` (a runner for each kind of
stage), ``forward`` (the executor), ``records`` (steps as they ran), ``groups`` and ``gathered`` (chemistry and
transport on two groups of ranks).
"""

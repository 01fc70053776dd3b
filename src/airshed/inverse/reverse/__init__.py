"""Derivatives of steps: replay, tangent and adjoint of each stage of a program."""

"""The processes of transport models as formulas: what each needs besides the compiled kernels.

``twostep`` the time stepping, ``continuity`` vertical air flux and Courant numbers, ``vertical`` weights on unequal
layers and turbulent exchange.
"""

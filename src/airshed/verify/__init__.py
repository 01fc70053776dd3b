"""Checks of `airshed verify`: small simulations through the public interface, each with figures to compare.

``figure`` results of checks, ``checks`` their table, ``west_europe`` a case with tracers and with full chemistry,
``column`` vertical transport, diffusion, sources and sinks, ``convergence`` orders of programs, ``adjoint`` gradients,
``transport`` shapes in given air on the plane and the sphere, ``chemistry`` the solvers alone, ``pasture`` random
cells. Checks with a case take it as an argument, so that tests can show that every check fails for a wrong one.
"""

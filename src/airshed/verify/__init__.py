"""The checks of `airshed verify`: small simulations through the public interface, each with figures to compare.

``figure`` what a check returns, ``checks`` their table, ``west_europe`` a case with tracers and with full chemistry,
``column`` vertical transport, diffusion, sources and sinks, ``convergence`` orders of programs, ``adjoint`` gradients,
``transport`` shapes in given air on the plane and the sphere, ``chemistry`` the solvers alone, ``pasture`` random
cells. What needs a case takes it as an argument, so that every check can be shown to fail.
"""

"""The checks of `airshed verify`: small simulations through the public interface, each with figures to compare.

``figure`` what a check returns, ``flow`` analytic air, ``carried`` shapes in rotation and deformation, ``sphere`` flows
and shapes on the sphere, ``turned`` what the model makes of them, ``mixing`` how it keeps tracers that depend on each
other, ``driven`` tracers in given air fluxes, ``courant`` the largest step, ``column`` vertical transport, diffusion,
sources and sinks, ``real`` passive tracers on measured winds, ``chemistry`` families of elements, ``sameness`` threads
and precision, ``integrators`` both integrators side by side, and Strang splitting by all of these,
``adjoint`` adjoint, tangent and gradient. The chemistry
solvers alone: ``chemistry_problems`` published end states, ``chemistry_emep`` that of EMEP, ``chemistry_orders`` orders
of the methods, ``chemistry_networks`` random networks beside SciPy, ``chemistry_cells`` thousands of cells,
``chemistry_micm`` mechanisms beside MICM. What needs a case takes it as an argument, so that every check can be shown
to fail.
"""

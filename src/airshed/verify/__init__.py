"""The checks of `airshed verify`: small simulations through the public interface, each with figures to compare.

``checks`` lists them. ``transport``: shapes in analytic and given flows, Courant numbers; ``column``: vertical
transport, diffusion, sources and sinks; ``real``: passive tracers on measured winds; ``sameness``: threads and
precision; ``integrators`` and ``convergence``: integrators compared, order in time; ``chemistry``: the solvers alone,
and families of elements in a case; ``adjoint``: adjoint, tangent and gradient; ``pasture``. A check that needs a case
takes it as an argument, so that a test can show that it fails.
"""

"""Executors of derivatives over programs: replay, tangent, recomputation and adjoint of recorded steps."""

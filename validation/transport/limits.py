"""The largest Courant numbers, found by bisection."""

from typing import Any

from airshed.verify.transport.courant import BENCHES, largest, linear_limit


def run() -> dict[str, Any]:
    """Return the limits of each flow, with the linear one of the scheme without limiter."""
    benches = [bench() for bench in BENCHES]
    flows = [{"text": bench.text, "shape": bench.shape, "steps": bench.steps, **largest(bench)} for bench in benches]
    return {"linear": linear_limit(), "flows": flows}

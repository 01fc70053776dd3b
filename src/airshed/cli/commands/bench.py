"""`airshed bench`: how fast this machine computes."""

from airshed.cli.options import AsJson


def bench(as_json: AsJson = False) -> None:
    """Measure speed, the share of each process, and how close it comes to what the machine can do."""
    from airshed.cli.render import show
    from airshed.runtime import benchmark

    show(benchmark.run(), as_json=as_json)

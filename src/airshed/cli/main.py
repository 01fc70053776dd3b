"""The program `airshed`; light, so that Ctrl-C is handled while everything else is loaded."""

import atexit
import gc

from airshed.cli.interrupt import answer_early


def main() -> None:
    """Run the program with the arguments of this process."""
    answer_early()
    atexit.register(gc.freeze)  # otherwise Python visits all objects before it ends: 0.1 to 0.5 s
    from airshed.cli.program import app
    from airshed.parallel.launch import join

    join()
    app(prog_name="airshed")

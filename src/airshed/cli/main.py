"""The program `airshed`; light, so that Ctrl-C has an answer while everything else is loaded."""

from airshed.cli.interrupt import answer_early


def main() -> None:
    """Run the program with the arguments of this process."""
    answer_early()
    from airshed.cli.program import app
    from airshed.parallel.launch import join

    join()
    app(prog_name="airshed")

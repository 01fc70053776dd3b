"""`python -m airshed` is the program `airshed`."""

from airshed.cli.main import main

main()

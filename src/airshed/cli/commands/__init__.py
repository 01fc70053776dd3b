"""One file for each command; heavy imports wait until a command runs, so that ``--help`` is quick."""

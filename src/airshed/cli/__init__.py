"""The command line. Commands read options, call the library, and show its results."""

"""The command line. Commands are thin: they read options, call the library, and show what it returns."""

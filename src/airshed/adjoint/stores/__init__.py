"""Where checkpoints are kept: in memory or in files, as they are or rounded, at once or behind the run."""

"""Settings of all tests: the same examples in every run, no clock, no window, a kernel cache inside the checkout."""

import os
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests start more ranks than there are cores, beside each other: those that wait leave their core to the others.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
os.environ.setdefault("AIRSHED_CACHE", str(Path(__file__).parents[1] / ".kernel_cache"))

settings.register_profile("airshed", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("airshed")

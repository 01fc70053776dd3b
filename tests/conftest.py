"""Settings of all tests: the same examples in every run, no clock, no window, a kernel cache inside the checkout."""

import os
from pathlib import Path

from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("AIRSHED_CACHE", str(Path(__file__).parents[1] / ".kernel_cache"))

settings.register_profile("airshed", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("airshed")

"""What processor this machine has: its name and its instruction sets."""

import hashlib
import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_MODEL_KEYS = ("model name", "Model", "CPU part")
_FEATURE_KEYS = ("flags", "Features")


@dataclass(frozen=True)
class Processor:
    """The processor that kernels are compiled for."""

    architecture: str
    model: str
    features: frozenset[str]

    @property
    def identity(self) -> str:
        """Model and a digest of the instruction sets: virtual machines give one model name to several of them."""
        digest = hashlib.sha256(" ".join(sorted(self.features)).encode()).hexdigest()[:8]
        return f"{self.model} ({self.architecture}, features {digest})"


def parse_cpuinfo(text: str, architecture: str) -> Processor:
    """Read the first processor of a ``/proc/cpuinfo`` text (x86-64 and AArch64 spell its keys differently)."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    model = next((fields[key] for key in _MODEL_KEYS if fields.get(key)), architecture)
    features = next((fields[key] for key in _FEATURE_KEYS if key in fields), "")
    return Processor(architecture, model, frozenset(features.split()))


@cache
def processor() -> Processor:
    """Return this machine's processor; where ``/proc/cpuinfo`` is missing, what Python knows of it."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Processor(platform.machine(), platform.processor() or platform.machine(), frozenset())
    return parse_cpuinfo(text, platform.machine())


def vector_doubles() -> int:
    """Return how many doubles the widest vectors of this machine's processor hold, four at least.

    Code for wider ones runs, but compilers make scalars of its choices and shifts of lanes: a step of EMEP with eight
    doubles to a pack takes five times as long on a processor with AVX2 as with four.
    """
    return 8 if "avx512f" in processor().features else 4


def usable_cores() -> int:
    """Return the number of cores that this process may run on, which a container or batch system can narrow."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

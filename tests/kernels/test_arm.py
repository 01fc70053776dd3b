"""Kernels compiled for 64-bit ARM give the results of their reference implementations on an emulated processor.

test_twin.py and chemistry/test_twin.py show that these comparisons notice an error.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = ("mmdebstrap", "qemu-aarch64", "aarch64-linux-gnu-g++")


@pytest.mark.thorough
@pytest.mark.skipif("AIRSHED_ARM" not in os.environ, reason="AIRSHED_ARM names no folder for an emulated ARM machine")
def test_steps_on_arm_equal_their_references() -> None:
    lacking = [each for each in COMMANDS if shutil.which(each) is None]
    if lacking or os.geteuid() != 0:
        pytest.skip(f"emulation of ARM needs root and {', '.join(lacking) or 'nothing more'}")
    command = ["validation/arm/run", os.environ["AIRSHED_ARM"]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["machine"] == "aarch64"
    least = {name: 1e-12 if "rodas3" in name else 1e-13 for name in found["differences"]}
    assert {name for name, each in found["differences"].items() if not each < least[name]} == set()
    assert len(least) == 5

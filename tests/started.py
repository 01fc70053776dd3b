"""Python for programs that tests start: a process that has loaded Airshed already, see tests/warm/server.py.

Use ``sys.executable`` for tests of the start itself, and of the end of a program and its parent. Use it too for
inheritance other than of environment and open files, and where ranks need different hash seeds: a result that depends
on the order of a set then differs between them.
"""

import os
import struct
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

WARM = Path(__file__).with_name("warm")


@lru_cache(1)
def _server() -> tuple[Path, "subprocess.Popen[bytes]"]:
    """Start the server of this process, which ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="airshed-warm-"))
    client = folder / "python"
    text = (WARM / "client.py").read_text(encoding="utf-8")
    client.write_text(f"#!{sys.executable} -IS\nPYTHON = {sys.executable!r}\n{text}", encoding="utf-8")
    client.chmod(0o755)
    (folder / "total").write_bytes(bytes(8))
    command = [sys.executable, WARM / "server.py", folder / "socket", folder / "total"]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process with threads cannot fork
    server = subprocess.Popen(command, stdin=subprocess.PIPE, env=one_thread)
    while not (folder / "socket").exists() and server.poll() is None:
        time.sleep(0.01)
    os.environ["AIRSHED_WARM"] = str(folder / "socket")
    return folder, server


def python() -> str:
    """Return the path of a Python that starts with all of Airshed loaded."""
    return str(_server()[0] / "python")


def computed() -> float:
    """Return the processor time of programs of that Python so far [s]."""
    if not _server.cache_info().currsize:
        return 0.0
    return float(struct.unpack("<d", (_server()[0] / "total").read_bytes())[0])

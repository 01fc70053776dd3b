"""Programs of the Python process that is loaded already behave like other programs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.started import computed, python

REPORT = """
import os, sys
print(sys.argv, os.getcwd(), os.environ.get("MINE"), sys.stdin.read(), __name__)
print("wrong", file=sys.stderr)
sys.exit(3)
"""
WAIT = """
import os, time
try:
    print(os.getpid(), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print(7)
"""


def ended(program: str, *arguments: str, **options: Any) -> tuple[int, str, str]:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["text", "script", "module"])
def test_a_program_has_its_arguments_input_and_output(tmp_path: Path, kind: str) -> None:
    (tmp_path / "looks.py").write_text(REPORT)
    line = [*{"text": ["-c", REPORT], "script": ["looks.py"], "module": ["-m", "looks"]}[kind], "a b"]
    options: dict[str, Any] = {"input": "output", "cwd": tmp_path, "env": {**os.environ, "MINE": "7"}}
    assert ended(python(), *line, **options) == ended(sys.executable, *line, **options)
    assert ended(python(), *line, **options)[0] == 3


def test_errors_signals_and_output_at_exit() -> None:
    assert ended(python(), "-c", "import atexit; atexit.register(print, 'late'); 1 / 0")[:2] == (1, "late\n")
    assert ended(python(), "-c", "import os; os.kill(os.getpid(), 9)")[0] == -9
    assert ended(python(), "-c", "raise SystemExit('no')") == (1, "", "no\n")


def test_signals_reach_a_program_and_it_ends_with_its_parent() -> None:
    for end, code, output in ((signal.SIGINT, 0, "7\n"), (signal.SIGKILL, -9, "")):
        with subprocess.Popen([python(), "-c", WAIT], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            program = Path("/proc") / process.stdout.readline().strip()
            assert program.exists()
            process.send_signal(end)
            assert (process.communicate()[0], process.returncode) == (output, code)
        for _ in range(1000):
            if not program.exists():
                break
            time.sleep(0.01)
        assert not program.exists()


def test_the_processor_time_of_programs_is_counted() -> None:
    before = computed()
    ended(python(), "-c", "import time\nwhile time.process_time() < 0.3: pass")
    assert computed() - before > 0.2

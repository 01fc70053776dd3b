"""A Python process that has loaded Airshed, and forks into each requested program: nothing is loaded again.

    server.py SOCKET TOTAL

A client connects to SOCKET and sends its arguments, environment, folder and open files. It receives the process id of
its program, then its exit status. If the client ends, so does its program. TOTAL is the processor time of all programs
[s], as one double. The server ends with its standard input.
"""

import atexit
import builtins
import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import airshed

LEFT_AWAY = ("airshed.__main__", "airshed.bmi", "airshed.inverse.jax", "airshed.inverse.torch", "benchmarks.started")
"""Optional packages, and modules that run at import."""


def load() -> None:
    """Import all of Airshed, except MPI: it reads its rank from the environment at import."""
    for module in pkgutil.walk_packages(airshed.__path__, "airshed."):
        if not module.name.startswith(LEFT_AWAY) and ".worker" not in module.name:
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for case in ("tracer-rotation", "queensland"):
        airshed.load_case(case)  # which imports and caches the inputs of a case, such as the table of units
    assert "mpi4py.MPI" not in sys.modules
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads cannot fork safely"
    gc.collect()
    gc.freeze()  # children do not write to shared objects


class Programs:
    """The programs that run, by the ends of their clients."""

    def __init__(self, door: socket.socket, total: Path) -> None:
        self._door, self._seconds = door, 0.0
        self._total = os.open(total, os.O_WRONLY)
        self._selector = selectors.DefaultSelector()
        self._selector.register(door, selectors.EVENT_READ, None)
        self._selector.register(0, selectors.EVENT_READ, None)

    def serve(self) -> dict[str, Any] | None:
        """Start and end programs. Returns in each program with its description, and None in the server at its end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is self._door:
                    asked = self._start()
                    if asked is not None:
                        return asked
                elif self._selector.get_map().get(key.fd) is key:  # else its other end has been seen
                    self._end(key)

    def _start(self) -> dict[str, Any] | None:
        client = self._door.accept()[0]
        data, files, _, _ = socket.recv_fds(client, 1 << 20, 16)
        size = struct.unpack_from("<q", data)[0]
        while len(data) < 8 + size:
            data += client.recv(1 << 20)
        asked: dict[str, Any] = pickle.loads(data[8:])
        program = os.fork()
        if program == 0:
            for open_here in [key.fileobj for key in self._selector.get_map().values() if key.fileobj != 0]:
                os.close(open_here) if isinstance(open_here, int) else open_here.close()  # type: ignore[union-attr]
            self._selector.close()
            client.close()
            for file, number in zip(files, asked["files"], strict=True):
                os.dup2(file, number, inheritable=True)
            for file in set(files) - set(asked["files"]):
                os.close(file)
            return asked
        for file in files:
            os.close(file)
        client.sendall(struct.pack("<q", program))
        watch = os.pidfd_open(program)
        self._selector.register(client, selectors.EVENT_READ, (program, client, watch))
        self._selector.register(watch, selectors.EVENT_READ, (program, client, watch))
        return None

    def _end(self, key: selectors.SelectorKey) -> None:
        program, client, watch = key.data
        if key.fileobj is client:  # it was closed
            os.kill(program, signal.SIGKILL)
        _, status, used = os.wait4(program, 0)
        self._seconds += used.ru_utime + used.ru_stime
        os.pwrite(self._total, struct.pack("<d", self._seconds), 0)
        with contextlib.suppress(OSError):
            client.sendall(struct.pack("<q", status))
        for each in (client, watch):
            self._selector.unregister(each)
        client.close()
        os.close(watch)


def become(asked: dict[str, Any]) -> None:
    """Run a Python command line, as a process that was just started."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        lines = name == "stderr" or os.isatty(number)
        stream = open(number, mode, buffering=1 if lines else -1, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.executable = asked["client"]
    rest = list(asked["arguments"])
    while rest[0] in ("-P", "-u"):
        rest.pop(0)
    if rest[0] == "-m":
        sys.argv = rest[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    elif rest[0] == "-c":
        sys.argv = ["-c", *rest[2:]]
        sys.path.insert(0, "")
        execute(rest[1], "<string>")
    else:
        sys.argv = rest
        sys.path.insert(0, str(Path(rest[0]).resolve().parent))
        execute(Path(rest[0]).read_bytes(), rest[0], __file__=rest[0])


def execute(text: str | bytes, name: str, **names: str) -> None:
    """Run a program's text as the main module."""
    main = type(sys)("__main__")
    sys.modules["__main__"] = main
    vars(main).update(__builtins__=builtins, **names)
    exec(compile(text, name, "exec"), vars(main))


def ended(asked: dict[str, Any]) -> int:
    """Run a program, and return its exit code."""
    try:
        become(asked)
    except SystemExit as asked_for:
        if asked_for.code is None or isinstance(asked_for.code, int):
            return asked_for.code or 0
        print(asked_for.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def end(code: int) -> None:
    """End as Python does, but do not dismantle all modules: this takes longer than the rest of a short program."""
    if "mpi4py.MPI" in sys.modules:
        gc.freeze()
        sys.exit(code)  # MPI decides at the end of Python how other ranks end
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main() -> None:
    """Load, listen, and become the requested program."""
    place, total = Path(sys.argv[1]), Path(sys.argv[2])
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(place))
        door.listen(64)
        del sys.path[0]  # the folder of this file
        load()
        asked = Programs(door, total).serve()
    if asked is not None:
        end(ended(asked))


main()

"""Launch of a command on several ranks under mpiexec.

Output is forwarded immediately and completely, Ctrl-C reaches every rank once, and the launcher's report of a lost rank
becomes one line.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from io import TextIOWrapper
from threading import Thread
from types import FrameType
from typing import IO, Final

from airshed.core.errors import AirshedError
from airshed.core.text import counted
from airshed.parallel.environment import REQUESTED_RANKS, launched, launched_rank, requested_ranks
from airshed.parallel.lost_ranks import ANNOUNCEMENT, Filter, LaunchReport, RankMonitor, join_monitor
from airshed.parallel.mpiexec import find_mpiexec

TERMINALS: Final = "AIRSHED_TERMINALS"
"""Variable with the streams, stdout and stderr, that end on the user's terminal; ranks write into pipes."""

_LAUNCHER: Final = "AIRSHED_LAUNCHER"
"""Variable with the address of the monitor of ranks; set in ranks that this module launched."""

_PR_SET_PDEATHSIG: Final = 1
_ENDING_WITH_PARENT: Final = f"""
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Source of a wrapper command that the system ends with its parent, however that one ends."""

_STOPPED: Final = 130
_ENDED: Final = 128  # plus the number of a signal, as in shells
_LAST_WAIT: Final = 5.0


def must_launch(ranks: int | None) -> bool:
    """Return whether this process must launch the ranks, and is not itself one of them or a single process.

    Raises AirshedError if a launcher has started a different number of ranks.
    """
    started = requested_ranks() if launched() else 0
    if ranks is None or ranks == started:
        return False
    if started:
        raise AirshedError(f"-n {ranks}, but mpiexec has started {counted(started, 'rank')} already; leave -n away")
    return ranks > 1


def launch(ranks: int, command: Sequence[str]) -> int:
    """Run a command on the given number of ranks, and return the exit code; 128 + signal if a signal killed a rank.

    The first Ctrl-C (or SIGTERM, SIGHUP) is passed to every rank, see `handle_interrupts`; the second kills all.
    """
    mpiexec = find_mpiexec()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if ranks > cores:
        _print(f"warning: {ranks} ranks share {counted(cores, 'core')}; -n {cores} would be faster")
    environment = {**os.environ, **mpiexec.environment(crowded=ranks > cores)}
    facts = LaunchReport()
    with closing(RankMonitor()) as ends:
        code, asked = _run([*mpiexec.command(ranks), *command], environment | _rank_environment(ranks, ends), facts)
        return _ending(code, facts, ends.first(), interrupted=asked)


def _run(command: Sequence[str], environment: Mapping[str, str], facts: LaunchReport) -> tuple[int, bool]:
    """Run mpiexec, and return its exit code and whether a signal arrived; facts are extracted from its output."""
    if sys.platform == "linux":  # mpiexec ends with this process; monitored ranks end by themselves
        command = [sys.executable, "-I", "-S", "-c", _ENDING_WITH_PARENT, str(os.getpid()), *command]
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,  # the terminal's Ctrl-C reaches this process alone
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        with _passing_signals(process, facts) as asked:
            pumps = [_pump(process.stdout, sys.stdout.buffer, facts), _pump(process.stderr, sys.stderr.buffer, facts)]
            for pump in pumps:
                pump.join()
            return process.wait(), bool(asked)


def join() -> None:
    """Register this rank with the launcher; no effect in a process that `launch` did not start."""
    rank = launched_rank()
    if _LAUNCHER not in os.environ or rank is None:
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # lines are sent whole; PYTHONUNBUFFERED would send a line word by word
            stream.reconfigure(line_buffering=True, write_through=False)
    join_monitor(os.environ[_LAUNCHER], rank)
    os.write(2, f"{ANNOUNCEMENT} {rank} {os.getpid()} {socket.gethostname()}\n".encode())


def handle_interrupts() -> None:
    """Treat the launcher's signal as Ctrl-C; before this call the signal ends this rank and all others."""
    if _LAUNCHER in os.environ:
        signal.signal(signal.SIGUSR1, lambda number, frame: signal.raise_signal(signal.SIGINT))


def _rank_environment(ranks: int, ends: RankMonitor) -> dict[str, str]:
    """Return the environment of the ranks: their number, the launcher, the terminal."""
    terminals = [name for name in ("stdout", "stderr") if getattr(sys, name).isatty()]
    variables = {REQUESTED_RANKS: str(ranks), _LAUNCHER: ends.address, TERMINALS: ",".join(terminals)}
    if terminals:
        with suppress(OSError):
            size = os.get_terminal_size(1 if "stdout" in terminals else 2)
            sizes = {"COLUMNS": size.columns, "LINES": size.lines}
            variables |= {name: str(number) for name, number in sizes.items() if number}  # 0: unknown
    return variables


def _pump(source: IO[bytes], target: IO[bytes], facts: LaunchReport) -> Thread:
    """Copy a stream of the ranks to the user in a thread, without the launcher's lines."""
    sieve = Filter(facts)

    def copy() -> None:
        while data := os.read(source.fileno(), 1 << 16):
            _write(target, sieve.feed(data))
        _write(target, sieve.end())

    thread = Thread(target=copy, daemon=True)
    thread.start()
    return thread


def _write(target: IO[bytes], data: bytes) -> None:
    """Write to the user; if the reader of a pipe has ended, the ranks continue without output."""
    if data:
        with suppress(BrokenPipeError):
            target.write(data)
            target.flush()


@contextmanager
def _passing_signals(process: "subprocess.Popen[bytes]", facts: LaunchReport) -> Iterator[list[int]]:
    """Pass the first signal on to the ranks, kill them at the second; yields the list of received signals."""
    came: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) == 1:  # launchers forward SIGUSR1; SIGINT and SIGTERM make OpenMPI's kill the ranks
            process.send_signal(signal.SIGUSR1)
        else:
            Thread(target=_kill, args=(process, facts), daemon=True).start()

    numbers = [  # nohup disables SIGHUP
        number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]  # fmt: skip
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill(process: "subprocess.Popen[bytes]", facts: LaunchReport) -> None:
    """Kill the ranks of this machine; mpiexec then ends those of other machines and itself, or is killed too."""
    for number, host in facts.processes.values():
        if host == socket.gethostname():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
    try:
        process.wait(_LAST_WAIT if facts.processes else 0.1)
    except subprocess.TimeoutExpired:
        process.kill()


def _ending(code: int, facts: LaunchReport, first: int | None, *, interrupted: bool) -> int:
    """Return the exit code of the run, and report a lost rank.

    first  rank of this machine that ended first, if known
    """
    if facts.aborted is not None:
        return facts.aborted
    if facts.signal is None and code >= 0:
        return code
    number = int(facts.signal or -code)
    if interrupted:
        _print("stopped")
        return _STOPPED
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    rank = facts.lost(first)
    who = "a rank" if rank is None else f"rank {rank}"
    if facts.signal is None:
        who = "mpiexec"
    hint = ", perhaps out of memory" if number == signal.SIGKILL else ""
    _print(
        f"error: {who} was lost by {name}{hint}, and the others were stopped; --resume continues from the last restart"
    )
    return _ENDED + number


def _print(text: str) -> None:
    print(f"airshed: {text}", file=sys.stderr, flush=True)

"""RankMonitor all ranks when one raises: none waits for it for ever, and its message is printed once."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import Communicator, MpiRanks
from airshed.parallel.launch import handle_interrupts

if TYPE_CHECKING:
    from mpi4py import MPI

Last = tuple[str, int]
"""What a rank has to say when it ends, empty for nothing, and its exit code."""

GRACE: Final = 2.0
"""Seconds for the other ranks to come with an error of their own, before all are stopped."""

_PAUSE: Final = 0.002
_WRONG, _DEFECT = 2, 1  # exit codes, those of the program


@contextmanager
def failing_together(ranks: Communicator, explain: Callable[[BaseException], Last]) -> Iterator[None]:
    """Let an error of any rank in the block end all of them, each message printed once on standard error.

    If every rank raises, all end by SystemExit with the largest exit code. If only some do, the others may be waiting
    for them anywhere: the lowest rank that raised prints the messages that it has, and aborts all. An exception with
    exit code 0 ends its own rank alone. Every rank must enter the block.
    """
    if not isinstance(ranks, MpiRanks):
        yield
        return
    line, ranks.fails_together = ranks.line, True
    try:
        handle_interrupts()
        yield
    except BaseException as error:
        raise SystemExit(_end(line, explain(error))) from None
    finally:
        ranks.fails_together = False


@contextmanager
def raising_together(ranks: Communicator) -> Iterator[None]:
    """Let an error in the block propagate if every rank raises one; else print its message and end all ranks.

    So it is caught on all ranks or on none: one that continued alone would let the others wait for ever. In a block
    of :func:`failing_together` that is so. Every rank must enter the block.
    """
    if not isinstance(ranks, MpiRanks) or ranks.fails_together:
        yield
        return
    line = ranks.line
    try:
        yield
    except BaseException as error:
        errors = _exchange(line, _words(error))
        if len(errors) < line.size:
            _stop_all(line, errors)
        raise


@contextmanager
def catching_together(ranks: Communicator) -> Iterator[None]:
    """Let errors that all ranks raise alike be caught in the block, also inside :func:`failing_together`.

    There they would end all ranks only when they leave its block; one that some ranks alone raise ends all at once.
    """
    if not isinstance(ranks, MpiRanks):
        yield
        return
    before, ranks.fails_together = ranks.fails_together, False
    try:
        yield
    finally:
        ranks.fails_together = before


def _words(error: BaseException) -> Last:
    """Return the message of an error that a user can mend, else its traceback."""
    if isinstance(error, AirshedError):
        return f"airshed: error: {error}", _WRONG
    return "".join(traceback.format_exception(error)), _DEFECT


def _end(line: "MPI.Intracomm", last: Last) -> int:
    """Return the exit code if all ranks came here, or if this one has not failed; else end them all."""
    errors = _exchange(line, last)
    first = min(rank for rank in errors if errors[rank][0] == last[0])
    if len(errors) == line.size:
        if line.rank == first:
            _print(last[0], errors, line.size)
    elif last[1] == 0:
        return 0
    else:
        _stop_all(line, errors)
    return max(code for _, code in errors.values())


def _stop_all(line: "MPI.Intracomm", errors: Mapping[int, Last]) -> None:
    """Print the messages of some ranks, each once, and end all ranks, as the others can only wait."""
    if line.rank != min(errors):
        time.sleep(GRACE)  # the lowest rank ends all; if it has gone meanwhile, this one does
    for text in dict.fromkeys(text for text, _ in errors.values()):
        _print(text, errors, line.size)
    line.Abort(max(code for _, code in errors.values()))


def _exchange(line: "MPI.Intracomm", last: Last) -> dict[int, Last]:
    """Exchange last messages with the other ranks; wait for silent ones no longer than GRACE."""
    errors = {line.rank: last}
    sent = [line.isend(last, rank) for rank in range(line.size) if rank != line.rank]
    deadline = time.monotonic() + GRACE
    while len(errors) < line.size and time.monotonic() < deadline:
        for rank in range(line.size):
            if rank not in errors and line.iprobe(rank):
                errors[rank] = line.recv(source=rank)
        time.sleep(_PAUSE)
    if len(errors) == line.size:
        for request in sent:
            request.wait()
    return errors


def _print(text: str, errors: Mapping[int, Last], size: int) -> None:
    """Write a message, with its ranks unless it is that of all."""
    if not text:
        return
    ranks = [str(rank) for rank in sorted(errors) if errors[rank][0] == text]
    whose = "" if len(ranks) == size else f" (rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)} of {size})"
    sys.stderr.write(f"{text.rstrip()}{whose}\n")
    sys.stderr.flush()

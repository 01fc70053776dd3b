"""Collective failure: an error on one rank ends all ranks, without deadlock, and is printed once."""

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
"""Final message of a rank, or "", and its exit code."""

GRACE: Final = 2.0
"""Seconds for other ranks to report their own error before all are aborted."""

_PAUSE: Final = 0.002
_WRONG, _DEFECT = 2, 1  # exit codes, as of the program


@contextmanager
def failing_together(ranks: Communicator, explain: Callable[[BaseException], Last]) -> Iterator[None]:
    """End all ranks if any rank raises in the block, and print each message once on standard error.

    If every rank raises, all end by SystemExit with the largest exit code. If only some raise, the others may be
    blocked anywhere: the lowest failing rank prints the messages received so far, and aborts all ranks. An exception
    with exit code 0 ends its own rank alone. Collective.
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
    """Propagate an error in the block if every rank raises one; otherwise print its message and abort all ranks.

    The error is then caught on all ranks or on none; a single rank that continued would leave the others waiting.
    Within a block of :func:`failing_together` this is always so. Collective.
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
    """Allow errors that all ranks raise to be caught in the block, also inside :func:`failing_together`.

    Errors in that block would otherwise end all ranks. An error of only some ranks still aborts all ranks immediately.
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
    """Return the message of a user error, else the traceback."""
    if isinstance(error, AirshedError):
        return f"airshed: error: {error}", _WRONG
    return "".join(traceback.format_exception(error)), _DEFECT


def _end(line: "MPI.Intracomm", last: Last) -> int:
    """Return the exit code if all ranks have arrived here, or if this rank has not failed; otherwise abort all
    ranks.
    """
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
    """Print the messages of failing ranks, each once, and abort all ranks, since the others are blocked."""
    if line.rank != min(errors):
        time.sleep(GRACE)  # the lowest rank aborts all; if it has ended in the meantime, this rank does
    for text in dict.fromkeys(text for text, _ in errors.values()):
        _print(text, errors, line.size)
    line.Abort(max(code for _, code in errors.values()))


def _exchange(line: "MPI.Intracomm", last: Last) -> dict[int, Last]:
    """Exchange final messages with the other ranks; wait at most GRACE for silent ranks."""
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
    """Print a message, with its ranks unless all ranks share it."""
    if not text:
        return
    ranks = [str(rank) for rank in sorted(errors) if errors[rank][0] == text]
    whose = "" if len(ranks) == size else f" (rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)} of {size})"
    sys.stderr.write(f"{text.rstrip()}{whose}\n")
    sys.stderr.flush()

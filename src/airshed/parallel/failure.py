"""What becomes of the others when a rank raises: nobody waits for it for ever, and its message is told once."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import Communicator, MpiRanks
from airshed.parallel.launch import hear_interrupts

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
    """Let an error of any rank in the block end all of them, each message told once on standard error.

    Where every rank raises, all end by SystemExit with the greatest exit code. Where only some do, the others may be
    waiting for them in the middle of anything: the lowest that raised tells what it knows of, and aborts all. An
    exception that is explained by exit code 0 ends its own rank alone. Every rank must enter the block.
    """
    if not isinstance(ranks, MpiRanks):
        yield
        return
    line, ranks.fails_together = ranks.line, True
    try:
        hear_interrupts()
        yield
    except BaseException as error:
        raise SystemExit(_end(line, explain(error))) from None
    finally:
        ranks.fails_together = False


@contextmanager
def raising_together(ranks: Communicator) -> Iterator[None]:
    """Let an error in the block go on where every rank raises one; else end all of them, after its message.

    So whoever catches it does that on all ranks: one that went on alone would let the others wait for ever. In a block
    of :func:`failing_together` that sees to it. Every rank must enter the block.
    """
    if not isinstance(ranks, MpiRanks) or ranks.fails_together:
        yield
        return
    line = ranks.line
    try:
        yield
    except BaseException as error:
        told = _exchange(line, _words(error))
        if len(told) < line.size:
            _stop_all(line, told)
        raise


def _words(error: BaseException) -> Last:
    """Return the message of an error that a user can mend, else where it comes from."""
    if isinstance(error, AirshedError):
        return f"airshed: error: {error}", _WRONG
    return "".join(traceback.format_exception(error)), _DEFECT


def _end(line: "MPI.Intracomm", last: Last) -> int:
    """Return the exit code where all ranks came here, or this one has not failed; else end them all."""
    told = _exchange(line, last)
    first = min(rank for rank in told if told[rank][0] == last[0])
    if len(told) == line.size:
        if line.rank == first:
            _tell(last[0], told, line.size)
    elif last[1] == 0:
        return 0
    else:
        _stop_all(line, told)
    return max(code for _, code in told.values())


def _stop_all(line: "MPI.Intracomm", told: Mapping[int, Last]) -> None:
    """Tell what some ranks told, each message once, and end all of them, of which the others can only wait."""
    if line.rank != min(told):
        time.sleep(GRACE)  # it is that rank's to end all; should it have gone meanwhile, this one does
    for text in dict.fromkeys(text for text, _ in told.values()):
        _tell(text, told, line.size)
    line.Abort(max(code for _, code in told.values()))


def _exchange(line: "MPI.Intracomm", last: Last) -> dict[int, Last]:
    """Tell the other ranks, and return what they tell; silent ones are not waited for any longer than GRACE."""
    told = {line.rank: last}
    sent = [line.isend(last, rank) for rank in range(line.size) if rank != line.rank]
    deadline = time.monotonic() + GRACE
    while len(told) < line.size and time.monotonic() < deadline:
        for rank in range(line.size):
            if rank not in told and line.iprobe(rank):
                told[rank] = line.recv(source=rank)
        time.sleep(_PAUSE)
    if len(told) == line.size:
        for request in sent:
            request.wait()
    return told


def _tell(text: str, told: Mapping[int, Last], size: int) -> None:
    """Write a message and, unless it is of all ranks, of which it is."""
    if not text:
        return
    ranks = [str(rank) for rank in sorted(told) if told[rank][0] == text]
    whose = "" if len(ranks) == size else f" (rank{'s' if len(ranks) > 1 else ''} {', '.join(ranks)} of {size})"
    sys.stderr.write(f"{text.rstrip()}{whose}\n")
    sys.stderr.flush()

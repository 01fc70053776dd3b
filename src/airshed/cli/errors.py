"""Messages and exit codes of commands that fail."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from typer.core import TyperGroup

from airshed.cli.interrupt import INTERRUPTED, end_early_answers
from airshed.cli.render import say
from airshed.core.errors import AirshedError
from airshed.core.text import printable, shortened
from airshed.parallel.environment import launched, launched_rank

REFUSED = 2
"""Exit code for errors that a user can correct."""

_WORD = 250
"""Characters of a word in a message; of longer ones, such as an endless path, the middle is left out."""

_PLAINER = (
    (r"Value error, ", ""),
    (r"Input should be greater than or equal to (\S+)", r"give \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"give \1 or less"),
    (r"Input should be a valid integer.*", "give a whole number"),
    (r"Input should be a valid number.*", "give a number"),
)
"""Messages of the argument parser about values -> plain words."""


class CommandGroup(TyperGroup):
    """Group of commands whose errors are messages of a line or two instead of a traceback.

    Anything that is not an AirshedError, nor the system's refusal to read or write a file, is a defect and keeps its
    traceback; so does everything when the environment has AIRSHED_DEBUG=1.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program; an error in its arguments is a line, too, not a box of usage."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
        except typer.Abort:
            code = INTERRUPTED
        except typer.TyperException as error:
            code = refuse_arguments(error)
        exec("")  # else CPython ends by SIGINT where Ctrl-C came in an `exec`, as of a dataclass, though it was handled
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command; several ranks end together."""
        end_early_answers()
        try:
            if launched():
                with _ending_together():
                    return super().invoke(ctx)
            return super().invoke(ctx)
        except (AirshedError, OSError, MemoryError, KeyboardInterrupt, RuntimeError) as error:
            # Ctrl-C while Python 3.11 creates a class, such as an imported dataclass, is a RuntimeError
            interrupt = error.__cause__ if isinstance(error, RuntimeError) else None
            last = _message_of(interrupt if isinstance(interrupt, KeyboardInterrupt) else error)
            if last is None:
                raise
        say(last[0], err=True)
        raise typer.Exit(last[1])


@contextmanager
def _ending_together() -> Iterator[None]:
    """Bind this rank to its cores, and end it together with the other ranks."""
    from airshed.parallel.binding import bind
    from airshed.parallel.communicator import world
    from airshed.parallel.failure import failing_together

    try:
        ranks = world()
    except AirshedError:
        if launched_rank():
            raise typer.Exit(REFUSED) from None  # reported by the first rank
        raise
    with failing_together(ranks, _message_with_traceback):
        bind(ranks)
        yield


def _message_of(error: BaseException) -> tuple[str, int] | None:
    """Return the message of an error and its exit code; None for a defect, whose traceback is shown."""
    if os.environ.get("AIRSHED_DEBUG", "0") not in ("", "0"):
        return None
    match error:
        case AirshedError():
            words = re.sub(rf"\S{{{_WORD + 1},}}", lambda word: shortened(word[0], _WORD), str(error))
            return f"airshed: error: {shortened(words)}", REFUSED
        case KeyboardInterrupt():
            return "airshed: stopped", INTERRUPTED
        case MemoryError():
            return (
                f"airshed: error: there is not enough memory{': ' * bool(str(error))}{error}; take fewer cells",
                REFUSED,
            )
        case OSError() if error.errno != errno.EPIPE and error.filename is not None:
            return f"airshed: error: {error.filename}: {(error.strerror or str(error)).lower()}", REFUSED
    return None  # Click handles the reader of a pipe that has gone


def _message_with_traceback(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code of a rank for any exception; a defect has its traceback."""
    match error:
        case typer.Exit():
            return "", error.exit_code
        case SystemExit():
            return "", error.code if isinstance(error.code, int) else int(error.code is not None)
        case typer.TyperException():
            return refusal(error)
    words, code = _message_of(error) or ("".join(traceback.format_exception(error)), 1)
    return printable(words, lines=True), code


def refuse_arguments(error: Any) -> int:
    """Print the error in the arguments of the program with a hint to help; return the exit code."""
    message, code = refusal(error)
    if message:
        say(message, err=True)
    return code


def refusal(error: Any) -> tuple[str, int]:
    """Return the error in the arguments of the program with a hint to help, and the exit code.

    The message is empty for a command without arguments, which has shown its help.
    """
    message = error.format_message().strip().rstrip(".")
    for theirs, ours in _PLAINER:
        message = re.sub(theirs, ours, message)
    command = error.ctx.command_path if error.ctx is not None else "airshed"
    line = f"airshed: error: {message[0].lower()}{message[1:]} (help: {command} --help)" if message else ""
    return line, int(error.exit_code)

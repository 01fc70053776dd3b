"""How a command ends when it cannot do what it was asked."""

import errno
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import typer
from typer.core import TyperGroup

from airshed.core.errors import AirshedError, OutputError

REFUSED = 2
"""Exit code for errors that are the user's to mend."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class Guarded(TyperGroup):
    """A group of commands whose errors end in a message of a line or two instead of a traceback.

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
        """Run the program; what is wrong with its arguments is a line too, not a box of usage."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
        except typer.Abort:
            code = INTERRUPTED
        except typer.TyperException as error:
            code = refuse_arguments(error)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        if os.environ.get("AIRSHED_DEBUG", "0") not in ("", "0"):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except AirshedError as error:
            complain(error)
        except OSError as error:
            if error.errno == errno.EPIPE or error.filename is None:
                raise  # the reader of a pipe has gone, which Click handles; or no file is at fault
            complain(OutputError(f"{error.filename}: {(error.strerror or str(error)).lower()}"))
        except KeyboardInterrupt:
            typer.echo("airshed: stopped", err=True)
            raise typer.Exit(INTERRUPTED) from None
        raise typer.Exit(REFUSED)


def complain(error: AirshedError) -> None:
    """Write the message of an error to standard error."""
    print(f"airshed: error: {error}", file=sys.stderr)


def refuse_arguments(error: Any) -> int:
    """Write what is wrong with the arguments of the program, and where help is; return the exit code."""
    message = error.format_message().strip().rstrip(".").replace("Value error, ", "")
    if message:  # empty for a command given without arguments, which has shown its help
        command = error.ctx.command_path if error.ctx is not None else "airshed"
        print(f"airshed: error: {message[0].lower()}{message[1:]} (help: {command} --help)", file=sys.stderr)
    return int(error.exit_code)

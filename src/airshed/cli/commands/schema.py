"""`airshed schema`: the JSON Schema of a case file, for editors.

Editors with a language server for TOML (Taplo in Even Better TOML, tombi) read the schema that the first line of a file
names: ``#:schema case.schema.json``.
"""

from pathlib import Path
from typing import Annotated

import typer


def schema(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model of the case: air, box or pasture.")] = "air",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write into a file instead of to the screen.")
    ] = None,
) -> None:
    """Print the JSON Schema of a case file, with which an editor completes and checks settings.

    Write it next to a case, and put `#:schema case.schema.json` on the first line of the case.toml.
    """
    import json

    from airshed.case.schema import editor_schema
    from airshed.core.atomic import write_whole
    from airshed.runtime.registry import model_kind

    # Print the schema, so that a pipe can read it.
    text = json.dumps(editor_schema(model_kind(model).case), indent=2, ensure_ascii=False)
    if output is None:
        typer.echo(text)
        return

    # Write it into a file that is complete or unchanged.
    with write_whole(output) as part:
        part.write_text(f"{text}\n", encoding="utf-8")
    typer.echo(f"{output}: put #:schema {output.name} on the first line of a case.toml in the same folder")

"""Write generated sources of the browser client into web/generated: the protocol's types and the colour tables.

    openapi.json   all documents and messages of airshed.serve.protocol.types, from which npm generates TypeScript
    colours.json   256 colours of each table as RGB bytes in base64, and the scales and limit values of fields

Both are those of the pictures (airshed.plot.scales); web/LICENCES.md lists the licences of the tables.
"""

import base64
import json
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

import numpy as np

from airshed.plot.scales import COLOUR_TABLES, DOCUMENT, LIMIT_VALUES
from airshed.plot.style import table
from airshed.serve.protocol import schema

HERE = Path(__file__).parent / "generated"
COUNT = 256


def encoded(name: str) -> str:
    """Return the colours of a table, RGB bytes row by row, in base64."""
    rgb = table(name, COUNT)(np.arange(COUNT) / (COUNT - 1))[:, :3]
    return base64.b64encode(np.round(rgb * 255).astype(np.uint8).tobytes()).decode()


def colours() -> dict[str, object]:
    """Return the colour tables, and the scales and limit values of fields."""
    tables = {
        name: {"colours": encoded(name), "text": each.text, "diverging": each.diverging}
        for name, each in COLOUR_TABLES.items()
    }
    limits = {field: [{**asdict(each), "label": each.label} for each in found] for field, found in LIMIT_VALUES.items()}
    return {
        "tables": tables, "fields": DOCUMENT["fields"], "limits": limits, "defaults": DOCUMENT["defaults"],
    }  # fmt: skip


def main() -> None:
    """Write the files."""
    HERE.mkdir(exist_ok=True)
    with (HERE / "openapi.json").open("w", encoding="utf-8") as file, redirect_stdout(file):
        schema.main()
    (HERE / "colours.json").write_text(json.dumps(colours(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

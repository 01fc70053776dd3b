"""Write generated sources of the browser client into web/generated: the protocol's types and the colour tables.

    openapi.json   all documents and messages of airshed.serve.protocol.types, from which npm generates TypeScript
    colours.json   256 colours of each table as RGB bytes in base64, and the table of each field

The tables are those of cmocean (Thyng et al. 2016, MIT licence), with their ends cut as in the pictures of Airshed, and
viridis and cividis (CC0) of Matplotlib; see web/LICENCES.md.
"""

import base64
import json
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap

from airshed.plot.style import OTHER, SIGNED, TABLES, colours
from airshed.serve.protocol import schema

HERE = Path(__file__).parent / "generated"
COUNT = 256


def encoded(table: Colormap) -> str:
    """Return the colours of a table, RGB bytes row by row, in base64."""
    rgb = table(np.arange(COUNT) / (COUNT - 1))[:, :3]
    return base64.b64encode(np.round(rgb * 255).astype(np.uint8).tobytes()).decode()


def tables() -> dict[str, object]:
    """Return the tables by name, and the table of each field."""
    by_name = {name: encoded(colours(field)) for field, (name, *_) in TABLES.items()}
    by_name[OTHER[0]] = encoded(colours("any other field"))
    by_name |= {name: encoded(colormaps[name].resampled(COUNT)) for name in ("viridis", "cividis")}
    fields = {field: name for field, (name, *_) in TABLES.items() if field != SIGNED}
    return {"tables": by_name, "fields": fields, "other": OTHER[0], "signed": TABLES[SIGNED][0]}


def main() -> None:
    """Write the files."""
    HERE.mkdir(exist_ok=True)
    with (HERE / "openapi.json").open("w", encoding="utf-8") as file, redirect_stdout(file):
        schema.main()
    (HERE / "colours.json").write_text(json.dumps(tables(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

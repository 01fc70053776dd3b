"""Draw the packages of ``docs/architecture.md`` from the import contract: ``python -m tests.architecture``.

The order is that of the layers in ``pyproject.toml``, the text is the first sentence of each package's docstring.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"
WIDTH: Final = 120
START, END = "<!-- packages: python -m tests.architecture -->\n", "<!-- end of packages -->\n"


def drawing(root: Path = ROOT) -> str:
    """Return the packages as indented lines of name and text, from the uppermost layer down."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(each["layers"] for each in contracts if each["id"] == "layers")
    names = [name.strip() for layer in layers for name in layer.split("|")]
    folders = [root / "src" / "airshed" / name for name in names if not name.startswith("__")]
    return "\n".join(line for folder in folders for line in _lines(folder, "    "))


def page_with_drawing(text: str, packages: str) -> str:
    """Return the text of the page with its block of packages replaced."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n{packages}\n\n{END}{rest.partition(END)[2]}"


def _lines(folder: Path, indent: str) -> Iterator[str]:
    """Yield the lines of a package and of the packages in it."""
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    summary = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0].replace("\n", " ")
    name = f"{indent}{folder.name}/"
    first, *more = wrap(summary, WIDTH - 26)
    yield f"{name:26}{first}"
    yield from (f"{'':26}{line}" for line in more)
    for child in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _lines(child, indent + "  ")


if __name__ == "__main__":
    PAGE.write_text(page_with_drawing(PAGE.read_text(encoding="utf-8"), drawing()), encoding="utf-8")

"""Links of pages to files outside of ``docs/``: the site gives their paths, because it does not hold these files.

A page whose first line is ``<!-- file: NAME -->`` shows a file of the repository's root.
"""

import re
from os.path import dirname, normpath, relpath
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(((?![a-z]+:|#)[^)\s]+)\)")
ROOT_FILE = re.compile(r"<!-- file: (\S+) -->\n")
FENCE = re.compile(r"(^```.*?^```\n)", re.MULTILINE | re.DOTALL)


def with_inner_links(text: str, folder: str, page: str) -> str:
    """Return Markdown whose links stay within ``docs/``, with paths in place of other links.

    A label that is the name of a page becomes the page's title.

    Parameters
    ----------
    text
        Markdown.
    folder
        Folder of the repository that its links are relative to.
    page
        Path of the page in the repository.
    """

    def path_or_link(link: re.Match[str]) -> str:
        label, target = link.groups()
        name, mark, anchor = target.partition("#")
        path = normpath(f"{folder}/{name}")
        if path.startswith("docs/") and "." in path:
            shown = "" if label.endswith(".md") else label  # the site fills in the title
            return f"[{shown}]({relpath(path, dirname(page))}{mark}{anchor})"
        return f"`{path}`" if label.strip("`") in path else f"{label} (`{path}`)"

    parts = FENCE.split(text)
    return "".join(part if number % 2 else LINK.sub(path_or_link, part) for number, part in enumerate(parts))


def _on_source_read(app: "Sphinx", name: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(name))
    if path.suffix != ".md":
        return
    page = f"docs/{path.relative_to(app.srcdir).as_posix()}"
    text, folder = source[0], dirname(page)
    if file := ROOT_FILE.match(text):
        root = Path(app.srcdir).parent / file[1]
        app.env.note_dependency(str(root))
        text, folder = root.read_text(encoding="utf-8"), "."
    source[0] = with_inner_links(text, folder, page)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Rewrite each page as it is read."""
    app.connect("source-read", _on_source_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

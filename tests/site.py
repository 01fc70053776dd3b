"""Check the documentation site: ``python -m tests.site FOLDER`` lists requests of its pages to other machines.

Links that a reader may follow are allowed: scripts, styles, fonts and pictures must be files of the site.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

REQUESTS: Final = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src", "srcset"), "input": ("src",),
    "link": ("href",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"), "video": ("src", "poster"),
    "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
}  # fmt: skip
"""Attributes by element that a browser requests without a click."""
NO_REQUEST: Final = {"alternate", "author", "canonical", "help", "index", "license", "next", "prev", "search", "up"}
"""Relations of `link` elements that name pages."""
ELSEWHERE: Final = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)
STYLE_REQUEST: Final = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s;]+)", re.IGNORECASE)


class Requests(HTMLParser):
    """Collector of addresses on other machines that a page requests."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of an element."""
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and set(values.get("rel", "").split()) <= NO_REQUEST:
            return
        self.found += [
            values[name] for name in REQUESTS.get(tag, ()) if name in values and ELSEWHERE.match(values[name])
        ]
        self.found += STYLE_REQUEST.findall(values.get("style", ""))


def of_page(text: str) -> list[str]:
    """Return the addresses on other machines that a page requests."""
    parser = Requests()
    parser.feed(text)
    styles = re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL | re.IGNORECASE)
    return [*parser.found, *of_style("\n".join(styles))]


def of_style(text: str) -> list[str]:
    """Return the addresses on other machines that a style sheet requests."""
    return STYLE_REQUEST.findall(text)


def requests(folder: Path) -> Iterator[str]:
    """Yield a line for each request to another machine in a site."""
    for path in sorted(folder.rglob("*")):
        read = {".html": of_page, ".css": of_style}.get(path.suffix)
        if read is not None:
            for address in read(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(folder)} requests {address}"


def main(folder: Path) -> int:
    """Print the requests, and return 1 where there are some or where there is no site."""
    if not (folder / "index.html").is_file():
        print(f"there is no site in {folder}; run: make docs")
        return 1
    found = list(requests(folder))
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

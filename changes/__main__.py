"""Build the changelog from its fragments: ``python -m changes [VERSION]``."""

import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
CHANGELOG: Final = HERE.parent / "CHANGELOG.md"
MARK: Final = "<!-- next version above -->\n"
KINDS: Final = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
NAME: Final = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")


def fragments(folder: Path = HERE) -> list[Path]:
    """Return the fragments; raise ValueError for a file whose name is none of a fragment."""
    files = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    wrong = [path.name for path in files if not NAME.fullmatch(path.name)]
    if wrong:
        raise ValueError(f"changes/{wrong[0]}: name it NAME.KIND.md, with KIND one of {', '.join(KINDS)}")
    return files


def section(files: list[Path]) -> str:
    """Return the entries of fragments as Markdown, by kind."""
    return "\n".join(_lines(files)) + "\n"


def released(changelog: str, files: list[Path], version: str, date: str) -> str:
    """Return the text of the changelog with a section for a new version."""
    if f"## {version} " in changelog:
        raise ValueError(f"CHANGELOG.md already has a section for {version}")
    head, mark, rest = changelog.partition(MARK)
    if not mark:
        raise ValueError(f"CHANGELOG.md lacks the line {MARK.strip()}")
    return f"{head}{mark}\n## {version} ({date})\n\n{section(files)}{rest}"


def _lines(files: list[Path]) -> Iterator[str]:
    """Yield a heading and the entries for each kind that has some."""
    for kind, heading in KINDS.items():
        entries = [path.read_text(encoding="utf-8") for path in files if path.name.endswith(f".{kind}.md")]
        if entries:
            yield from (f"### {heading}", "", *(f"- {' '.join(entry.split())}" for entry in entries), "")


def main(arguments: list[str]) -> int:
    """Print the section of the next version, or move it into the changelog."""
    try:
        files = fragments()
        if not arguments:
            print(section(files), end="")
            return 0
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        text = released(CHANGELOG.read_text(encoding="utf-8"), files, arguments[0], today)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    CHANGELOG.write_text(text, encoding="utf-8")
    for path in files:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

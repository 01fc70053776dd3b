"""Location of the file of a case, and origins of its settings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airshed.case.toml import KeyPath
from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.core.text import nearest


def case_file(path: Path) -> Path:
    """Return the file of a case by its path, that of its folder, or the name of a shipped one; raises CaseError."""
    if path.is_dir():
        if not (path / "case.toml").is_file():
            raise CaseError(f"the folder {path} has no case.toml")
        return path / "case.toml"
    if path.exists():
        return path
    shipped = shipped_cases()
    if str(path) in shipped:
        return shipped[str(path)] / "case.toml"
    match = nearest(str(path), shipped)
    hint = f"did you mean {match}?" if match else f"shipped cases: {', '.join(shipped)}"
    raise CaseError(f"there is no case {str(path)!r}; {hint}")


def shipped_cases() -> dict[str, Path]:
    """Return the folders of the cases that ship, by name."""
    return {file.parent.name: file.parent for file in sorted(resource("cases").glob("*/case.toml"))}


def locator(
    data: Mapping[str, Any], changed: Sequence[KeyPath], file: Path | None, lines: Mapping[KeyPath, int],
    by: str = "--set",
) -> Callable[[KeyPath], str]:  # fmt: skip
    """Return the function that returns the origin of a key: a change, a line of the file, a dictionary, or ''."""

    def locate(path: KeyPath) -> str:
        if any(path[: len(key)] == key for key in changed):
            return by
        if not _contains(data, path):
            return ""
        if file is None:
            return "given"
        known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in lines), ())
        if known:
            return f"{file.name}:{lines[known]}"
        return by if any(key[: len(path)] == path for key in changed) else file.name

    return locate


def _contains(data: Any, path: KeyPath) -> bool:
    """Return whether the path was given, itself or as part of a single value such as spacing = "0.25 deg"."""
    for part in path:
        if isinstance(data, Mapping):
            if part not in data:
                return False
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int):
            if part >= len(data):
                return False
            data = data[part]
    return True

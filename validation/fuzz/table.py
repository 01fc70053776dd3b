"""Table of counts, and faults by their groups."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from validation.fuzz.outcomes import FAULTS, OUTCOMES


def table_text(found: Sequence[dict[str, Any]]) -> str:
    """Return the counts by area and outcome as a Markdown table, without unused outcomes."""
    counts = Counter((reply["area"], reply["outcome"]) for reply in found)
    outcomes = [name for name in OUTCOMES if name in OUTCOMES[:2] or any(key[1] == name for key in counts)]
    areas = list(dict.fromkeys(sorted(reply["area"] for reply in found)))
    rows = [
        [area, *(counts[area, name] for name in outcomes), sum(counts[area, name] for name in FAULTS)] for area in areas
    ]
    total = ["all", *(sum(row[column] for row in rows) for column in range(1, len(outcomes) + 2))]
    lines = [["area", *outcomes, "faults"], *rows, total]
    texts = [" | ".join(map(str, line)) for line in lines]
    ruler = "|".join(["---", *["---:"] * (len(outcomes) + 1)])
    return "\n".join([f"| {texts[0]} |", f"|{ruler}|", *(f"| {text} |" for text in texts[1:])])


def groups_text(found: Sequence[dict[str, Any]]) -> str:
    """Return the faults by outcome and group, the most frequent first, each with its first trial."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for reply in found:
        if reply["outcome"] in FAULTS:
            groups.setdefault((reply["outcome"], reply["area"], reply.get("group", "")), []).append(reply)
    lines = []
    for (outcome, area, group), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        first = members[0]
        lines += [
            f"{len(members):4} x {outcome}, {area}: {group}",
            f"       {first['seed']}:{first['index']} {first['mutation'][:160]}",
        ]
        lines.append(f"       {first['detail'][:200]}")
    return "\n".join(lines)

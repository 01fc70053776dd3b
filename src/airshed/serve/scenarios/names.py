"""Names of scenarios in plain words, made from the changes of a run: "Road transport −80 %, Germany"."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from airshed.runtime.registry import Lever

LONGEST: Final = 80
"""Most characters of a name."""

MINUS: Final = "\N{MINUS SIGN}"


def scenario_name(changes: Mapping[str, Any], levers: Mapping[str, Lever], before: Mapping[str, Any]) -> str:
    """Return the name of a scenario.

    changes  values by the paths of settings
    levers   settings in plain words
    before   values before the changes by path; a factor without a value is 1

    >>> scenario_name({"grazing.stocking_rate": 0.2}, {"grazing.stocking_rate": Lever("Stocking rate")}, {})
    'Stocking rate 0.2'
    """
    groups: dict[str, list[str]] = {}
    for path, value in _leaves(changes, levers):
        words, country = _words(path, value, levers, before)
        if words not in groups.setdefault(country, []):
            groups[country].append(words)
    texts = [f"{_listed(items)}, {country}" if country else _listed(items) for country, items in groups.items()]
    return shortened("; ".join(texts))


def unique_name(name: str, taken: Collection[str]) -> str:
    """Return a name that no other scenario has: with a number if needed."""
    number, unique = 1, shortened(name)
    while unique and unique in taken:
        number += 1
        unique = f"{shortened(name, LONGEST - len(f' ({number})'))} ({number})"
    return unique


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name with a limited number of characters."""
    plain = " ".join(name.split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1].rstrip()}…"


def _leaves(changes: Mapping[str, Any], levers: Mapping[str, Lever]) -> Iterator[tuple[str, Any]]:
    """Yield paths and values; a whole table of a lever as its keys."""
    for path, value in changes.items():
        if path in levers and isinstance(value, Mapping):
            yield from ((f"{path}.{key}", each) for key, each in value.items())
        else:
            yield path, value


def _words(path: str, value: Any, levers: Mapping[str, Lever], before: Mapping[str, Any]) -> tuple[str, str]:
    """Return the words of a change, and the country where it acts; "" for everywhere."""
    table = next((name for name, lever in levers.items() if lever.keys and path.startswith(f"{name}.")), None)
    if table is not None:
        subject, country = _subject(path.removeprefix(f"{table}."), levers[table])
        return f"{subject} {_amount(value, before.get(path, 1.0))}", country
    lever = levers.get(path)
    label = path.replace(".", " ").replace("_", " ") if lever is None else lever.text
    if isinstance(value, bool):
        return f"{label} {'on' if value else 'off'}", ""
    if lever is None:
        return f"{label}: {', '.join(value)}" if isinstance(value, Mapping) else f"{label} = {value}", ""
    return f"{label} {_amount(value, before.get(path))}", ""


def _subject(key: str, lever: Lever) -> tuple[str, str]:
    """Return the subject of a factor and its country: of "DE/F_RoadTransport" Road transport and Germany."""
    found = dict(lever.keys.get(part, ("sector", part)) for part in key.split("/"))
    sector, pollutant = found.get("sector"), found.get("pollutant", found.get("species"))
    if sector and pollutant:
        subject = f"{pollutant} of {sector[0].lower()}{sector[1:]}"
    else:
        subject = sector or pollutant or "All emissions"
    return lever.text.replace("{}", subject), found.get("country", "")


def _amount(value: Any, before: Any) -> str:
    """Return a change in per cent of the value before it, or the value where there is none."""
    numbers = [each for each in (value, before) if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < 2 or before == 0:
        return f"{value}"
    change = round(100.0 * (value / before - 1.0), 1)
    return f"{MINUS if change < 0 else '+'}{abs(change):g} %"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"

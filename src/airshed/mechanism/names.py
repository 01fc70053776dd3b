"""What names of a mechanism may be made of, wherever they come from: checked as they are read, and in the network.

Species are variables of result files, so that their names are those of KPP: letters, digits and underscores. Labels of
reactions and names of what is open are words of the mechanism's author: any text that prints on one line.
"""

import re
from collections.abc import Iterable
from typing import Final

from airshed.core.text import printable
from airshed.mechanism.location import Location, error_at

LONGEST_NAME: Final = 80
LONGEST_LABEL: Final = 200

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def check_name(what: str, name: str, location: Location | None = None) -> None:
    """Raise MechanismError for what cannot name a species or an atom."""
    if not is_name(name):
        message = f"{what} {quoted(name)}: a name is a letter and then letters, digits and _, {LONGEST_NAME} at most"
        raise error_at(location, message)


def is_name(name: str) -> bool:
    """Tell whether a species or an atom may have this name."""
    return len(name) <= LONGEST_NAME and _NAME.fullmatch(name) is not None


def check_label(what: str, label: str, location: Location | None = None) -> None:
    """Raise MechanismError for a label, or a name of what is open, that is no text on one line."""
    if not label.isprintable():
        raise error_at(location, f"{what} {quoted(label)}: there are characters in it that do not print; take them out")
    if len(label) > LONGEST_LABEL:
        raise error_at(location, f"{what} {quoted(label)}: it is longer than {LONGEST_LABEL} characters; shorten it")


def quoted(name: str) -> str:
    """Return a name, cut to what fits into a message, in quotes and without what does not print."""
    return f"'{printable(name if len(name) <= 60 else f'{name[:57]}...')}'"


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """Return for names of any text the names that a species may have, different ones for names that differ.

    A legal name stays. In the others each character but letters and digits becomes an underscore; ``x`` is put before
    one that does not begin with a letter, and ``_2``, ``_3`` ... behind one that another species has already. Names
    that differ by the case of letters only count as one, as everywhere in a mechanism.
    """
    wanted = list(dict.fromkeys(names))
    legal = {name: name for name in wanted if is_name(name)}
    taken = {name.casefold() for name in legal}
    for name in wanted:
        if name in legal:
            continue
        base = re.sub(r"[^A-Za-z0-9]", "_", name)
        base = (base if base[:1].isalpha() else f"x{base}")[: LONGEST_NAME - 6]
        new, number = base, 2
        while new.casefold() in taken:
            new, number = f"{base}_{number}", number + 1
        taken.add(new.casefold())
        legal[name] = new
    return legal

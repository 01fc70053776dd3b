"""Files of mechanisms in languages that are not read here: which one it is, and the way out."""

import re
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.core.text import printable

_HEAD: Final = 200_000  # characters that are looked at
_FLAGS: Final = re.MULTILINE | re.IGNORECASE

_FACSIMILE: Final = re.compile(r"^[ \t]*%[^:;\n]*:[^:;=%]*=[^:;%]*;", _FLAGS)
"""``% k : A + B = C ;``: a reaction of FACSIMILE, its rate before a colon."""

_CMAQ: Final = re.compile(r"^[ \t]*REACTIONS[ \t]*\[[ \t]*CM[ \t]*\]", _FLAGS)
_MOZART: Final = re.compile(r"^[ \t]*SPECIES[ \t]*$[\s\S]{0,2000}?^[ \t]*Solution[ \t]*$|^[ \t]*BEGSIM\b", _FLAGS)
_F0AM: Final = re.compile(r"\bSpeciesToAdd\b|^[ \t]*Rnames\{", _FLAGS)
_CHEMKIN: Final = re.compile(r"^[ \t]*ELEM(ENTS)?\b[\s\S]{0,2000}?\bEND\b[\s\S]{0,200}?^[ \t]*SPEC(IES)?\b", _FLAGS)
_CANTERA: Final = re.compile(
    r"^cantera-version[ \t]*:|^[ \t]*-[ \t]*(?:\{[ \t]*)?equation[ \t]*:|\bthermo[ \t]*:[ \t]*ideal-gas\b", _FLAGS
)
_BARE: Final = re.compile(r"^[ \t]*(\{\d+\.?\}|<[^<>\n]+>)[^=;#%]{1,400}=[^:;%]{0,400}:[^;]{1,400};", re.MULTILINE)

LANGUAGES: Final = (
    (_FACSIMILE, "FACSIMILE in a file of another suffix", "end the name of the file in .fac"),
    (_CMAQ, "CMAQ's mech.def", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_MOZART, "MOZART's and CAM's .in", "take musica:ts1, which is MOZART TS1, or write the reactions in KPP syntax"),
    (_F0AM, "F0AM's .m", "export the mechanism as KPP or FACSIMILE where it comes from; the MCM's site offers both"),
    (_CANTERA, "Cantera's YAML", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_CHEMKIN, "CHEMKIN", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_BARE, "equations without KPP's sections, as PyBox has them",
     "put #DEFVAR with the species, and #EQUATIONS, before them"),
)  # fmt: skip
"""Pattern -> language and way out, the first that fits."""


def refuse_other_language(path: Path) -> None:
    """Raise MechanismError with the name of the language and the way out for a file of one that is not read."""
    try:
        text = path.read_text(encoding="latin-1")[:_HEAD] if path.is_file() else ""
    except OSError:
        return  # the reader says why
    if re.search(r"^[ \t]*#[ \t]*(DEFVAR|EQUATIONS|INCLUDE|MODEL)\b", text, _FLAGS):
        return
    for pattern, language, way in LANGUAGES:
        if pattern.search(text):
            raise MechanismError(f"{printable(str(path))}: this looks like {language}, which is not read; {way}")

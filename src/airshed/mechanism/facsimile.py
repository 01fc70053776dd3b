"""Reads mechanisms in FACSIMILE's language, as the Master Chemical Mechanism (MCM) and AtChem export them (.fac).

    * A comment ends with its line ;
    VARIABLE
     HCHO CH3O2 NO NO2 ;                          species; without it those of the reactions
    KRO2NO = 2.7D-12*EXP(360/TEMP) ;              a value; @ is the power
    RO2 = CH3O2 + C2H5O2 ;                        the sum of the peroxy radicals
    % KRO2NO : CH3O2 + NO = CH3O + NO2 ;          a reaction
    % J<4> : NO2 = NO + O ;                       photolysis

The text becomes that of a file in KPP syntax, which is read as any other; messages name the place in the file itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.kpp.meaning import KNOWN, Definition
from airshed.mechanism.kpp.parser import parse_formula, short
from airshed.mechanism.kpp.reader import read_mechanism
from airshed.mechanism.kpp.source import SourceFile, read_source
from airshed.mechanism.kpp.statements import MisplacedError
from airshed.mechanism.location import Location, error_at
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rates_file import CodePolicy, rates_path, read_rates_file

SUFFIX: Final = ".fac"

SUM: Final = "RO2"
"""Sum of the concentrations of the peroxy radicals."""

PHOTOLYSIS: Final[Mapping[int, tuple[float, float, float]]] = {
    1: (6.073e-5, 1.743, 0.474), 2: (0.0004775, 0.298, 0.08), 3: (1.041e-5, 0.723, 0.279),
    4: (0.01165, 0.244, 0.267), 5: (0.02485, 0.168, 0.108), 6: (0.1747, 0.155, 0.125),
    7: (0.002644, 0.261, 0.288), 8: (9.312e-7, 1.23, 0.307), 11: (4.642e-5, 0.762, 0.353),
    12: (6.853e-5, 0.477, 0.323), 13: (7.344e-6, 1.202, 0.417), 14: (2.879e-5, 1.067, 0.358),
    15: (2.792e-5, 0.805, 0.338), 16: (1.675e-5, 0.805, 0.338), 17: (7.914e-5, 0.764, 0.364),
    18: (1.482e-6, 0.396, 0.298), 19: (1.482e-6, 0.396, 0.298), 20: (0.00076, 0.396, 0.298),
    21: (7.992e-7, 1.578, 0.271), 22: (5.804e-6, 1.092, 0.377), 23: (2.4246e-6, 0.395, 0.296),
    24: (2.424e-6, 0.395, 0.296), 31: (6.845e-5, 0.13, 0.201), 32: (1.032e-5, 0.13, 0.201),
    33: (3.802e-5, 0.644, 0.312), 34: (0.0001537, 0.17, 0.208), 35: (0.0003326, 0.148, 0.215),
    41: (7.649e-6, 0.682, 0.279), 51: (1.588e-6, 1.154, 0.318), 52: (1.907e-6, 1.244, 0.335),
    53: (2.485e-6, 1.196, 0.328), 54: (4.095e-6, 1.111, 0.316), 55: (1.135e-5, 0.974, 0.309),
    56: (4.365e-5, 1.089, 0.323), 61: (0.0007537, 0.499, 0.266),
}  # fmt: skip
"""Photolysis rates of MCM v3.3.1 in clear sky: number -> l [1/s], m, n of l cos(z)^m exp(-n sec(z)), zenith angle z.

source  the form: Saunders, Jenkin, Derwent & Pilling 2003, Atmos. Chem. Phys. 3, 161-180, section 2.3; the numbers:
        http://mcm.york.ac.uk, v3.3.1
"""

_BETWEEN = re.compile(r"[\s;]*")
_VARIABLE = re.compile(r"VARIABLE\b", re.IGNORECASE)
_VALUE = re.compile(r"([A-Za-z]\w*)\s*=")
_SPECIES = re.compile(r"[A-Za-z]\w*")
_ELEMENT = re.compile(r"<\s*(\d+)\s*>")


@dataclass(frozen=True)
class FacsimileSource(SourceFile):
    """File whose `raw` is its text in KPP syntax.

    original  the original file
    pieces    offsets in `raw` and in `original` of copied text, ascending
    """

    original: SourceFile | None = None
    pieces: tuple[tuple[int, int], ...] = ((0, 0),)

    def location(self, offset: int) -> Location:
        """Return the line and column in the original file."""
        assert self.original is not None
        start, there = self.pieces[bisect_right(self.pieces, offset, key=lambda piece: piece[0]) - 1]
        return self.original.location(there + offset - start)


def read_facsimile(path: Path, code: CodePolicy = CodePolicy.REFUSED) -> ReactionNetwork:
    """Return the mechanism of a file in FACSIMILE's language, named after the file.

    Values in `<mechanism>.rates.toml` next to it take precedence over the file's values, and these over `PHOTOLYSIS`.

    Raises MechanismError with file, line and column.
    """
    text = _Text(read_source(path, str(path)))
    side = read_rates_file(rates_path(path), code=code)
    return read_mechanism(text.translated(), path.stem, replace(side, own={**_photolysis(), **text.values}))


@dataclass
class _Text:
    """Statements of a file: each a list of (offset, text), in order."""

    source: SourceFile
    species: list[tuple[int, str]] = field(default_factory=list)
    values: dict[str, Definition] = field(default_factory=dict)
    reactions: list[tuple[int, str, int, str]] = field(default_factory=list)
    radicals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            for offset, statement in _statements(self.source.raw):
                self._take(offset, statement)
        except MisplacedError as error:
            raise self._error(0, error) from None

    def _take(self, offset: int, statement: str) -> None:
        """Classify a statement by its beginning; raise MisplacedError for any other."""
        value = _VALUE.match(statement)
        if statement.startswith("%"):
            rate, colon, equation = statement[1:].partition(":")
            if not colon:
                raise MisplacedError(offset, "expected % rate : A + B = C ; and there is no ':'")
            self.reactions.append((offset + 1, rate, offset + 2 + len(rate), equation))
        elif _VARIABLE.match(statement):
            self.species += [(offset + each.start(), each[0]) for each in _SPECIES.finditer(statement, len("VARIABLE"))]
        elif value and value[1].upper() == SUM:
            self._add_up(offset, statement[value.end() :])
        elif value:
            self._define(value[1], offset + value.end(), statement[value.end() :])
        else:
            raise MisplacedError(
                offset,
                "expected a reaction (% rate : A + B = C ;), a value (NAME = formula ;), VARIABLE with species, or a"
                f" comment (* ... ;), not {short(' '.join(statement.split()))!r}",
            )

    def _add_up(self, offset: int, text: str) -> None:
        """Store the radicals of the sum; raise MisplacedError for anything except A + B + C, and for a second sum."""
        if self.radicals or SUM.casefold() in self.values:
            raise MisplacedError(offset, f"{SUM} occurs twice")
        if not text.strip():
            self._define(SUM, offset, "0")
            return
        parts = [part.strip() for part in text.split("+")]
        wrong = next((part for part in parts if not _SPECIES.fullmatch(part)), None)
        if wrong is not None:
            raise MisplacedError(offset, f"{SUM} is read as a sum of species, A + B + C, without {short(wrong)!r}")
        self.radicals = parts

    def _define(self, name: str, offset: int, text: str) -> None:
        if name.upper() in KNOWN:
            raise MisplacedError(offset, f"{name} is given by the air of the run: leave this line out")
        try:
            formula = parse_formula(_in_kpp(text))
        except MisplacedError as error:
            raise MisplacedError(offset + error.offset, f"{name}: {error.message}") from None
        self.values[name.casefold()] = Definition(name, (), formula, partial(self._error, offset))

    def _error(self, offset: int, error: MisplacedError) -> MechanismError:
        return error_at(self.source.location(offset + error.offset), error.message)

    def translated(self) -> FacsimileSource:
        """Return the file in KPP syntax: species, reactions, and the sum of the radicals as inlined code."""
        parts, pieces, length = ["#DEFVAR\n"], [(0, 0)], len("#DEFVAR\n")

        def add(text: str, offset: int | None = None) -> None:
            nonlocal length
            if offset is not None:
                pieces.append((length, offset))
            parts.append(text)
            length += len(text)

        for offset, name in self.species or self._species_of_reactions():
            add(f"{name} = IGNORE;\n", offset)
        add("#EQUATIONS\n")
        for at_rate, rate, at_equation, equation in self.reactions:
            add(equation, at_equation)
            add(":")
            add(_in_kpp(rate), at_rate)
            add(";\n")
        if self.radicals:
            terms = " + ".join(f"C(ind_{each})" for each in self.radicals)
            add(f"#INLINE F90_RCONST\n {SUM} = {terms}\n#ENDINLINE\n")
        return FacsimileSource(self.source.path, self.source.name, "".join(parts), self.source, tuple(pieces))

    def _species_of_reactions(self) -> Iterable[tuple[int, str]]:
        found: dict[str, int] = {}
        for _, _, offset, equation in self.reactions:
            for each in _SPECIES.finditer(equation):
                found.setdefault(each[0], offset + each.start())
        return [(offset, name) for name, offset in found.items() if name.lower() != "hv"]


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each statement that is not a comment, with its offset; raise MisplacedError for one without an end."""
    at = 0
    while (at := _skip(text, at)) < len(text):
        end = text.find(";", at)
        if text[at] == "*":
            line_end = text.find("\n", at)
            if line_end < 0:
                return
            at = line_end
        elif end < 0:
            raise MisplacedError(at, "this statement has no ';' at its end")
        else:
            yield at, text[at:end]
            at = end + 1


def _skip(text: str, at: int) -> int:
    """Return the offset of the next character that is neither a blank nor a semicolon."""
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _in_kpp(formula: str) -> str:
    """Return a formula in KPP syntax, of the same length: J(4) for J<4>, a^b for a@b."""
    return _ELEMENT.sub(lambda each: f"({each[0][1:-1]})", formula).replace("@", "^")


def _photolysis() -> dict[str, Definition]:
    """Return the photolysis rates of the MCM by their names, J(4)."""
    return {
        f"j({number})": Definition(f"J({number})", (), parse_formula(f"PHOTO({rate}, {slant})*SUN^{power}"), _never)
        for number, (rate, power, slant) in PHOTOLYSIS.items()
    }


def _never(error: MisplacedError) -> MechanismError:
    """Return an error without a location, for text that no user wrote."""
    return MechanismError(error.message)

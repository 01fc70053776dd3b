"""What a reaction file states, before names are resolved: each statement with its place in the file.

An `offset` counts characters from the start of a file; its line is known to `airshed.mechanism.kpp.source.SourceFile`.
"""

from dataclasses import dataclass

from airshed.mechanism.expressions import Expression


class MisplacedError(Exception):
    """Something wrong at an offset; the reader turns it into a MechanismError with file, line and column."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


@dataclass(frozen=True, slots=True)
class Amount:
    """A coefficient and the name that it stands before: ``2 O`` in a composition, ``0.5 NO2`` in an equation."""

    offset: int
    name: str
    coefficient: float


@dataclass(frozen=True, slots=True)
class AtomStatement:
    """``N;``."""

    offset: int
    name: str


@dataclass(frozen=True, slots=True)
class SpeciesStatement:
    """``NO2 = N + 2O;``; the composition is empty for IGNORE."""

    offset: int
    name: str
    composition: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class EquationStatement:
    """``<label> reactants = products : rate;`` from `offset` to `end`; no label is None."""

    offset: int
    end: int
    label: str | None
    reactants: tuple[Amount, ...]
    products: tuple[Amount, ...]
    rate: Expression


@dataclass(frozen=True, slots=True)
class ValueStatement:
    """``NO2 = 1.0e9;`` under #INITVALUES."""

    offset: int
    name: str
    value: float


Statement = AtomStatement | SpeciesStatement | EquationStatement | ValueStatement

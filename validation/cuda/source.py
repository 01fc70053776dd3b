"""Source text of the kernels: formulas of a mechanism, as in the CPU's code, and the structure of arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from airshed.formula import cpp
from airshed.formula.dialect import PACKS
from airshed.formula.factoring import factored
from airshed.formula.tree import Symbol, operations, symbols
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP
from airshed.kernels.rates import REFERENCE_DENSITY, Factor, rate_code, rate_table
from airshed.kernels.schedule import schedule
from airshed.mechanism.network import ReactionNetwork

FOLDER: Final = Path(__file__).parent

ARRAYS: Final = (
    "q", "other", "tendency", "rhs", "air", "air_other", "air_tendency", "air_next", "flux_x", "flux_y", "flux_z",
    "weights", "outside", "top", "vertical", "temperature", "water", "secant", "light", "density_factor", "exchange",
    "density", "above", "below", "rate", "photolysis",
)  # fmt: skip
"""Arrays of `real` that kernels read or write, all in one structure."""

DOUBLES: Final = ("c0", "c1", "t0", "t1", "g", "s0", "s1", "oxygen", "nitrogen")
WHOLE: Final = ("nx", "ny", "sweeps", "across", "outer", "inner")

SHIM_END: Final = "static void shim_enter() { shim_kernel(*shim_step); shim_done[shim_thread] = 1; }"

_OPERANDS: Final = {"n": "N", "k": "K({})", "j": "J({})", "y": "Y({})"}


@dataclass(frozen=True)
class Mechanism:
    """A mechanism as generated text, with the cost of its formulas.

    loads       operands of the formulas of a sweep in a cell, each species' own ones once
    operations  additions and multiplications of these formulas
    """

    network: ReactionNetwork
    rates: int
    photolyses: int
    loads: int
    operations: int
    text: str


def mechanism(network: ReactionNetwork, largest: int = LARGEST_GROUP) -> Mechanism:
    """Return the generated part: sizes, rate functions, and the sweep over groups of species as in the CPU's code."""
    table, ordered = rate_table(network), schedule(network, LARGEST_GROUP).groups
    groups = [group[first : first + largest] for group in ordered for first in range(0, len(group), largest)]
    statements, results = rate_code(table.functions)
    loads = count = 0
    sweep, stores, members = [], [], []
    for number, group in enumerate(groups):
        rows = []
        for place, species in enumerate(group):
            sums = [
                factored(table.products(terms[species]), _operand)
                for terms in (network.production_terms, network.loss_terms)
            ]
            loads += len(set().union(*map(symbols, sums)))
            count += sum(map(operations, sums))
            production, loss = (cpp.inline(each, str, replace(PACKS, type="real")) for each in sums)
            rows.append(f"ROW({place}, {species}, {production}, {loss})  /* {network.names[species]} */")
        sweep += [f"GROUP({number})", *rows, "END"]
        stores += [f"case {number}: {' '.join(f'STORE({place}, {each})' for place, each in enumerate(group))} break;"]
        members += [*group, *[group[0]] * (largest - len(group))]
    rates = [*statements, *(f"k[{n} * STRIDE] = real({each});" for n, each in enumerate(results))]
    light = [f"j[{n} * COLUMN_STRIDE] = real(light * exp(-{b!r} * secant));" for n, b in enumerate(table.photolyses)]
    sizes = {
        "NS": len(network.species),
        "RATES": len(results),
        "PHOTOLYSES": len(light),
        "LARGEST": largest,
        "GROUPS": len(groups),
    }
    table_of_members = ", ".join(map(str, [*members, *members[:largest]]))
    text = "\n".join([
        *(f"constexpr int {name} = {size};" for name, size in sizes.items()),
        f"constexpr double REFERENCE_DENSITY = {REFERENCE_DENSITY!r};",
        macro("RATE_FUNCTIONS", rates), macro("PHOTOLYSIS_FUNCTIONS", light),
        macro("SWEEP", sweep), macro("STORES", stores), f"TABLE members[] = {{{table_of_members}}};",
    ])  # fmt: skip
    return Mechanism(network, len(results), len(light), loads, count, text)


def _operand(factor: Factor) -> Symbol:
    kind, number = factor
    return Symbol(_OPERANDS[kind].format(number))


def macro(name: str, lines: list[str]) -> str:
    """Return lines as a macro."""
    return f"#define {name} \\\n" + " \\\n".join(f"    {line}" for line in lines) + "\n"


def structure() -> str:
    """Return the structure of arguments."""
    members = [
        *(f"    real* {name};" for name in ARRAYS), *(f"    double {name};" for name in DOUBLES),
        *(f"    long long {name};" for name in WHOLE),
    ]  # fmt: skip
    return "\n".join(["struct Step {", *members, "};"])


def source(parts: Mechanism, options: Mapping[str, object], *, shim: bool) -> str:
    """Return a translation unit; options are macros of ``kernels.hpp``, and `real`."""
    return "\n".join([
        *(f"#define {name} {value}" for name, value in options.items() if name != "real"),
        f"typedef {options['real']} real;",
        (FOLDER / ("shim.hpp" if shim else "device.hpp")).read_text(), structure(), parts.text,
        (FOLDER / "kernels.hpp").read_text(), SHIM_END if shim else "",
    ])  # fmt: skip

"""The interface between Python and compiled code: each shared structure, with its units and index orders.

The tables below are the only declarations. Generated code contains them (:func:`declarations`), with the sizes that
Python expects as static assertions; :func:`structure` returns their mirrors for ctypes. Signatures of functions follow
from the text of their definitions (:func:`signatures`). The types of numbers in memory:

    real      "double" or "float": the precision of the state
    scalar    a lane of `value`: a real; in the tangent [value, change] of one
    dscalar   the same in double

Arrays are in C order; the W columns of a block, or the W cells of a pack, are contiguous. A member without a unit is a
number, an address or a count.
"""

import ctypes
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

MOST_STAGES: Final = 6
"""Stages of a Rosenbrock method."""

TERMS: Final = ("inflow", "outflow", "chemistry", "clipped")
"""Budget terms of every step: [mol/s], clipped in [mol]; operators add further terms."""

PARTS: Final = ("transport", "rates and sources", "chemistry and mixing")
"""Parts of a step whose wall time is measured."""


def _names(texts: Sequence[str]) -> str:
    return ", ".join(text.upper().replace(" ", "_") for text in texts)


STEP: Final = (
    f"""
enum Part {{ {_names(PARTS)}, PARTS }};
enum Term {{ {_names(TERMS)}, OWN }};    // sums of budgets; the terms of operators start at OWN
"""
    + """
struct Ends {              // a field at the two ends of a forcing interval; its value is start + weight (end - start)
    const real* start;
    const real* end;
};

struct ValueEnds {         // the same for a field that may have a tangent
    const scalar* start;
    const scalar* end;
};

// Mixing ratios of a neighbouring rank beyond one side: block (row, block) is at data + row row_stride + block
// block_stride. To the south and north there are two rows; the farther one is at offset `second`. At the edge of the
// area these values are not used: the boundary concentration is.
struct Ghost {
    const scalar* data;
    int64_t row_stride, block_stride, second;
    int64_t edge;          // whether this side is the edge of the area
};

// Boundary concentrations along one side at the two ends of an interval [mol/mol]: west and east [row][species][level],
// south and north [block][species][level][W]; with two cells [row][2][species] ... and [block][2][species] ..., the
// nearer cell first.
struct Boundary {
    const scalar* start;
    const scalar* end;
    int64_t stride;        // between rows or blocks, 0 where all faces have the same profile
    int64_t two_cells;     // whether two cells beyond each face have concentrations, for either direction of the flow
};

// The arguments of a step. A block is W neighbouring columns (along longitude). State: [lat][block][species][level][W],
// so that the step of one block reads memory in sequence, once. Fields without species: [lat][block][level][W]. Lanes
// beyond the last longitude are padding: columns without flux, source or weight in any sum.
struct Step {
    int64_t rows, blocks;
    int64_t last_lanes;                    // columns in use in the last block of a row, 1..W
    const scalar* q;                       // [mol/mol] mixing ratios of level n
    scalar* q_other;                       // [mol/mol] in: level n-1, out: level n+1
    scalar* tendency;                      // [mol/s] of transport; in: level n-1, out: level n
    const real* air;                       // [mol] content of each cell, advanced by the same formula
    real* air_other;                       // [mol] in: level n-1, out: level n+1
    real* air_tendency;                    // [mol/s] in: level n-1, out: level n
    Ends flux_x;                           // [mol/s] air through west faces at level n, [lat][block + 1][level][W]
    Ends flux_y;                           // [mol/s] through south faces, [lat + 1][block][level][W]
    Ends flux_z;                           // [mol/s] through upper faces
    double flux_weight, flux_z_weight;     // of the ends, 0..1
    double boundary_weight;
    Ghost west, east, south, north;
    Boundary boundary_west, boundary_east, boundary_south, boundary_north;
    const scalar* top;                     // [mol/mol] above the model, [species]
    const real* vertical_weights;          // [level][4]: parabola weights for upward (2) and downward (2) flow
    // the column at level n+1
    Ends temperature;                      // [K]
    Ends water;                            // [mol/mol] water vapour
    Ends parameters;                       // open parameters of the mechanism, [lat][block][parameter][level][W]
    double column_weight;
    const double* density_factor;          // [1/mol] relative air density by air in a cell, [lat][1 or block][level][W]
    int64_t density_row, density_block;    // strides of rows and blocks, 0 where all cells of a row have one volume
    const double* thickness;               // [m] [level]
    const real* photolysis_sun;            // [lat][block][2][W]: secant of the zenith angle, light factor (0 at night)
    const scalar* emission;                // [mol/s] [lat][block][emitted][emission_levels][W]
    const int32_t* emitted;                // species
    int64_t emitted_count, emission_levels;
    double oxygen, nitrogen;               // [mol/mol] in air
    // two-step formula: A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g [column terms at n+1]
    double c0, c1, t0, t1, g;              // t0, t1, g [s]
    double s0, s1;                         // start of the iteration: s0 q(n) + s1 q(n-1), not below zero
    int64_t sweeps;
    int64_t number;                        // of the step: a thread compares it with the step of its stored fluxes
    // Sums for the budgets of each block [mol/s], [lat][block][SUMS]: terms of `Term` by species, [TERMS][species];
    // atoms produced by unbalanced reactions, [family]. Without a vertical part: inflow, outflow and clipping,
    // [3][species][level].
    double* sums;
    // Working memory of a device: right-hand sides, [lat][block][species][level][W], and summands of the sums; see
    // backends/cuda/workspace.hpp. Null on the CPU.
    real* workspace;
    // fields (ValueEnds) and numbers (dscalar*) of operators follow
};

struct Piece {             // rectangle of a step: first <= row < last, and blocks
    int64_t first_row, last_row, first_block, last_block;
};

struct WorkQueue {         // of a rank
    alignas(64) int64_t taken;             // newest started step x 65536 + number of its pieces taken by threads
    alignas(64) int64_t finished;          // number of computed pieces of all steps; steps count from 1
    alignas(64) int64_t prepared;          // newest step that can begin
    int64_t edges;                         // newest step for which the halo has arrived
    int64_t given_up;                      // whether all threads stop
    alignas(64) int64_t pieces;            // of a step
    int64_t inner;                         // pieces that need no halo: they come first
    int64_t capacity;                          // size of the ring buffer of steps
    const Step* steps;                     // step n at n % capacity
    const Piece* piece;
};

struct Spent {             // cumulative wall time [s] of one thread
    double seconds[PARTS];                 // in each part
    double waited;
};
"""
)
"""A step and the work queue of its pieces."""

STEP_ADJOINT: Final = """
// Air fluxes and exchange through the faces one beyond the columns of this tile: a step whose fields contain only these
// faces, [block] or [row][level][W]; null at the edge of the area.
struct Beyond {
    const Step* west;
    const Step* east;
    const Step* south;
    const Step* north;
};

// Adjoints of boundary concentrations, in their memory layout: [row][species][level], [block][species][level][W].
struct BoundaryAdjoints {
    double* west;
    double* east;
    double* south;
    double* north;
};

// A step in reverse. Adjoints of mixing ratios have the layout of the mixing ratios.
struct Reverse {
    const Step* next;                      // transport of step n+1: q is q(n+1)
    const Step* adjoint;                   // B(n+1), in the place of q
    const Step* now;                       // step n: q(n), q(n-1), T(n-1), A(n), A(n-1), and its columns
    const Step* before;                    // transport of step n-1: q is q(n-1)
    Beyond beyond;                         // the air fluxes of step n+1 beyond this tile
    int64_t has_next, has_columns, has_before;
    const real* newest;                    // [mol/mol] q(n+1)
    const real* air;                       // [mol] A(n+1)
    const real* tendency;                  // [mol/s] T(n)
    real* tendency_before;                 // [mol/s] out: T(n-1)
    const uint16_t* branches;              // of limiters of T(n+1), [lat][block][species][level][face]; may be null
    uint16_t* branches_before;             // out: of T(n-1)
    real* x;                               // adjoint of q(n)
    real* z;                               // of q(n-1)
    real* u;                               // of T(n-1)
    real* b;                               // out: of T(n)
    // Adjoints of the inputs of steps; each step adds its contribution.
    real* sources[2];                      // [s/mol] of two periods, [lat][block][species][source_levels][W]
    double shares[2];                      // weight of each period in the emission of the step
    int64_t source_levels;
    BoundaryAdjoints boundary;
    double* top;                           // of mixing ratios above, [lat][block][species]
    double* reactions;                     // of a factor on each reaction's rate, [lat][block][reaction]
    int64_t own_rates, reactions_asked;    // whether adjoints of rates of operators, and of reactions, are requested
    // adjoints of fields (real*[2]: at both ends) and numbers (double*) of operators follow
};
"""
"""A step in reverse; it uses :data:`STEP`."""

CELLS: Final = """
struct Method {            // coefficients of a Rosenbrock method, of stage i in row i; see kernels/cells/tableau.py
    int64_t stages, order;
    double gamma;
    double a[MOST_STAGES][MOST_STAGES], c[MOST_STAGES][MOST_STAGES];
    double m[MOST_STAGES], e[MOST_STAGES], alpha[MOST_STAGES], gamma_sum[MOST_STAGES];
    int64_t evaluates[MOST_STAGES];        // whether a stage evaluates f, or reuses f of the previous stage
};

struct Record {            // accepted steps of cells; the steps of a cell are contiguous
    const int64_t* first;                  // index of the first step of a cell, [pack][W]
    const int64_t* count;                  // number of its steps, [pack][W]
    double* time;                          // [s] start of a step
    double* step;                          // [s] its length
    real* y;                               // state at its start, [step][NS], in the order of elimination
    uint8_t* clipped;                      // whether the result was below zero, [step][NS]
};

struct Cells {             // the cells of a call, and the settings of their integration
    int64_t levels, blocks;                // pack p: level p % levels of block p / levels
    int64_t last_lanes;                    // lanes in use in every blocks-th block
    // Concentrations: species s of pack p at (p / levels) block_stride + (p % levels) level_stride + s species_stride.
    const real* y;
    real* result;
    real* clipped;                         // amounts added to negative concentrations; may be null
    real* extra;                           // out: species from number `stored` on, zero at the start, [pack][extra][W]
    int64_t stored, block_stride, level_stride, species_stride;
    // Whether concentrations are mixing ratios: they are multiplied by the mean air density of the interval before the
    // integration and divided by it afterwards, so that inert species are unchanged where the density changes.
    int64_t mixing_ratios;
    const double* inputs;                  // Chebyshev coefficients over [start, end], [pack][degree + 1][input][W]
    int64_t input_count, degree;
    int64_t emitted_count, lost_count;     // inputs after the parameters: emissions, then loss rates
    const int32_t* emitted;                // indices of their species in the order of elimination
    const int32_t* lost;
    double start, end;                     // [s]
    const double* absolute;                // [molecules cm-3] tolerances in the order of elimination
    double relative;
    double longest;                        // [s] step
    int64_t most_steps;                    // of a cell, including rejected steps
    double* step;                          // [s] [pack][W]; in: first step to try, 0 if unknown; out: next step
    double* reached;                       // [s] [pack][W] out: time of the result
    int32_t* accepted;                     // out: steps, [pack][W]
    int32_t* rejected;
    const Record* record;                  // out: accepted steps; may be null
};
"""
"""Chemistry of independent cells."""

CELLS_DEVICE: Final = """
struct CellCall {          // a call on a device
    Cells cells;
    Method method;
    int64_t packs, warps;                  // of cells; that have working memory
    uint8_t* memory;                       // working memory of each warp
    int64_t bytes_of_warp;
    uint64_t* taken;                       // number of cells that threads have started
};
"""
"""Chemistry of independent cells on a device; it uses :data:`CELLS`."""

CELLS_ADJOINT: Final = """
// Steps of cells in reverse. Further inputs follow those of the solver: derivatives of emissions, then of loss rates,
// with respect to a scale factor.
struct Backward {
    const Record* record;
    double* adjoint;                       // of concentrations, [pack][NS][W]; in: at the end, out: at the start
    double* rates;                         // out: adjoint of a factor on the rate of each reaction, [pack][NR][W]
    double* sources;                       // out: adjoint of a factor on each emission and loss rate, [pack][source][W]
};
"""

CELLS_TANGENT: Final = """
struct Along {             // recorded steps of cells, replayed or linearised
    const Record* record;
    double* y;                             // concentrations or their tangent, [pack][NS][W]; in: start, out: end
    const double* factors;                 // on rates of reactions, or the tangents of these factors, [NR]
};
"""

FORMULAS: Final = """
struct Chunks {            // layout of cells: contiguous, or chunks of whole packs at a stride
    int64_t length, stride;                // length 0: no chunks
};

struct Input {
    const real* from;
    int64_t per_cell, per_row;             // per_cell: 1, or 0 for a number that is the same in all cells
    const int64_t* rows;                   // row of each step; null if all steps use the first row
    Chunks chunks;
};

struct Result {
    real* to;
    Chunks chunks;
};

struct Record {            // a result after steps, [row][cell]
    void* to;
    int64_t result, is_double;
    const int64_t* rows;                   // row of each step, -1 for none; null: step n in row n
};
"""
"""Formulas of cells; Python passes arrays of these structures as int64 tables, [structure][member]."""

SUMS: Final = """
enum Task { CLEAR, GREATEST, GREATEST_SINGLE, PARTS };

struct Summands {          // of exact sums on a device
    const void* values;                    // [several][count][columns] in double; in single for GREATEST_SINGLE
    const double* scale;                   // [several][columns] powers of two, for PARTS
    uint64_t* result;                      // [several][2][columns]
    int64_t several, count, columns;
    int64_t task;
};
"""
"""Exact sums on a device, see ``backends/cuda/sums.hpp``."""

_SIZES: Final = {"MOST_STAGES": MOST_STAGES, "PARTS": len(PARTS)}
_NUMBERS: Final[Mapping[str, type]] = {"int64_t": ctypes.c_int64, "double": ctypes.c_double}
_STRUCTURE: Final = re.compile(r"^struct (\w+) \{[^\n]*\n(.*?)^\};", re.MULTILINE | re.DOTALL)
_MEMBERS: Final = re.compile(r"^\s*(alignas\(64\) )?(?:const )?(\w+)(\*?) (\w[^;]*);", re.MULTILINE)
_FUNCTION: Final = re.compile(r" (airshed_\w+)\(([^)]*)\) \{")
_LINE: Final = 64  # bytes of a cache line

Signatures = Mapping[str, tuple[type | None, Sequence[type]]]
"""C function -> its result (None for void) and its arguments."""


@cache
def structure(table: str, name: str, more: tuple[str, ...] = ()) -> type[Any]:
    """Return the ctypes mirror of a structure of a table; more: declarations of further members."""
    members = next(text for found, text in _STRUCTURE.findall(table) if found == name)
    fields: list[tuple[str, type]] = []
    for aligned, kind, pointer, names in _MEMBERS.findall("\n".join([members, *more])):
        for each in names.split(", "):
            if aligned:
                fields += _padding(fields)
            element: Any = ctypes.c_void_p if pointer else _NUMBERS.get(kind) or structure(table, kind)
            for length in reversed(re.findall(r"\[(\w+)\]", each)):
                element = element * int(_SIZES.get(length, length))
            fields.append((each.partition("[")[0], element))
    fields += _padding(fields) if "alignas" in members else []
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _padding(fields: Sequence[tuple[str, type]]) -> list[tuple[str, type]]:
    """Return a member that pads the structure to a cache line."""
    rest = -sum(ctypes.sizeof(kind) for _, kind in fields) % _LINE
    return [(f"_padding_{len(fields)}", ctypes.c_char * rest)] if rest else []


def declarations(table: str, **more: Sequence[str]) -> str:
    """Return a table as C++, with further members by the names of their structures, and assertions of all sizes."""
    text, checks = table, []
    for name, members in _STRUCTURE.findall(table):
        own = tuple(more.get(name, ()))
        text = text.replace(f"{members}}};", members + "".join(f"    {each}\n" for each in own) + "};")
        checks.append(f"sizeof({name}) == {ctypes.sizeof(structure(table, name, own))}")
    if "MOST_STAGES" in table:
        text = f"\nconstexpr int MOST_STAGES = {MOST_STAGES};\n{text}"
    return f'{text}\nstatic_assert({" && ".join(checks)}, "kernels/abi.py and the compiler agree");\n'


def signatures(text: str) -> Signatures:
    """Return the signatures of the C functions that a text defines."""
    found: dict[str, tuple[type | None, Sequence[type]]] = {}
    for match in _FUNCTION.finditer(text):
        result = re.split(r"\s", text[max(match.start() - 10, 0) : match.start()])[-1]
        each = [argument.strip() for argument in match[2].split(",") if argument.strip()]
        types = [ctypes.c_void_p if "*" in argument else _NUMBERS[argument.split()[0]] for argument in each]
        found[match[1]] = _NUMBERS.get(result), types
    return found

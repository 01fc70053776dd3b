// layout.hpp: what the step reads and writes, and where it lies in memory. Python fills `Step` (kernels/cpu/step_structure.py mirrors it).
//
// A block is W neighbouring columns (along longitude). State: [lat][block][species][level][W], so that the step of one
// block walks through memory once. Fields without species: [lat][block][level][W]. Lanes beyond the last longitude are
// padding: columns of their own, with no flux, no source and no weight in any sum.

template <class Number> struct EndsOf {    // a field at the two ends of a forcing interval; its value is start + weight (end - start)
    const Number* start;
    const Number* end;
};
typedef EndsOf<real> Ends;
typedef EndsOf<scalar> ValueEnds;

// Mixing ratios that a neighbouring rank holds beyond one side: block (row, block) at data + row row_stride + block
// block_stride; to the south and north two rows, the second of them (counted away from here) `second` further. At the edge of
// the area no value there counts: the boundary concentration does.
struct Ghost {
    const scalar* data;
    int64_t row_stride, block_stride, second;
    int64_t edge;          // whether the area ends here
};

// Boundary concentrations along one side at the two ends of an interval: west and east [row][species][level], south and north
// [block][species][level][W]; `stride` between rows or blocks, 0 where all faces have the same.
struct Boundary {
    const scalar* start;
    const scalar* end;
    int64_t stride;
};

struct Step {
    int64_t rows, blocks, last_lanes;      // last_lanes: columns in use in the last block of a row, 1..W
    // state [mol/mol] and transport tendencies [mol/s]
    const scalar* q;                       // level n
    scalar* q_other;                       // in: level n-1, out: level n+1
    scalar* tendency;                      // in: level n-1, out: level n
    // air: content of each cell [mol] and its tendency [mol/s], advanced by the same formula
    const real* air;
    real* air_other;
    real* air_tendency;
    // air fluxes through west, south and upper faces at level n [mol/s]
    Ends flux_x, flux_y, flux_z;
    double flux_weight, flux_z_weight, boundary_weight;
    Ghost west, east, south, north;
    Boundary boundary_west, boundary_east, boundary_south, boundary_north;
    const scalar* top;                     // [species]: mixing ratio above the model
    const real* vertical_weights;          // [level][4]: parabola weights for upward (2) and downward (2) flow
    // the column at level n+1
    Ends temperature;                      // [K]
    Ends water;                            // water vapour [mol/mol]
    Ends parameters;                       // what the mechanism leaves open, [lat][block][parameter][level][W]
    double column_weight;
    const double* density_factor;          // [lat][level]: relative air density per mole of air in the cell [1/mol]
    const double* thickness;               // [level] [m]
    const real* photolysis_sun;            // [lat][block][2][W]: secant of the zenith angle, light factor (0 at night)
    const scalar* emission;                // [mol/s], [lat][block][emitted][emission_levels][W]
    const int32_t* emitted;
    int64_t emitted_count, emission_levels;
    double oxygen, nitrogen;               // mole fractions of O2 and N2 in air
    // two-step formula: A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g [column terms at n+1]
    double c0, c1, t0, t1, g;
    double s0, s1;                         // start of the iteration: s0 q(n) + s1 q(n-1), not below zero
    int64_t sweeps;
    int64_t number;                        // of the step, so that a thread knows what it carries
    // sums for the budgets of each block, [lat][block][SUMS] [mol/s]: those of `Term` for each species, [TERMS][species], and
    // the atoms that unbalanced reactions make, [family]; of levels that move each by itself inflow, outflow and
    // clipping alone, [3][species][level]
    double* sums;
    OPERATOR_MEMBERS                       // fields and numbers of operators, see kernels/step/operator_fields.py
};

enum Part { TRANSPORT, RATES_AND_SOURCES, SOLVE, PARTS };
enum Term { INFLOW, OUTFLOW, CHEMISTRY, CLIPPED, OWN };   // and those of operators, from OWN on
constexpr int TERMS = OWN + OWN_TERMS;
constexpr int64_t SUMS = (VERTICAL ? TERMS * NS : 3 * NS * NZ) + FAMILIES;

INLINE pack between(const real* start, const real* end, pack weight, int64_t at) {
    const pack a = *(const pack*)(start + at), b = *(const pack*)(end + at);
    return fused(weight, b - a, a);
}

// reverse/layout.hpp: what a step in reverse reads and writes. Python fills `Reverse` (reverse/reverser.py mirrors it).

// Air fluxes and exchange through the faces one beyond those of the columns held here, as a step whose fields hold these alone,
// [block] or [row][level][W]; null where the area ends.
struct Beyond {
    const Step *west, *east, *south, *north;
};

struct Transposed {        // a step whose transport is transposed: its mixing ratios, and the adjoints of its tendencies
    const Step& s;
    const Step& b;
    const Beyond& beyond;
    const uint16_t* branches;  // of its limiters, [lat][block][species][level][face], see faces.hpp; null where they are not kept
};

struct BoundaryAdjoints {     // of boundary concentrations, as these lie in memory: [row][species][level], [block][species][level][W]
    double *west, *east, *south, *north;
};

struct Reverse {
    const Step *next;             // transport of step n+1: q is q(n+1)
    const Step *adjoint;          // where B(n+1) lies, as q
    const Step *now;              // step n: q(n), q(n-1), T(n-1), A(n), A(n-1), and its columns
    const Step *before;           // transport of step n-1: q is q(n-1)
    Beyond beyond;                // the air fluxes of step n+1 beyond what is held here
    int64_t has_next, has_columns, has_before;
    const real* newest;           // q(n+1)
    const real* air;              // A(n+1)
    const real* tendency;         // T(n)
    real* tendency_before;        // T(n-1), written
    const uint16_t* branches;     // of limiters of T(n+1), null where they are not kept
    uint16_t* branches_before;    // of T(n-1), written
    real *x, *z, *u, *b;          // adjoints; b is written
    // Adjoints of what steps are given, to which this adds: of sources [s/mol] of each species in the lowest levels,
    // [lat][block][species][source_levels][W], those of a period times its share of the step's emission; of mixing ratios
    // above [lat][block][species]; of a factor on each reaction's rate [lat][block][reaction] where those are asked for.
    real* sources[2];
    double shares[2];
    int64_t source_levels;
    BoundaryAdjoints boundary;
    double *top, *reactions;
    int64_t own_rates, reactions_asked;
    OPERATOR_ADJOINT_MEMBERS
};

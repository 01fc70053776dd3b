// kernels.hpp: the parts of one IMEX step as CUDA kernels, in several layouts and mappings. See README.md.
//
// Compiled by NVRTC for a device, or by g++ with shim.hpp. The generated header defines `real`, NS, NZ, RATES, PHOTOLYSES, the
// structure Step, and SWEEP and RATE_FUNCTIONS from the formulas of the mechanism. Options of a variant:
//     LEVELS_FASTEST  1: state [species][lat][lon][level]; 0: [species][level][lat][lon]
//     BLOCK           columns along longitude whose species are contiguous, [lat][block][species][lon][level] or [lat][block][species]
//                     [level][lon], so that the stride between species is a compile-time constant; 0: as above
//     T1, T2, T3      tile of a block of `transport`, along memory;  SHARE_FACES  faces of a tile are computed once
//     SHUFFLE_LEVELS  `transport` gets other levels from threads of the warp, where levels are fastest and NZ = T1 = 32
//     LARGEST         species of a group, which are solved together
//     R               levels per thread of `solve`; G = NZ / R threads share a column;  COLUMNS  per block
//     RESIDENT, TRANSPORT_RESIDENT   least blocks on a multiprocessor, which limits registers; 0: no limit
//     Y_PLACE         memory of the mixing ratios in `solve`: 0 global memory, 1 shared memory, 2 registers
#define G (NZ / R)
#define THREADS (COLUMNS * G)
#define LOOP _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

typedef double dpack;                       // number type of the generated rate functions
DEVICE dpack dsplat(double x) { return x; }
DEVICE dpack vexp(dpack x) { return exp(x); }
DEVICE dpack vlog(dpack x) { return log(x); }
DEVICE dpack vlog10(dpack x) { return log10(x); }
DEVICE dpack vsqrt(dpack x) { return sqrt(x); }
DEVICE dpack vabs(dpack x) { return fabs(x); }
DEVICE dpack vmin(dpack a, dpack b) { return a < b ? a : b; }
DEVICE dpack vmax(dpack a, dpack b) { return a > b ? a : b; }
DEVICE real least(real a, real b) { return a < b ? a : b; }
DEVICE real most(real a, real b) { return a > b ? a : b; }

DEVICE int columns(const Step& s) { return int(s.nx * s.ny); }
DEVICE int cells_of(const Step& s) { return columns(s) * NZ; }
DEVICE int face_place(int nx, int ny, int x, int y, int z) { return LEVELS_FASTEST ? (y * nx + x) * NZ + z : (z * ny + y) * nx + x; }

// Indices in arrays of cells, and in arrays with `count` values per cell at a stride of `STRIDE`.
#if BLOCK
#define STRIDE (BLOCK * NZ)
#define COLUMN_STRIDE BLOCK
DEVICE int place(int nx, int, int x, int y, int z) {
    return LEVELS_FASTEST ? (y * nx + x) * NZ + z : (y * nx + x) / BLOCK * STRIDE + z * BLOCK + x % BLOCK;
}
DEVICE void cell_at(const Step& s, int i, int& column, int& z) {
    const int inside = i % STRIDE;
    column = i / STRIDE * BLOCK + (LEVELS_FASTEST ? inside / NZ : inside % BLOCK), z = LEVELS_FASTEST ? inside % NZ : inside / BLOCK;
}
DEVICE int many(int i, int count) { return i / STRIDE * (count * STRIDE) + i % STRIDE; }
DEVICE int many_columns(int column, int count) { return column / BLOCK * (count * BLOCK) + column % BLOCK; }
#define LEVEL_STRIDE (LEVELS_FASTEST ? 1 : BLOCK)
#else
#define STRIDE cells
#define COLUMN_STRIDE columns(s)
DEVICE int place(int nx, int ny, int x, int y, int z) { return face_place(nx, ny, x, y, z); }
DEVICE void cell_at(const Step& s, int i, int& column, int& z) {
    column = LEVELS_FASTEST ? i / NZ : i % columns(s), z = LEVELS_FASTEST ? i % NZ : i / columns(s);
}
DEVICE int many(int i, int) { return i; }
DEVICE int many_columns(int column, int) { return column; }
#define LEVEL_STRIDE (LEVELS_FASTEST ? 1 : columns(s))
#endif

// ---- triad, for comparison ------------------------------------------------------------------------------------------------
KERNEL(triad, 256)(const Step s) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    s.other[i] = s.q[i] + real(0.4) * s.rhs[i];
}

// Tiled copies of a small area: (outer, y, x, inner) from an area of nx, ny to one of nx `across` by ny `across`.
KERNEL(replicate, 256)(const Step s) {
    const long long inner = s.inner, nx = s.nx * s.across, ny = s.ny * s.across;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long z = i % inner, x = i / inner % nx, y = i / inner / nx % ny, outer = i / inner / nx / ny;
    if (outer < s.outer) s.other[i] = s.q[((outer * s.ny + y % s.ny) * s.nx + x % s.nx) * inner + z];
}

// ---- air and weights of the two-step formula -----------------------------------------------------------------------------
KERNEL(air_step, 256)(const Step s) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, nx = int(s.nx), ny = int(s.ny);
    if (i >= cells_of(s)) return;
    int column, z;
    cell_at(s, i, column, z);
    const int x = column % nx, y = column / nx;
    const real* west = s.flux_x + face_place(nx + 1, ny, x, y, z), *east = s.flux_x + face_place(nx + 1, ny, x + 1, y, z);
    const real* south = s.flux_y + face_place(nx, ny + 1, x, y, z), *north = s.flux_y + face_place(nx, ny + 1, x, y + 1, z);
    const real low = z > 0 ? s.flux_z[i - LEVEL_STRIDE] : real(0);
    const real change = *west - *east + (*south - *north) + (low - s.flux_z[i]);
    const real now = s.air[i], other = s.air_other[i];
    const real next = real(s.c0) * now + real(s.c1) * other + real(s.t0) * change + real(s.t1) * s.air_tendency[i];
    const real inverse = real(1) / next;
    const long long cells = cells_of(s);
    real* const weights = s.weights + many(i, 4);
    weights[0] = real(s.c0) * now * inverse, weights[STRIDE] = real(s.c1) * other * inverse;
    weights[2 * STRIDE] = real(s.t0) * inverse, weights[3 * STRIDE] = real(s.t1) * inverse;
    s.air_next[i] = next;
    (void)cells;
}

// ---- limited third-order upwind-biased transport, as kernels/transport/transport.hpp -------------------------------------------
// The smallest of three numbers of one sign, else 0: with two comparisons of numbers.
DEVICE real limited(real up, real down, real smooth) {
    const real smaller = fabs(up) < fabs(down) ? up : down, found = fabs(smooth) < fabs(smaller) ? smooth : smaller;
    return signbit(up) == signbit(down) ? found : real(0);
}
DEVICE real face(real flux, real before2, real before, real after, real after2, real alpha, real beta) {
    const bool forward = flux > 0;
    const real b = forward ? before : after;
    const real up = b - (forward ? before2 : after2), down = (forward ? after : before) - b;
    return flux * (b + limited(up, down, alpha * down + beta * up));
}
DEVICE real level_face(real flux, real before2, real before, real after, real after2) {
    return face(flux, before2, before, after, after2, real(1.0 / 3.0), real(1.0 / 6.0));
}

// A thread for each cell of a tile T1 x T2 x T3 along memory, all species in sequence.
BOUNDED_KERNEL(transport, T1 * T2 * T3, TRANSPORT_RESIDENT)(const Step s) {
    const int i1 = threadIdx.x, i2 = threadIdx.y, i3 = threadIdx.z, thread = (i3 * T2 + i2) * T1 + i1;
    const int a = blockIdx.x * T1 + i1, b = blockIdx.y * T2 + i2, c = blockIdx.z * T3 + i3;
    const int nx = int(s.nx), ny = int(s.ny), x = LEVELS_FASTEST ? b : a, y = LEVELS_FASTEST ? c : b, z = LEVELS_FASTEST ? a : c;
    const bool first_x = (LEVELS_FASTEST ? i2 : i1) == 0, first_y = (LEVELS_FASTEST ? i3 : i2) == 0;
    const bool first_z = (LEVELS_FASTEST ? i1 : i3) == 0;
    const int back_x = LEVELS_FASTEST ? T1 : 1, back_y = LEVELS_FASTEST ? T1 * T2 : T1, back_z = LEVELS_FASTEST ? 1 : T1 * T2;
    const int i = place(nx, ny, x, y, z), first = many(i, NS);
    // air fluxes through the faces of the cell
    const real west = s.flux_x[face_place(nx + 1, ny, x, y, z)], east = s.flux_x[face_place(nx + 1, ny, x + 1, y, z)];
    const real south = s.flux_y[face_place(nx, ny + 1, x, y, z)], north = s.flux_y[face_place(nx, ny + 1, x, y + 1, z)];
    const real up = s.flux_z[i], low = z > 0 ? s.flux_z[i - LEVEL_STRIDE] : real(0);
    // indices of neighbours; beyond the edges: the cell inside, or the boundary concentration for inflow
    const bool in_west = s.flux_x[face_place(nx + 1, ny, 0, y, z)] > 0, in_east = !(s.flux_x[face_place(nx + 1, ny, nx, y, z)] > 0);
    const bool in_south = s.flux_y[face_place(nx, ny + 1, x, 0, z)] > 0, in_north = !(s.flux_y[face_place(nx, ny + 1, x, ny, z)] > 0);
    const bool out_w1 = in_west && x < 1, out_w2 = in_west && x < 2, out_e1 = in_east && x > nx - 2, out_e2 = in_east && x > nx - 3;
    const bool out_s1 = in_south && y < 1, out_s2 = in_south && y < 2, out_n1 = in_north && y > ny - 2, out_n2 = in_north && y > ny - 3;
#define WAY(x, y, z) (many(place(nx, ny, x, y, z), NS) - first)
    const int w1 = WAY(x - (x > 0), y, z), w2 = WAY(x > 1 ? x - 2 : 0, y, z), e1 = WAY(x + (x < nx - 1), y, z), e2 = WAY(x < nx - 2 ? x + 2 : nx - 1, y, z);
    const int s1 = WAY(x, y - (y > 0), z), s2 = WAY(x, y > 1 ? y - 2 : 0, z), n1 = WAY(x, y + (y < ny - 1), z), n2 = WAY(x, y < ny - 2 ? y + 2 : ny - 1, z);
    const int b1 = WAY(x, y, z - (z > 0)), b2 = WAY(x, y, z > 1 ? z - 2 : 0), a1 = WAY(x, y, z + (z < NZ - 1)), a2 = WAY(x, y, z < NZ - 2 ? z + 2 : NZ - 1);
    const real* v = s.vertical + 4 * z;
    const real alpha = up > 0 ? v[0] : v[2], beta = up > 0 ? v[1] : v[3];
    const real* v_low = s.vertical + 4 * (z > 0 ? z - 1 : 0);
    const real alpha_low = low > 0 ? v_low[0] : v_low[2], beta_low = low > 0 ? v_low[1] : v_low[3];
    const long long cells = cells_of(s);
    const real* weights = s.weights + many(i, 4);
    const real c0 = weights[0], c1 = weights[STRIDE], t0 = weights[2 * STRIDE], t1 = weights[3 * STRIDE];
    (void)cells;
#if SHARE_FACES
    SHARED(real, shared);
#endif
    const real* __restrict__ const here_q = s.q + first;
    real *__restrict__ const others = s.other + first, *__restrict__ const tendencies = s.tendency + first, *__restrict__ const rhs = s.rhs + first;
    ROLLED for (int n = 0; n < NS; n++) {
        const long long k = n * (long long)STRIDE;
        const real* __restrict__ q = here_q + k;
        const real outside = s.outside[n * NZ + z], here = q[0];
        const real q_w1 = out_w1 ? outside : q[w1], q_e1 = out_e1 ? outside : q[e1], q_e2 = out_e2 ? outside : q[e2];
        const real q_s1 = out_s1 ? outside : q[s1], q_n1 = out_n1 ? outside : q[n1], q_n2 = out_n2 ? outside : q[n2];
        const real f_east = level_face(east, q_w1, here, q_e1, q_e2), f_north = level_face(north, q_s1, here, q_n1, q_n2);
#if SHUFFLE_LEVELS
        const real q_b1 = __shfl_up_sync(0xffffffffu, here, 1, NZ), q_b2 = __shfl_up_sync(0xffffffffu, here, 2, NZ);
        const real q_a1 = __shfl_down_sync(0xffffffffu, here, 1, NZ), q_a2 = __shfl_down_sync(0xffffffffu, here, 2, NZ);
        const real above2 = z < NZ - 2 ? q_a2 : q_a1, below2 = z > 1 ? q_b2 : q_b1;
        (void)below2;
#else
        const real q_b1 = q[b1], q_a1 = q[a1], above2 = q[a2];
#endif
        const real f_up = z < NZ - 1 ? face(up, q_b1, here, q_a1, above2, alpha, beta) : up * (up > 0 ? here : s.top[n]);
        real f_west = 0, f_south = 0, f_low = 0;
        if (!SHARE_FACES || first_x) f_west = level_face(west, out_w2 ? outside : q[w2], q_w1, here, q_e1);
        if (!SHARE_FACES || first_y) f_south = level_face(south, out_s2 ? outside : q[s2], q_s1, here, q_n1);
#if SHUFFLE_LEVELS
        const real from_below = __shfl_up_sync(0xffffffffu, f_up, 1, NZ);
        f_low = z > 0 ? from_below : real(0);
#else
        if ((!SHARE_FACES || first_z) && z > 0) f_low = face(low, q[b2], q_b1, here, q_a1, alpha_low, beta_low);
#endif
#if SHARE_FACES
        real* mine = shared + (n & 1) * 3 * T1 * T2 * T3 + thread;
        mine[0] = f_east, mine[T1 * T2 * T3] = f_north, mine[2 * T1 * T2 * T3] = f_up;
        __syncthreads();
        if (!first_x) f_west = mine[-back_x];
        if (!first_y) f_south = mine[T1 * T2 * T3 - back_y];
        if (!first_z && !SHUFFLE_LEVELS) f_low = mine[2 * T1 * T2 * T3 - back_z];
#endif
        const real change = (f_west - f_east) + (f_south - f_north) + (f_low - f_up);
        real &other = others[k], &kept = tendencies[k];
        const real before = other;
        rhs[k] = t1 * kept + (t0 * change + (c1 * before + c0 * here));
        kept = change;
        other = most(real(s.s1) * before + real(s.s0) * here, real(0));
    }
}

// ---- rates, and exchange between levels ----------------------------------------------------------------------------------
KERNEL(prepare, 128)(const Step s) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells_of(s)) return;
    int column, z;
    cell_at(s, i, column, z);
    const real per_air = real(s.g) / s.air_next[i];
    const double relative = double(s.air_next[i]) * s.density_factor[i], density = relative * REFERENCE_DENSITY;
    const double temperature = s.temperature[i], secant = s.secant[column], light = s.light[column];
    const double inverse_temperature = 1.0 / temperature, pressure = density * temperature * 1.380649e-17;
    const double oxygen = s.oxygen * density, nitrogen = s.nitrogen * density, water = double(s.water[i]) * density;
    const double sun = light > 0.0 ? 1.0 / secant : 0.0;
    (void)inverse_temperature, (void)pressure, (void)oxygen, (void)nitrogen, (void)water, (void)sun;
    const long long cells = cells_of(s);
    real* const k = s.rate + many(i, RATES);
    (void)cells, (void)k;
    RATE_FUNCTIONS
    s.density[i] = real(relative);
    s.above[i] = z < NZ - 1 ? s.exchange[i] * per_air : real(0);
    s.below[i] = z > 0 ? s.exchange[i - LEVEL_STRIDE] * per_air : real(0);
    if (z == 0) {
        real* const j = s.photolysis + many_columns(column, PHOTOLYSES);
        (void)j;
        PHOTOLYSIS_FUNCTIONS
    }
}

// ---- the column: tri-diagonal block Gauss-Seidel, as kernels/column/column.hpp ----------------------------------------------
// Pointers of a column: arrays of cells begin at `at`, arrays of species at `y`, `rhs`, and those of rate functions at `rate`.
#define COLUMN_POINTERS(at)                                                                                   \
    const long long cells = cells_of(s);                                                                      \
    const real g = real(s.g);                                                                                 \
    real* __restrict__ const y = s.other + many(at, NS);                                                      \
    const real* __restrict__ const rhs = s.rhs + many(at, NS);                                                \
    const real* __restrict__ const rate = s.rate + many(at, RATES);                                           \
    const real* __restrict__ const j = s.photolysis + many_columns(column, PHOTOLYSES);                       \
    (void)cells, (void)rate, (void)j;
#define J(i) j[(i) * COLUMN_STRIDE]

#if G == 1   // a thread for each column: levels in sequence; eliminated values are stored in the place of their result
#define AT(r) ((r) * dz)
#define Y(i) y[(i) * STRIDE + AT(r)]
#define K(i) rate[(i) * STRIDE + AT(r)]
#define N density[AT(r)]
#define GROUP(number)
#define END
#define ROW(m, i, P, L)                                                                                       \
    {                                                                                                         \
        real constant = 0, slope = 0;                                                                         \
        ROLLED for (int r = 0; r < NZ; r++) {                                                                 \
            const real below = under[AT(r)], above = over[AT(r)];                                             \
            const real inverse = reciprocal(g * (L) + (real(1) + above + below * (real(1) - slope)));         \
            constant = (rhs[(i) * STRIDE + AT(r)] + g * (P) + below * constant) * inverse, slope = above * inverse; \
            Y(i) = constant, slopes[r * THREADS] = slope;                                                     \
        }                                                                                                     \
        real above = 0;                                                                                       \
        ROLLED for (int r = NZ - 1; r >= 0; r--) above = Y(i) + slopes[r * THREADS] * above, Y(i) = most(above, real(0)); \
    }

BOUNDED_KERNEL(solve, THREADS, RESIDENT)(const Step s) {
    SHARED(real, shared);
    real* const slopes = shared + threadIdx.x;
    const int column = blockIdx.x * COLUMNS + threadIdx.x, dz = LEVEL_STRIDE;
    const int at = place(int(s.nx), int(s.ny), column % int(s.nx), column / int(s.nx), 0);
    COLUMN_POINTERS(at)
    const real *__restrict__ const under = s.below + at, *__restrict__ const over = s.above + at, *__restrict__ const density = s.density + at;
    ROLLED for (int sweep = 0; sweep < s.sweeps; sweep++) { SWEEP }
}
#else        // G threads for each column, R levels each
struct Rows {                               // y_r = constant_r + under_r y_(below the thread's levels) + over_r y_(r+1)
    real constant[R], under[R], over[R];
};
struct Levels {
    real y[R];
};

// Values of the threads of a column: by shuffles where a column is within a warp, else through shared memory.
struct Team {
    real value[3][LARGEST];
#if LEVELS_FASTEST
    MEMBER void share(int) {}
    MEMBER real below(int, int which, int m, int distance) const { return __shfl_up_sync(0xffffffffu, value[which][m], distance, G); }
    MEMBER real above(int, int which, int m, int distance) const { return __shfl_down_sync(0xffffffffu, value[which][m], distance, G); }
    MEMBER void end(int) {}
#else
    MEMBER real* slot(int turn) const { SHARED(real, shared); return shared + (turn & 1) * 3 * LARGEST * THREADS + threadIdx.x; }
    MEMBER void share(int turn) {
        LOOP for (int which = 0; which < 3; which++)
            LOOP for (int m = 0; m < LARGEST; m++) slot(turn)[(which * LARGEST + m) * THREADS + threadIdx.y * COLUMNS] = value[which][m];
        __syncthreads();
    }
    MEMBER real at(int turn, int which, int m, int member) const {
        return slot(turn)[(which * LARGEST + m) * THREADS + (member < 0 ? 0 : member < G ? member : G - 1) * COLUMNS];
    }
    MEMBER real below(int turn, int which, int m, int distance) const { return at(turn, which, m, int(threadIdx.y) - distance); }
    MEMBER real above(int turn, int which, int m, int distance) const { return at(turn, which, m, int(threadIdx.y) + distance); }
    MEMBER void end(int turns) { if (turns & 1) __syncthreads(); }   // the next group begins with the same half of the buffer
#endif
};
enum { CONSTANT, UNDER, OVER };

// The rest of the elimination, for all species of a group: the last level of each thread follows from those of its neighbours,
// by parallel cyclic reduction, and then the other levels of the thread.
DEVICE void finish(const Rows* rows, Levels* solved) {
    Team team;
    int turn = 0;
    real last[3][LARGEST];
    LOOP for (int m = 0; m < LARGEST; m++) {
        last[CONSTANT][m] = rows[m].constant[R - 1], last[UNDER][m] = rows[m].under[R - 1], last[OVER][m] = rows[m].over[R - 1];
        real constant = 0, under = 0, over = 1;      // first level = constant + under y_(below) + over y_(last level)
        LOOP for (int r = R - 2; r >= 0; r--)
            constant = rows[m].constant[r] + rows[m].over[r] * constant, under = rows[m].under[r] + rows[m].over[r] * under, over *= rows[m].over[r];
        team.value[CONSTANT][m] = constant, team.value[UNDER][m] = under, team.value[OVER][m] = over;
    }
    if (R > 1) {
        team.share(turn);
        LOOP for (int m = 0; m < LARGEST; m++) {
            const real inverse = reciprocal(real(1) - last[OVER][m] * team.above(turn, UNDER, m, 1));
            last[CONSTANT][m] = (last[CONSTANT][m] + last[OVER][m] * team.above(turn, CONSTANT, m, 1)) * inverse;
            last[OVER][m] *= team.above(turn, OVER, m, 1) * inverse, last[UNDER][m] *= inverse;
        }
        turn++;
    }
    LOOP for (int distance = 1; distance < G; distance *= 2) {
        LOOP for (int which = 0; which < 3; which++) LOOP for (int m = 0; m < LARGEST; m++) team.value[which][m] = last[which][m];
        team.share(turn);
        LOOP for (int m = 0; m < LARGEST; m++) {
            const real under = last[UNDER][m], over = last[OVER][m];
            const real lower = team.below(turn, CONSTANT, m, distance), lower_under = team.below(turn, UNDER, m, distance);
            const real upper = team.above(turn, CONSTANT, m, distance), upper_over = team.above(turn, OVER, m, distance);
            const real inverse = reciprocal(real(1) - under * team.below(turn, OVER, m, distance) - over * team.above(turn, UNDER, m, distance));
            last[CONSTANT][m] = (last[CONSTANT][m] + under * lower + over * upper) * inverse;
            last[UNDER][m] = under * lower_under * inverse, last[OVER][m] = over * upper_over * inverse;
        }
        turn++;
    }
    LOOP for (int m = 0; m < LARGEST; m++) solved[m].y[R - 1] = team.value[CONSTANT][m] = last[CONSTANT][m];
    if (R > 1) {
        team.share(turn);
        LOOP for (int m = 0; m < LARGEST; m++) {
            const real below = team.below(turn, CONSTANT, m, 1);
            LOOP for (int r = R - 2; r >= 0; r--)
                solved[m].y[r] = rows[m].constant[r] + rows[m].under[r] * below + rows[m].over[r] * solved[m].y[r + 1];
        }
        turn++;
    }
    team.end(turn);
}

#if Y_PLACE == 2
#define Y(i) own[i][r]
#elif Y_PLACE == 1
#define Y(i) own[((i) * R + r) * THREADS]
#else
#define Y(i) y[(i) * STRIDE + r * dz]
#endif
#define STORE(m, i) LOOP for (int r = 0; r < R; r++) own[i][r] = most(solved[m].y[r], real(0));
#define K(i) rate[(i) * STRIDE + r * dz]
#define N density[r]
#define GROUP(number) case number:
#define ROW(m, i, P, L) LOOP for (int r = 0; r < R; r++) production[m][r] = P, loss[m][r] = L;
#define END break;

BOUNDED_KERNEL(solve, THREADS, RESIDENT)(const Step s) {
    const int of_block = LEVELS_FASTEST ? threadIdx.x / G : threadIdx.x, member = LEVELS_FASTEST ? threadIdx.x % G : threadIdx.y;
    const int column = blockIdx.x * COLUMNS + of_block, dz = LEVEL_STRIDE;
    const int at = place(int(s.nx), int(s.ny), column % int(s.nx), column / int(s.nx), member * R);
    COLUMN_POINTERS(at)
    real above[R], below[R], density[R], ahead[LARGEST][R];
    LOOP for (int r = 0; r < R; r++) {
        above[r] = s.above[at + r * dz], below[r] = s.below[at + r * dz], density[r] = s.density[at + r * dz];
        LOOP for (int m = 0; m < LARGEST; m++) ahead[m][r] = rhs[members[m] * STRIDE + r * dz];
    }
#if Y_PLACE == 2
    real own[NS][R];
#elif Y_PLACE == 1
    SHARED(real, shared);
    real* const own = shared + (LEVELS_FASTEST ? 0 : 6 * LARGEST * THREADS) + (LEVELS_FASTEST ? threadIdx.x : threadIdx.y * COLUMNS + threadIdx.x);
#endif
#if Y_PLACE
    LOOP for (int i = 0; i < NS; i++) LOOP for (int r = 0; r < R; r++) Y(i) = y[i * STRIDE + r * dz];
#endif
    ROLLED for (int step = 0; step < s.sweeps * GROUPS; step++) {
        const int group = step % GROUPS, *member_of = members + group * LARGEST;
        real production[LARGEST][R] = {}, loss[LARGEST][R] = {};
        switch (group) { SWEEP }
        Rows rows[LARGEST];
        Levels solved[LARGEST];
        LOOP for (int m = 0; m < LARGEST; m++) {
            real constant = 0, under = 0, over = 0;
            LOOP for (int r = 0; r < R; r++) {
                const real inverse = reciprocal(g * loss[m][r] + (real(1) + above[r] + below[r] * (real(1) - over)));
                constant = (ahead[m][r] + g * production[m][r] + below[r] * constant) * inverse;
                under = (r > 0 ? below[r] * under : below[r]) * inverse, over = above[r] * inverse;
                rows[m].constant[r] = constant, rows[m].under[r] = under, rows[m].over[r] = over;
                ahead[m][r] = rhs[member_of[LARGEST + m] * STRIDE + r * dz];
            }
        }
        finish(rows, solved);
#if Y_PLACE == 2
        switch (group) { STORES }
#else
        LOOP for (int m = 0; m < LARGEST; m++)
            if (m == 0 || member_of[m] != member_of[0])     // a small group is padded with its first species
                LOOP for (int r = 0; r < R; r++) Y(member_of[m]) = most(solved[m].y[r], real(0));
#endif
    }
#if Y_PLACE
    LOOP for (int i = 0; i < NS; i++) LOOP for (int r = 0; r < R; r++) y[i * STRIDE + r * dz] = Y(i);
#endif
}
#endif

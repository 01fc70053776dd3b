// rosenbrock.hpp: any Rosenbrock method on packs of cells, each lane with its own time, step and error control.
//
// A lane whose cell is finished takes the next cell, so that no lane waits for another. The result of a cell does not depend on
// its neighbours. See kernels/cells/tableau.py for the formulas of a step.

constexpr double SHORTEST_GUESS = 1e-15;   // of a first step, relative to the interval: resolution of its time

INLINE double smaller(double a, double b) { return a < b ? a : b; }
INLINE double larger(double a, double b) { return a > b ? a : b; }

struct Lanes {
    pack k[NR + 1], a[NA + 1];
    pack state[2][NS + 1], f[NS + 1], stage[MOST_STAGES][NS + 1], shift[NS + 1], dfdt[NS + 1], clipped[NS + 1];
    pack *y, *next;                        // the current state, and the result of a step
    real absolute[NS + 1];
    pack fresh[NR + 1];                    // rate constants of the pack from which cells are taken
    alignas(64) double time[W], step[W], h[W];
    alignas(64) double error[W];           // mean square of the error over the tolerance
    alignas(64) int64_t cell[W];           // pack W + lane, -1 for none
    alignas(64) int64_t tried[W], rejected[W];   // steps
    alignas(64) int64_t after_rejection[W], done[W];   // 0 or -1
    bool guesses;                          // whether some lanes have no step yet
    int64_t source, source_lane, buffered; // the queue: next cell, and the pack whose rate constants are in `fresh`
    double* input;                         // [input_count][W] of the lanes at their times
    double* earlier;                       // the same at a slightly earlier time
    double* series;                        // [degree + 1][input_count][W] of the lanes
};

INLINE int64_t lanes_in(const Cells& s, int64_t p) {
    return (p / s.levels) % s.blocks == s.blocks - 1 ? s.last_lanes : W;
}
INLINE int64_t place_of(const Cells& s, int64_t p) {
    return (p / s.levels) * s.block_stride + (p % s.levels) * s.level_stride;
}
template <class N> INLINE void copy_lane(N* to, int lane, const N* from, int64_t other, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i * W + lane] = from[i * W + other];
}
INLINE pack to_pack(const double* lanes) {
    pack result;
    for (int lane = 0; lane < W; lane += D) *(narrow*)((real*)&result + lane) = __builtin_convertvector(wide(lanes + lane), narrow);
    return result;
}
// Doubles in external units, multiplied by the external value of the internal unit, and back.
INLINE pack in_unit(const double* lanes, double one) {
    pack result;
    for (int lane = 0; lane < W; lane += D)
        *(narrow*)((real*)&result + lane) = __builtin_convertvector(one * wide(lanes + lane), narrow);
    return result;
}
INLINE void out_of_unit(double* lanes, pack x, double one) {
    for (int lane = 0; lane < W; lane += D)
        *(dpack*)(lanes + lane) = one * __builtin_convertvector(*(const narrow*)((const real*)&x + lane), dpack);
}
INLINE ipack whole(const int64_t* lanes) { return *(const ipack*)lanes; }
typedef decltype(pack{} < pack{}) mask;
typedef decltype(narrow{} < narrow{}) narrow_mask;
typedef std::remove_reference_t<decltype(mask{}[0])> number;
INLINE pack permuted(pack x, mask from) {
#if defined(__clang__)
    pack result;
    for (int lane = 0; lane < W; lane++) result[lane] = x[from[lane]];
    return result;
#else
    return __builtin_shuffle(x, from);
#endif
}

// Inputs of all lanes at their own times, by Clenshaw's recurrence.
static void inputs_at(const Cells& s, Lanes& t, const double* time) {
    for (int lane = 0; lane < W; lane += D) {
        const dpack x = (2.0 * wide(time + lane) - (s.start + s.end)) / (s.end - s.start), twice = 2.0 * x;
        for (int64_t i = 0; i < s.input_count; i++) {
            const double* series = t.series + i * W + lane;
            dpack b1 = {}, b2 = {};
            for (int64_t n = s.degree; n > 0; n--) {
                const dpack b = wide(series + n * s.input_count * W) + twice * b1 - b2;
                b2 = b1, b1 = b;
            }
            *(dpack*)(t.input + i * W + lane) = wide(series) + x * b1 - b2;
        }
    }
}
static void rates_at(const Cells& s, Lanes& t, double part) {   // at `part` of the steps
    alignas(64) double time[W];
    for (int lane = 0; lane < W; lane++) time[lane] = t.time[lane] + part * t.step[lane];
    inputs_at(s, t, time);
    rate_constants(t.input, t.k);
}

INLINE const double* emission(const Lanes& t) { return t.input + (FIRST_PARAMETER + PARAMETERS) * W; }
INLINE const double* loss(const Cells& s, const Lanes& t) { return emission(t) + s.emitted_count * W; }

// f = dy/dt at y with the present rate constants.
static void change(const Cells& s, Lanes& t, const pack* y, pack* f) {
    tendency(t.k, y, f);
    for (int64_t e = 0; e < s.emitted_count; e++) f[s.emitted[e]] += real(1 / UNIT) * to_pack(emission(t) + e * W);
    for (int64_t l = 0; l < s.lost_count; l++) f[s.lost[l]] -= to_pack(loss(s, t) + l * W) * y[s.lost[l]];
}

INLINE void begin(const Cells& s, Lanes& t, int lane, int64_t cell) {
    t.cell[lane] = cell;
    t.time[lane] = s.start, t.h[lane] = s.step[cell];
    t.tried[lane] = t.rejected[lane] = t.after_rejection[lane] = 0;
    t.guesses = t.guesses || !(t.h[lane] > 0.0);
}

// Takes a whole pack if all lanes are idle: no permutation of lanes is needed.
static int take_pack(const Cells& s, Lanes& t) {
    const int64_t p = t.source++;
    std::memcpy((void*)t.series, s.inputs + p * (s.degree + 1) * s.input_count * W,
                (s.degree + 1) * s.input_count * W * sizeof(double));
    if (s.degree == 0) {
        std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
        rate_constants(t.series, t.k);
    }
    const pack scale = real(1 / UNIT) * (s.mixing_ratios ? to_pack(t.series + AIR * W) : splat(1));
    const real* y = s.y + place_of(s, p);
    for (int species = 0; species < NS; species++) {   // in the order of memory
        const int i = place_of_species[species];
        t.y[i] = species < s.stored ? *(const pack*)(y + species * s.species_stride) * scale : pack{};
        t.clipped[i] = pack{};
    }
    const int lanes = lanes_in(s, p);
    for (int lane = 0; lane < lanes; lane++) begin(s, t, lane, p * W + lane);
    return lanes;
}

// For each lane the lane of another pack that moves there, and whether one does.
struct Moves { mask from, moved; };
INLINE pack moved_into(pack stays, const Moves& moves, pack comes) {
    return moves.moved ? permuted(comes, moves.from) : stays;
}

// Moves cells of one pack to idle lanes; returns their number.
static int take(const Cells& s, Lanes& t) {
    const int64_t p = t.source, lanes = lanes_in(s, p);
    const double* series = s.inputs + p * (s.degree + 1) * s.input_count * W;
    Moves moves = {};
    int taken = 0;
    for (int lane = 0; lane < W && t.source_lane < lanes; lane++) {
        if (t.cell[lane] >= 0) continue;
        const int64_t from = t.source_lane++;
        moves.from[lane] = from, moves.moved[lane] = -1, taken++;
        copy_lane(t.series, lane, series, from, (s.degree + 1) * s.input_count);
        begin(s, t, lane, p * W + from);
    }
    if (s.degree == 0) {
        if (t.buffered != p) rate_constants(series, t.fresh), t.buffered = p;
        for (int r = 0; r < NR; r++) t.k[r] = moved_into(t.k[r], moves, t.fresh[r]);
        std::memcpy((void*)t.input, t.series, s.input_count * W * sizeof(double));
    }
    const pack scale = real(1 / UNIT) * (s.mixing_ratios ? to_pack(t.series + AIR * W) : splat(1));
    const real* y = s.y + place_of(s, p);
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        const pack given = species < s.stored ? *(const pack*)(y + species * s.species_stride) : pack{};
        t.y[i] = moves.moved ? permuted(given, moves.from) * scale : t.y[i];
        t.clipped[i] = moves.moved ? pack{} : t.clipped[i];
    }
    return taken;
}

// Fills all idle lanes with cells; returns the number of active lanes.
static int refill(const Cells& s, int64_t last, Lanes& t) {
    int active = 0;
    for (int lane = 0; lane < W; lane++) active += t.cell[lane] >= 0;
    while (active < W) {
        while (t.source < last && t.source_lane >= lanes_in(s, t.source)) t.source++, t.source_lane = 0;
        if (t.source >= last) break;
        if (active == 0 && t.source_lane == 0) return take_pack(s, t);
        active += take(s, t);
    }
    return active;
}

// Target of a species of a pack: the state, or `extra` behind it.
INLINE real* result_of(const Cells& s, int64_t species, int64_t p) {
    if (species < s.stored) return s.result + place_of(s, p) + species * s.species_stride;
    return s.extra + (p * (NS - s.stored) + species - s.stored) * W;
}

INLINE void end(const Cells& s, Lanes& t, int lane) {
    const int64_t cell = t.cell[lane];
    s.step[cell] = t.h[lane], s.reached[cell] = t.time[lane];
    s.accepted[cell] = int32_t(t.tried[lane] - t.rejected[lane]), s.rejected[cell] = int32_t(t.rejected[lane]);
    t.cell[lane] = -1, t.done[lane] = 0;
}

// Stores the results of finished lanes that hold cells of one pack, that of the first lane; returns their number.
static int put_back(const Cells& s, Lanes& t) {
    int first = 0, count = 0;
    while (!t.done[first]) first++;
    const int64_t p = t.cell[first] / W;
    Moves moves = {};
    for (int lane = first; lane < W; lane++)
        if (t.done[lane] && t.cell[lane] / W == p) {
            const int64_t own = t.cell[lane] % W;
            moves.from[own] = lane, moves.moved[own] = -1, count++;
            end(s, t, lane);
        }
    const pack scale = real(UNIT) * (s.mixing_ratios ? real(1) / to_pack(t.series + AIR * W) : splat(1));
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        pack& result = *(pack*)result_of(s, species, p);
        result = moved_into(result, moves, t.y[i] * scale);
        if (s.clipped && species < s.stored) {
            pack& clipped = *(pack*)(s.clipped + place_of(s, p) + species * s.species_stride);
            clipped = moved_into(clipped, moves, t.clipped[i] * scale);
        }
    }
    return count;
}

// Stores all lanes together if they hold a whole pack in its order.
static void put_back_pack(const Cells& s, Lanes& t) {
    const int64_t p = t.cell[0] / W;
    const pack scale = real(UNIT) * (s.mixing_ratios ? real(1) / to_pack(t.series + AIR * W) : splat(1));
    for (int species = 0; species < NS; species++) {
        const int i = place_of_species[species];
        *(pack*)result_of(s, species, p) = t.y[i] * scale;
        if (s.clipped && species < s.stored)
            *(pack*)(s.clipped + place_of(s, p) + species * s.species_stride) = t.clipped[i] * scale;
    }
    for (int lane = 0; lane < W; lane++) end(s, t, lane);
}

// First step for lanes without one: it changes the solution by a hundredth of its tolerance beyond an Euler step.
static void guess_steps(const Cells& s, Lanes& t) {
    if (!t.guesses) return;
    t.guesses = false;
    for (int lane = 0; lane < W; lane++) {
        if (t.cell[lane] < 0 || t.h[lane] > 0.0) continue;
        double size = 0.0, speed = 0.0;   // in double: rates in units of the tolerance may overflow a float
        for (int i = 0; i < NS; i++) {
            const double weight = 1.0 / (s.absolute[i] / UNIT + s.relative * double(t.y[i][lane]));
            const double y = weight * double(t.y[i][lane]), f = weight * double(t.f[i][lane]);
            size += y * y, speed += f * f;
        }
        // a concentration below its tolerance, as in an empty cell, does not indicate a time scale
        const double guess = 0.01 * __builtin_sqrt(larger(size, 1.0) / speed), length = s.end - s.start;
        t.h[lane] = guess < length ? larger(guess, SHORTEST_GUESS * length) : length;
    }
}

// df/dt at fixed y: f is linear in rate constants, emissions and loss rates, so this is f at their derivatives, which are
// central differences. Differences of f itself would suffer from cancellation by fast reactions with constant rates.
static void differentiate_in_time(const Cells& s, Lanes& t) {
    constexpr double part = REAL_IS_DOUBLE ? 1e-3 : 0.03;   // of the step: near the cube root of the round-off
    rates_at(s, t, -part);
    std::memcpy((void*)t.fresh, t.k, NR * sizeof(pack));    // the queue does not use it if rate constants change
    std::memcpy((void*)t.earlier, t.input, s.input_count * W * sizeof(double));
    rates_at(s, t, part);
    const pack inverse = real(0.5 / part) / to_pack(t.step);
    for (int r = 0; r < NR; r++) t.k[r] = (t.k[r] - t.fresh[r]) * inverse;
    for (int64_t i = 0; i < s.input_count; i++)
        for (int lane = 0; lane < W; lane++)
            t.input[i * W + lane] = (t.input[i * W + lane] - t.earlier[i * W + lane]) * (0.5 / part / t.step[lane]);
    change(s, t, t.y, t.dfdt);
}

// The rest of the interval is covered by one step, or by two equal ones, rather than by one and a tiny one.
static void choose_steps(const Cells& s, Lanes& t) {
    for (int lane = 0; lane < W; lane += D) {
        const dpack left = s.end - wide(t.time + lane), h = vmin(wide(t.h + lane), dsplat(s.longest));
        const dpack step = h >= left ? left : 2.0 * h > left ? 0.5 * left : h;
        const ipack works = whole(t.cell + lane) >= 0 & step > 0.0;
        *(dpack*)(t.step + lane) = works ? step : dsplat(1.0);   // idle: any finite number
    }
}

// Sums over the stages before stage I, unrolled: y + sum a_ij K_j, and f + sum c_ij/h K_j [+ gamma_i h df/dt].
template <int I> static void argument_of_stage(const Method& method, Lanes& t) {
    for (int n = 0; n < NS; n++) {
        pack sum = t.y[n];
        for (int j = 0; j < I; j++) sum += real(method.a[I][j]) * t.stage[j][n];
        t.next[n] = sum;
    }
}
template <int I> static void right_side_of_stage(const Method& method, Lanes& t, bool timed) {
    const pack step = to_pack(t.step), inverse = real(1) / step, gamma = real(method.gamma_sum[I]) * step;
    for (int n = 0; n < NS; n++) {
        pack sum = t.f[n];
        for (int j = 0; j < I; j++) sum += (real(method.c[I][j]) * inverse) * t.stage[j][n];
        t.stage[I][n] = sum;
    }
    if (timed)
        for (int n = 0; n < NS; n++) t.stage[I][n] += gamma * t.dfdt[n];
}

template <int I> static void stages_from(const Cells& s, const Method& method, Lanes& t) {
    if constexpr (I < MOST_STAGES) {
        if (I >= method.stages) return;
        if (I > 0 && method.evaluates[I]) {
            argument_of_stage<I>(method, t);
            if (s.degree > 0) rates_at(s, t, method.alpha[I]);
            change(s, t, t.next, t.f);
        }
        right_side_of_stage<I>(method, t, s.degree > 0);
        solve(t.a, t.stage[I]);
        stages_from<I + 1>(s, method, t);
    }
}

static void stages(const Cells& s, const Method& method, Lanes& t) {
    const pack shift = real(1.0 / method.gamma) / to_pack(t.step);
    for (int i = 0; i < NS; i++) t.shift[i] = shift;
    for (int64_t l = 0; l < s.lost_count; l++) t.shift[s.lost[l]] += to_pack(loss(s, t) + l * W);
    for (int n = 0; OVERDRAWN && n < NS; n++)   // an overdrawn species is held at zero while its rate is negative
        if (overdrawn[n]) t.shift[n] = t.y[n] <= 0 ? (t.f[n] < 0 ? real(HELD) * shift : t.shift[n]) : t.shift[n];
    factor(t.k, t.y, t.shift, t.a);
    stages_from<0>(s, method, t);
}

INLINE bool any(mask lanes) {
    bool found = false;
    for (int lane = 0; lane < W; lane++) found |= lanes[lane] != 0;
    return found;
}

// Replacement of a negative concentration, see kernels/cells/positivity.py.
INLINE pack below_zero(int n, pack y) { return OVERDRAWN && overdrawn[n] ? pack{} : real(-REFLECTED) * y; }
INLINE pack above_zero(int n, pack y) { return y < 0 ? below_zero(n, y) : y; }

// The new solution in `next`, and the mean square of its error over the tolerance; returns whether a value is negative.
template <int STAGES> static bool finish(const Cells& s, const Method& method, Lanes& t) {
    if constexpr (STAGES < MOST_STAGES)
        if (STAGES < method.stages) return finish<STAGES + 1>(s, method, t);
    pack sum = {}, lowest = {}, pivot = {};
    const pack step = to_pack(t.step), held = real(0.5 * HELD / method.gamma) / step;
    for (int n = 0; n < NS; n++) {
        pack value = t.y[n], error = {};
        for (int i = 0; i < STAGES; i++) {
            value += real(method.m[i]) * t.stage[i][n];
            error += real(method.e[i]) * t.stage[i][n];
        }
        // no absolute value: beyond a pole the solution is negative, and its size would enlarge its own tolerance
        if (OVERDRAWN && overdrawn[n]) {   // error of the remaining value, and of production while it is held at zero
            error = maximum(value, pack{}) - maximum(value - error, pack{});
            error += t.shift[n] > held ? step * maximum(t.f[n], pack{}) : pack{};
        }
        const pack ratio = error * reciprocal(t.absolute[n] + real(s.relative) * maximum(value, t.y[n]));
        t.next[n] = value + pack{};   // no signed zero: otherwise its sign would depend on the other lanes, see go_on
        sum += ratio * ratio;
        lowest = minimum(value, lowest), pivot = minimum(t.a[diagonal[n]], pivot);
    }
    const bool below_zero = any(lowest < 0);
    for (int n = 0; below_zero && n < NS; n++) {   // a negative value counts as error; rare, so it has its own loop
        if (OVERDRAWN && overdrawn[n]) continue;
        const pack missing = minimum(t.next[n], pack{})
            * reciprocal(t.absolute[n] + real(s.relative) * maximum(t.next[n], t.y[n]));
        sum += missing * missing;
    }
    // A negative pivot: growth by more than e^(1/gamma) over the step, beyond the pole of the stability function of the method,
    // where the error estimate may be small although the solution is wrong.
    sum = pivot < 0 ? splat(real(__builtin_inf())) : sum;
    for (int lane = 0; lane < W; lane += D)
        *(dpack*)(t.error + lane) = (1.0 / NS) * __builtin_convertvector(*(const narrow*)((const real*)&sum + lane), dpack);
    return below_zero;
}

// Accepts or rejects lane by lane, and marks finished lanes: at the end of the interval, or failed, with too many steps or a
// rejected step below the resolution of time. Returns the lanes that continue from `next`.
static mask control(const Cells& s, const Method& method, Lanes& t) {
    constexpr double most = 1e20;   // mean square, also for NaN
    mask accepted = {};
    for (int lane = 0; lane < W; lane += D) {
        const dpack error = wide(t.error + lane), step = wide(t.step + lane), h = wide(t.h + lane), time = wide(t.time + lane);
        const ipack active = whole(t.cell + lane) >= 0, after = whole(t.after_rejection + lane);
        const ipack accept = active & (error <= 1.0), reject = active & ~accept;
        const dpack bounded = vmax(dsplat(1.0 / most), error < most ? error : dsplat(most));
        const dpack factor = 0.9 * vexp(vlog(bounded) * (-0.5 / double(method.order)));
        const dpack grown = step * vmin(vmax(factor, dsplat(0.2)), after ? dsplat(1.0) : dsplat(6.0));
        // a step shortened by the end of the interval does not limit the next one
        const dpack next = step < h ? vmax(grown, vmin(h, dsplat(s.longest))) : grown;
        const dpack smaller = step * (error < most ? vmax(factor, dsplat(0.1)) : dsplat(0.1));
        const dpack now = accept ? (step >= s.end - time ? dsplat(s.end) : time + step) : time;
        const dpack following = accept ? next : reject ? smaller : h;
        const ipack tried = whole(t.tried + lane) - active;
        const ipack stuck = reject & (~(following > 1e-300) | (now + following == now));
        *(dpack*)(t.h + lane) = following, *(dpack*)(t.time + lane) = now;
        *(ipack*)(t.tried + lane) = tried, *(ipack*)(t.rejected + lane) -= reject, *(ipack*)(t.after_rejection + lane) = reject;
        *(ipack*)(t.done + lane) = active & ((now >= s.end) | stuck | (tried >= s.most_steps));
        *(narrow_mask*)((number*)&accepted + lane) = __builtin_convertvector(accept, narrow_mask);
    }
    return accepted;
}

// The lanes in `accepted` continue from `next`.
static void go_on(Lanes& t, mask accepted, bool below_zero) {
    if (!below_zero && !any(~accepted)) return std::swap(t.y, t.next);
    for (int n = 0; n < NS; n++) {
        const pack kept = above_zero(n, t.next[n]);
        t.clipped[n] += accepted ? kept - t.next[n] : pack{};
        t.y[n] = accepted ? kept : t.y[n];
    }
}

// Records the start of a step and its negative species; overwrites the previous entry if that step was rejected.
NOINLINE void keep(const Record& record, const Lanes& t) {
    for (int lane = 0; lane < W; lane++) {
        const int64_t cell = t.cell[lane], number = t.tried[lane] - t.rejected[lane];
        if (cell < 0 || number >= record.count[cell]) continue;
        const int64_t at = record.first[cell] + number;
        record.time[at] = t.time[lane], record.step[at] = t.step[lane];
        for (int n = 0; n < NS; n++) record.y[at * NS + n] = t.y[n][lane], record.clipped[at * NS + n] = t.next[n][lane] < 0;
    }
}

static void put_back_done(const Cells& s, Lanes& t) {
    int left = 0, in_order = 0;
    for (int lane = 0; lane < W; lane++) left -= t.done[lane], in_order += t.cell[lane] == t.cell[0] + lane;
    if (left == W && in_order == W && t.cell[0] % W == 0) return put_back_pack(s, t);
    while (left > 0) left -= put_back(s, t);
}

static void integrate(const Cells& s, const Method& method, int64_t first, int64_t last, Lanes& t) {
    t.source = first, t.source_lane = 0, t.buffered = -1, t.y = t.state[0], t.next = t.state[1], t.guesses = false;
    for (int i = 0; i < NS; i++) t.absolute[i] = real(larger(s.absolute[i] / UNIT, 1e-37));   // a positive float
    for (int lane = 0; lane < W; lane++) t.cell[lane] = -1;
    while (refill(s, last, t) > 0) {
        if (s.degree > 0) rates_at(s, t, 0.0);
        change(s, t, t.y, t.f);
        guess_steps(s, t);
        choose_steps(s, t);
        if (s.degree > 0) {
            differentiate_in_time(s, t);
            rates_at(s, t, 0.0);
        }
        stages(s, method, t);
        const bool below_zero = finish<1>(s, method, t);
        if (s.record) keep(*s.record, t);
        go_on(t, control(s, method, t), below_zero);
        put_back_done(s, t);
    }
}

extern "C" {
int64_t airshed_lanes_bytes(int64_t inputs, int64_t degree) {
    return sizeof(Lanes) + 64 + (degree + 3) * inputs * W * (int64_t)sizeof(double);
}

// Work of one thread: ranges of packs that no other thread has taken. `memory`: airshed_lanes_bytes(), aligned to 64.
void airshed_chemistry(const Cells* cells, const Method* method, const int64_t* pieces, int64_t count, int64_t* taken,
                       void* memory) {
    const FlushDenormals flush;
    Lanes& t = *(Lanes*)memory;
    t.input = (double*)(((uintptr_t)(&t + 1) + 63) & ~(uintptr_t)63);
    t.earlier = t.input + cells->input_count * W, t.series = t.earlier + cells->input_count * W;
    for (int64_t piece; (piece = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED)) < count;)
        integrate(*cells, *method, pieces[2 * piece], pieces[2 * piece + 1], t);
}

#if INSPECTED
// Rate constants, dy/dt and the Jacobian of one pack, for tests: the same functions as in a step.
void airshed_evaluate(const double* input, const real* y, double* k, real* f, real* a) {
    static thread_local Lanes t;
    t.y = t.state[0];
    rate_constants(input, t.k);
    for (int species = 0; species < NS; species++)
        t.y[place_of_species[species]] = real(1 / UNIT) * *(const pack*)(y + species * W);
    tendency(t.k, t.y, t.f);
    jacobian(t.k, t.y, t.a);
    for (int reaction = 0; reaction < NR; reaction++)
        for (int lane = 0; lane < W; lane++) k[reaction * W + lane] = double(t.k[reaction][lane]) * unit_of_rate[reaction];
    for (int species = 0; species < NS; species++)
        *(pack*)(f + species * W) = real(UNIT) * t.f[place_of_species[species]];
    std::memcpy(a, t.a, NA * sizeof(pack));
}
#endif
}

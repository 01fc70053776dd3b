// rosenbrock.hpp: steps of any Rosenbrock method in cells, each lane of a pack with its own time, step and error control. The result
// of a cell does not depend on its neighbours. See kernels/cells/tableau.py for the formulas of a step.

constexpr double SHORTEST_GUESS = 1e-15;   // of a first step, relative to the interval: resolution of its time

INLINE double smaller(double a, double b) { return a < b ? a : b; }
INLINE double larger(double a, double b) { return a > b ? a : b; }
INLINE double infinite() { return 1e308 * 10; }

// Inputs of all lanes at their own times, by Clenshaw's recurrence.
static void inputs_at(const Cells& s, Worker& t, const double* time) {
    for (int lane = 0; lane < LANES; lane += D) {
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
static void rates_at(const Cells& s, Worker& t, double part) {   // at `part` of the steps
    alignas(64) double time[LANES];
    for (int lane = 0; lane < LANES; lane++) time[lane] = t.time[lane] + part * t.step[lane];
    inputs_at(s, t, time);
    rate_constants(t.input, t.k);
}

INLINE const double* emission(const Worker& t) { return t.input + (FIRST_PARAMETER + PARAMETERS) * W; }
INLINE const double* loss(const Cells& s, const Worker& t) { return emission(t) + s.emitted_count * W; }

// f = dy/dt at y with the present rate constants.
static void change(const Cells& s, Worker& t, ConstPacks y, Packs f) {
    tendency(t.k, y, f);
    for (int64_t e = 0; e < s.emitted_count; e++) f[s.emitted[e]] += real(1 / UNIT) * to_pack(emission(t) + e * W);
    for (int64_t l = 0; l < s.lost_count; l++) f[s.lost[l]] -= to_pack(loss(s, t) + l * W) * y[s.lost[l]];
}

// First step for lanes without one: it changes the solution by a hundredth of its tolerance beyond an Euler step.
static void guess_steps(const Cells& s, Worker& t) {
    if (!t.guesses) return;
    t.guesses = false;
    for (int lane = 0; lane < LANES; lane++) {
        if (t.cell[lane] < 0 || t.h[lane] > 0.0) continue;
        double size = 0.0, speed = 0.0;   // in double: rates in units of the tolerance may overflow a float
        for (int i = 0; i < NS; i++) {
            const double weight = 1.0 / (s.absolute[i] / UNIT + s.relative * double(in_lane(t.y[i], lane)));
            const double y = weight * double(in_lane(t.y[i], lane)), f = weight * double(in_lane(t.f[i], lane));
            size += y * y, speed += f * f;
        }
        // a concentration below its tolerance, as in an empty cell, does not indicate a time scale
        const double guess = 0.01 * root(larger(size, 1.0) / speed), length = s.end - s.start;
        t.h[lane] = guess < length ? larger(guess, SHORTEST_GUESS * length) : length;
    }
}

// df/dt at fixed y: f is linear in rate constants, emissions and loss rates, so this is f at their derivatives, which are
// central differences. Differences of f itself would suffer from cancellation by fast reactions with constant rates.
static void differentiate_in_time(const Cells& s, Worker& t) {
    constexpr double part = REAL_IS_DOUBLE ? 1e-3 : 0.03;   // of the step: near the cube root of the round-off
    rates_at(s, t, -part);
    for (int r = 0; r < NR; r++) t.fresh[r] = t.k[r];       // the queue uses `fresh` only if rate constants are constant
    copy_inputs(t.earlier, t.input, s.input_count);
    rates_at(s, t, part);
    const pack inverse = real(0.5 / part) / to_pack(t.step);
    for (int r = 0; r < NR; r++) t.k[r] = (t.k[r] - t.fresh[r]) * inverse;
    for (int64_t i = 0; i < s.input_count; i++)
        for (int lane = 0; lane < LANES; lane++)
            t.input[i * W + lane] = (t.input[i * W + lane] - t.earlier[i * W + lane]) * (0.5 / part / t.step[lane]);
    change(s, t, t.y, t.dfdt);
}

// The rest of the interval is covered by one step, or by two equal ones, rather than by one and a tiny one.
static void choose_steps(const Cells& s, Worker& t) {
    for (int lane = 0; lane < LANES; lane += D) {
        const dpack left = s.end - wide(t.time + lane), h = vmin(wide(t.h + lane), dsplat(s.longest));
        const dpack step = h >= left ? left : 2.0 * h > left ? 0.5 * left : h;
        const ipack works = whole(t.cell + lane) >= 0 & step > 0.0;
        *(dpack*)(t.step + lane) = works ? step : dsplat(1.0);   // idle: any finite number
    }
}

// Sums over the stages before stage I, unrolled: y + sum a_ij K_j, and f + sum c_ij/h K_j [+ gamma_i h df/dt].
template <int I> static void argument_of_stage(const Method& method, Worker& t) {
    fill(t.next, [&](int n) {
        pack sum = t.y[n];
        for (int j = 0; j < I; j++) sum += real(method.a[I][j]) * t.stage[j][n];
        return sum;
    });
}
template <int I> static void right_side_of_stage(const Method& method, Worker& t, bool timed) {
    const pack step = to_pack(t.step), inverse = real(1) / step, gamma = real(method.gamma_sum[I]) * step;
    fill(t.stage[I], [&](int n) {
        pack sum = t.f[n];
        for (int j = 0; j < I; j++) sum += (real(method.c[I][j]) * inverse) * t.stage[j][n];
        return sum;
    });
    if (timed) fill(t.stage[I], [&](int n) { return t.stage[I][n] + gamma * t.dfdt[n]; });
}

template <int I> static void stages_from(const Cells& s, const Method& method, Worker& t) {
    if constexpr (I < MOST_STAGES) {
        if (I >= method.stages) return;
        if (I > 0 && method.evaluates[I]) {
            argument_of_stage<I>(method, t);
            if (s.degree > 0) rates_at(s, t, method.alpha[I]);
            change(s, t, t.next, t.f);
        }
        right_side_of_stage<I>(method, t, s.degree > 0);
        solve_stage(t, I);
        stages_from<I + 1>(s, method, t);
    }
}

static void stages(const Cells& s, const Method& method, Worker& t) {
    const pack shift = real(1.0 / method.gamma) / to_pack(t.step);
    for (int i = 0; i < NS; i++) t.shift[i] = shift;
    for (int64_t l = 0; l < s.lost_count; l++) t.shift[s.lost[l]] += to_pack(loss(s, t) + l * W);
    for (int n = 0; OVERDRAWN && n < NS; n++)   // an overdrawn species is held at zero while its rate is negative
        if (overdrawn[n]) t.shift[n] = t.y[n] <= 0 ? (t.f[n] < 0 ? real(HELD) * shift : t.shift[n]) : t.shift[n];
    factor(t.k, t.y, t.shift, t.a);
    stages_from<0>(s, method, t);
}

// Replacement of a negative concentration, see kernels/cells/positivity.py.
INLINE pack below_zero(int n, pack y) { return OVERDRAWN && overdrawn[n] ? pack{} : real(-REFLECTED) * y; }
INLINE pack above_zero(int n, pack y) { return y < 0 ? below_zero(n, y) : y; }

// The new solution in `next`, and the mean square of its error over the tolerance; returns whether a value is negative.
template <int STAGES> static bool finish(const Cells& s, const Method& method, Worker& t) {
    if constexpr (STAGES < MOST_STAGES)
        if (STAGES < method.stages) return finish<STAGES + 1>(s, method, t);
    pack sum = {}, lowest = {}, pivot = {};
    const pack step = to_pack(t.step), held = real(0.5 * HELD / method.gamma) / step;
    fill(t.next, [&](int n) {
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
        sum += ratio * ratio;
        lowest = minimum(value, lowest), pivot = minimum(t.a[diagonal[n]], pivot);
        return value + pack{};   // no signed zero: otherwise its sign would depend on the other lanes, see go_on
    });
    const bool below_zero = any(lowest < 0);
    for (int n = 0; below_zero && n < NS; n++) {   // a negative value counts as error; rare, so it has its own loop
        if (OVERDRAWN && overdrawn[n]) continue;
        const pack missing = minimum(t.next[n], pack{})
            * reciprocal(t.absolute[n] + real(s.relative) * maximum(t.next[n], t.y[n]));
        sum += missing * missing;
    }
    // A negative pivot: growth by more than e^(1/gamma) over the step, beyond the pole of the stability function of the method,
    // where the error estimate may be small although the solution is wrong.
    sum = pivot < 0 ? splat(real(infinite())) : sum;
    out_of_unit(t.error, sum, 1.0 / NS);
    return below_zero;
}

// Accepts or rejects lane by lane, and marks finished lanes: at the end of the interval, or failed, with too many steps or a
// rejected step below the resolution of time. Returns the lanes that continue from `next`.
static mask control(const Cells& s, const Method& method, Worker& t) {
    constexpr double most = 1e20;   // mean square, also for NaN
    mask accepted = {};
    for (int lane = 0; lane < LANES; lane += D) {
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
        const ipack tried = whole(t.tried + lane) + ones(active);
        const ipack stuck = reject & (~(following > 1e-300) | (now + following == now));
        *(dpack*)(t.h + lane) = following, *(dpack*)(t.time + lane) = now;
        *(ipack*)(t.tried + lane) = tried, *(ipack*)(t.rejected + lane) += ones(reject), *(ipack*)(t.after_rejection + lane) = reject;
        *(ipack*)(t.done + lane) = active & ((now >= s.end) | stuck | (tried >= s.most_steps));
        set_lanes(accepted, lane, accept);
    }
    return accepted;
}

// The lanes in `accepted` continue from `next`.
static void go_on(Worker& t, mask accepted, bool below_zero) {
    if (!below_zero && all(accepted)) return take_next(t);
    for (int n = 0; n < NS; n++) {
        const pack kept = above_zero(n, t.next[n]);
        t.clipped[n] += accepted ? kept - t.next[n] : pack{};
        t.y[n] = accepted ? kept : t.y[n];
    }
}

// A step of all lanes, accepted or not.
static void try_step(const Cells& s, const Method& method, Worker& t) {
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
    record_step(s, t);
    go_on(t, control(s, method, t), below_zero);
}

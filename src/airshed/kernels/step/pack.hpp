// pack.hpp: W columns in one vector. A pack is a SIMD vector of `real`, one lane per column; `dpack` is the same in double.
// All code above this file is written once for double, float and any width. Only operations that compilers do not reduce to one
// instruction (min, max, reciprocal) name an instruction set here.
#include <cstdint>
#include <cstring>
#include <utility>

#ifndef D
#define D W                // lanes of a vector of doubles: compilers split vectors wider than those of the processor into scalars
#endif
typedef real pack __attribute__((vector_size(W * sizeof(real))));
typedef double dpack __attribute__((vector_size(D * sizeof(double))));
typedef int64_t ipack __attribute__((vector_size(D * sizeof(int64_t))));
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))    // compiled once, however often it is called: for long code

INLINE pack splat(real number) { return number - pack{}; }
INLINE dpack dsplat(double number) { return number - dpack{}; }

// a * b + c in one rounding, if the processor supports it. Contraction by compilers depends on the surrounding code; this function
// does not. Expressions that several kernels must compute with the same bits use it: see NO_CONTRACTION in
// kernels/backends/cpu/kernel.py.
#if defined(__FP_FAST_FMA) || defined(__FMA__)
INLINE double once_rounded(double a, double b, double c) { return __builtin_fma(a, b, c); }
INLINE float once_rounded(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <class Vector> INLINE Vector once_rounded(Vector a, Vector b, Vector c) {
    for (unsigned i = 0; i < sizeof c / sizeof c[0]; i++) c[i] = once_rounded(a[i], b[i], c[i]);
    return c;
}
#if defined(__FMA__) && !defined(__clang__)   // GCC optimises away the loop below and takes five times as long for rates of TS1
typedef double doubles_4 __attribute__((vector_size(32)));
typedef float floats_8 __attribute__((vector_size(32)));
INLINE doubles_4 once_rounded(doubles_4 a, doubles_4 b, doubles_4 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
INLINE floats_8 once_rounded(floats_8 a, floats_8 b, floats_8 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
#if defined(__AVX512F__)
typedef double doubles_8 __attribute__((vector_size(64)));
typedef float floats_16 __attribute__((vector_size(64)));
INLINE doubles_8 once_rounded(doubles_8 a, doubles_8 b, doubles_8 c) { return __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4); }
INLINE floats_16 once_rounded(floats_16 a, floats_16 b, floats_16 c) { return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4); }
#endif
#endif
#else
template <class Vector> INLINE Vector once_rounded(Vector a, Vector b, Vector c) { return a * b + c; }
#endif
INLINE pack fused(pack a, pack b, pack c) { return once_rounded(a, b, c); }
INLINE dpack dfused(dpack a, dpack b, dpack c) { return once_rounded(a, b, c); }

#define PACK_BYTES (W * (REAL_IS_DOUBLE ? 8 : 4))
// Declared by name: compilers take longer to read the header of the intrinsics than most mechanisms.
#if REAL_IS_DOUBLE
#define INSTRUCTION(name) name "pd"
#else
#define INSTRUCTION(name) name "ps"
#endif
#if !defined(__clang__) && ((defined(__AVX512F__) && PACK_BYTES == 64) || (defined(__AVX__) && PACK_BYTES == 32))
INLINE pack minimum(pack a, pack b) {   // GCC reduces the selection to one instruction, but not if b is zero
    pack least;
    asm(INSTRUCTION("vmin") " %2, %1, %0" : "=v"(least) : "v"(a), "vm"(b));
    return least;
}
INLINE pack maximum(pack a, pack b) {
    pack greatest;
    asm(INSTRUCTION("vmax") " %2, %1, %0" : "=v"(greatest) : "v"(a), "vm"(b));
    return greatest;
}
#else
INLINE pack minimum(pack a, pack b) { return a < b ? a : b; }
INLINE pack maximum(pack a, pack b) { return a > b ? a : b; }
#endif

#if defined(__AVX512F__) && (PACK_BYTES == 64 || (defined(__AVX512VL__) && PACK_BYTES == 32 && !REAL_IS_DOUBLE))
// 1/x for x >= 1: a 14-bit estimate and Newton steps, exact to about one unit in the last place.
INLINE pack reciprocal(pack x) {
    pack y;
    asm(INSTRUCTION("vrcp14") " %1, %0" : "=v"(y) : "vm"(x));
    y = fused(y, fused(-x, y, splat(1)), y);
    return REAL_IS_DOUBLE ? fused(y, fused(-x, y, splat(1)), y) : y;
}
#else
INLINE pack reciprocal(pack x) { return real(1) / x; }
#endif

typedef decltype(pack{} > pack{}) mask;

// A mask as a bit for each lane.
INLINE unsigned lanes_of(mask lanes) {
#if defined(__AVX512DQ__) && W == 8 && REAL_IS_DOUBLE
    typedef long long lanes_of_doubles __attribute__((vector_size(64)));
    return __builtin_ia32_cvtq2mask512((lanes_of_doubles)lanes);
#elif defined(__AVX512VL__) && defined(__AVX512DQ__) && W == 8
    return __builtin_ia32_cvtd2mask256(lanes);
#elif defined(__AVX__) && W == 4 && REAL_IS_DOUBLE
    return unsigned(__builtin_ia32_movmskpd256((pack)lanes));
#elif defined(__AVX__) && W == 8 && !REAL_IS_DOUBLE
    return unsigned(__builtin_ia32_movmskps256((pack)lanes));
#else
    unsigned bits = 0;
    for (int lane = 0; lane < W; lane++) bits |= unsigned(lanes[lane] & 1) << lane;
    return bits;
#endif
}

// Non-temporal store of data that is not read soon: the cache line is not loaded first. Visible to other threads after `end_streams`.
#if (defined(__AVX512F__) && PACK_BYTES == 64) || (defined(__AVX__) && (PACK_BYTES == 32 || PACK_BYTES == 16))
INLINE void stream(real* place, pack x) { asm volatile("vmovntps %1, %0" : "=m"(*(pack*)place) : "v"(x)); }
INLINE void end_streams() { asm volatile("sfence" ::: "memory"); }
#else
INLINE void stream(real* place, pack x) { *(pack*)place = x; }
INLINE void end_streams() {}
#endif

// Packs in memory. `pack_in` is a reference; the other functions read.
INLINE pack pack_at(const real* base, int64_t offset) { return *(const pack*)(base + offset); }
INLINE dpack dpack_at(const double* base, int64_t offset) { return *(const dpack*)(base + offset); }
INLINE pack& pack_in(real* base, int64_t offset) { return *(pack*)(base + offset); }

// Lanes of a pack, or of a pair of a pack and its tangent.
template <class Pack> INLINE auto lane_of(Pack a, int64_t lane) { return a[lane]; }
INLINE void add_lane(pack& first, pack a, int64_t lane) { first[0] += a[lane]; }   // adds one lane to the first lane of another pack
template <class Pack> INLINE bool any_nonzero(Pack a) {
    bool any = false;
    for (int i = 0; i < W; i++) any = any || a[i] != 0;
    return any;
}
INLINE double sum(pack lanes) {
    double result = 0;
    for (int lane = 0; lane < W; lane++) result += double(lanes[lane]);
    return result;
}

INLINE pack lane_mask(int64_t used) {  // 1 in lanes in use, 0 in padding
    pack mask;
    for (int i = 0; i < W; i++) mask[i] = i < used ? real(1) : real(0);
    return mask;
}

// Shifts lanes by one or two columns: `west` and `east` are the neighbours of `here`.
template <int FIRST, int... I>
INLINE pack lanes_from(pack low, pack high, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(low, high, (FIRST + I)...);
}
typedef std::make_integer_sequence<int, W> lanes;
INLINE pack from_west_1(pack west, pack here) { return lanes_from<W - 1>(west, here, lanes{}); }
INLINE pack from_east_1(pack here, pack east) { return lanes_from<1>(here, east, lanes{}); }
INLINE pack from_east_2(pack here, pack east) { return lanes_from<2>(here, east, lanes{}); }

// c[0] + c[1] x + ... + c[N-1] x^(N-1) as a tree: a third of the latency of Horner's scheme. x2 = x^2, x4 = x^4
template <int N>
INLINE dpack polynomial(const double* c, dpack x, dpack x2, dpack x4) {
    if constexpr (N == 1) return dsplat(c[0]);
    else if constexpr (N == 2) return dfused(dsplat(c[1]), x, dsplat(c[0]));
    else if constexpr (N <= 4) return dfused(polynomial<N - 2>(c + 2, x, x2, x4), x2, polynomial<2>(c, x, x2, x4));
    else if constexpr (N <= 8) return dfused(polynomial<N - 4>(c + 4, x, x2, x4), x4, polynomial<4>(c, x, x2, x4));
    else return dfused(polynomial<N - 8>(c + 8, x, x2, x4), x4 * x4, polynomial<8>(c, x, x2, x4));
}

// exp(x) in double: x = n ln 2 + r, |r| <= ln 2 / 2, a polynomial in r, the exponent added as bits. Below -700: 0.
INLINE dpack vexp(dpack x) {
    x = x > 700.0 ? dsplat(700.0) : x;
    const dpack shifted = dfused(x, dsplat(0x1.71547652b82fep+0), dsplat(0x1.8p52));
    const dpack n = shifted - 0x1.8p52;
    const dpack r = dfused(-n, dsplat(0x1.ef35793c76730p-45), dfused(-n, dsplat(0x1.62e42fefa3800p-1), x));
    const double inverse_factorials[] = {0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0,
                                         1.0 / 362880.0, 1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0,
                                         1.0 / 6227020800.0};
    const dpack r2 = r * r;
    const dpack p = dfused(polynomial<12>(inverse_factorials, r, r2, r2 * r2), r2, r) + 1.0;
    const ipack exponent = ((ipack)shifted) << 52;
    const dpack result = (dpack)((ipack)p + exponent);
    return x < -700.0 ? dpack{} : result;
}

// log(x) in double for normal x > 0; minus infinity at 0, NaN for other x: x = 2^n m, m in [sqrt(1/2), sqrt 2), log m = 2 atanh(s),
// s = (m - 1)/(m + 1).
INLINE dpack vlog(dpack x) {
    const ipack bits = (ipack)x;
    const ipack offset = bits - 0x3fe6a09e667f3bcdLL;
    const ipack n = offset >> 52;
    const dpack m = (dpack)(bits - (n << 52));
    const dpack s = (m - 1.0) / (m + 1.0);
    const dpack s2 = s * s;
    const double odd[] = {1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0,
                          1.0 / 19.0, 1.0 / 21.0};
    const dpack s4 = s2 * s2;
    const dpack log_m = dfused(2.0 * s * s2, polynomial<10>(odd, s2, s4, s4 * s4), 2.0 * s);
    const dpack found = dfused(__builtin_convertvector(n, dpack), dsplat(0x1.62e42fefa39efp-1), log_m);
    return x > 0.0 ? found : x == 0.0 ? dsplat(-__builtin_inf()) : dsplat(__builtin_nan(""));
}
INLINE dpack vlog10(dpack x) { return vlog(x) * 0x1.bcb7b1526e50ep-2; }
INLINE dpack vsqrt(dpack a) {
    for (int i = 0; i < D; i++) a[i] = __builtin_sqrt(a[i]);
    return a;
}
INLINE dpack vpower(dpack a, dpack b) {   // NaN for a < 0
    const dpack zero = vsqrt(a) * 0.0;
    return a > 0.0 ? vexp(b * vlog(a)) : b > 0.0 ? zero : b < 0.0 ? 1.0 / zero : dsplat(1.0);
}
INLINE dpack vmin(dpack a, dpack b) { return a < b ? a : b; }
INLINE dpack vmax(dpack a, dpack b) { return a > b ? a : b; }
INLINE dpack vabs(dpack a) { return a < 0.0 ? -a : a; }

// sin(x) = (-1)^n sin(r), x = n pi + r, |r| <= pi / 2, a polynomial in r; cos(x) likewise with n + 1/2. pi is split into three parts;
// n times the first two is exact. Lanes beyond a million, where it is not, are computed one by one.
INLINE dpack sine_of_rest(dpack x, dpack n, ipack odd) {
    const dpack r = ((x - n * 0x1.921fb544p+1) - n * 0x1.0b4611a6p-33) - n * 0x1.3198a2e037073p-68;
    const dpack r2 = r * r;
    const double inverse_factorials[] = {-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0,
                                         1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
                                         -1.0 / 121645100408832000.0, 1.0 / 51090942171709440000.0};
    const dpack r4 = r2 * r2;
    return (dpack)((ipack)dfused(r * r2, polynomial<10>(inverse_factorials, r2, r4, r4 * r4), r) ^ (odd << 63));
}
INLINE bool all_within(dpack x, double limit) {
    const ipack within = x < limit & x > -limit;
    int64_t all = -1;
    for (int i = 0; i < D; i++) all &= within[i];
    return all;
}
NOINLINE __attribute__((cold)) dpack far_sines(dpack x, dpack found, bool cosines) {
    for (int i = 0; i < D; i++)
        if (!(__builtin_fabs(x[i]) < 1e6)) found[i] = cosines ? __builtin_cos(x[i]) : __builtin_sin(x[i]);
    return found;
}
INLINE dpack vsin(dpack x) {
    const dpack shifted = x * 0x1.45f306dc9c883p-2 + 0x1.8p52;
    const dpack found = sine_of_rest(x, shifted - 0x1.8p52, (ipack)shifted);
    return __builtin_expect(all_within(x, 1e6), 1) ? found : far_sines(x, found, false);
}
INLINE dpack vcos(dpack x) {
    const dpack shifted = (x * 0x1.45f306dc9c883p-2 - 0.5) + 0x1.8p52;
    const dpack found = sine_of_rest(x, (shifted - 0x1.8p52) + 0.5, (ipack)shifted + 1);
    return __builtin_expect(all_within(x, 1e6), 1) ? found : far_sines(x, found, true);
}

// Functions without a form on packs, lane by lane. A remainder has the sign of the divisor.
INLINE dpack vtan(dpack a) {
    for (int i = 0; i < D; i++) a[i] = __builtin_tan(a[i]);
    return a;
}
INLINE dpack vmodulo(dpack a, dpack b) {
    for (int i = 0; i < D; i++) {
        const double m = __builtin_fmod(a[i], b[i]);
        a[i] = m && (m < 0) != (b[i] < 0) ? m + b[i] : m;
    }
    return a;
}
#if D == W
INLINE pack to_real(dpack a) { return __builtin_convertvector(a, pack); }
INLINE dpack to_double(pack a) { return __builtin_convertvector(a, dpack); }
#endif

struct FlushDenormals {    // denormal mixing ratios would slow every operation down a hundredfold
#if defined(__SSE__)
    unsigned saved = __builtin_ia32_stmxcsr();
    FlushDenormals() { __builtin_ia32_ldmxcsr(saved | 0x8040); }
    ~FlushDenormals() { __builtin_ia32_ldmxcsr(saved); }
#endif
};

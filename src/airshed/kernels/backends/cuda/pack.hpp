// pack.hpp: a warp as a pack. Each of its W threads has one lane of every pack, and reads other lanes by shuffles, so that the code of the
// step is that of the CPU. All threads of a warp take the same branches around shuffles.
#define INLINE static inline
#define NOINLINE static __attribute__((noinline))
typedef real pack;
typedef double dpack;
constexpr unsigned ALL = 0xffffffffu;

#ifndef OWN_LANE           // lane of this thread in packs in memory, which can differ from its lane in the warp
#define OWN_LANE threadIdx.x % W
#endif
INLINE int own_lane() { return OWN_LANE; }
INLINE pack splat(real number) { return number; }
INLINE dpack dsplat(double number) { return number; }
INLINE double fused(double a, double b, double c) { return fma(a, b, c); }
INLINE float fused(float a, float b, float c) { return fmaf(a, b, c); }
INLINE pack minimum(pack a, pack b) { return a < b ? a : b; }
INLINE pack maximum(pack a, pack b) { return a > b ? a : b; }
#if defined(__CUDA_ARCH__) && REAL_IS_DOUBLE
INLINE pack reciprocal(pack x) {           // exact to about one unit in the last place for normal numbers, a third of the code of a division
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
}
#else
INLINE pack reciprocal(pack x) { return real(1) / x; }
#endif
INLINE double product(double a, double b) { return __dmul_rn(a, b); }   // not fused into a sum
INLINE float product(float a, float b) { return __fmul_rn(a, b); }
INLINE pack to_real(dpack a) { return real(a); }
INLINE dpack to_double(pack a) { return double(a); }
INLINE double now() { return 0; }          // the parts of a step are not timed

// ---- the lane of this thread in packs in memory -------------------------------------------------------------------------------
INLINE pack pack_at(const real* base, int64_t offset) { return base[offset + own_lane()]; }
INLINE dpack dpack_at(const double* base, int64_t offset) { return base[offset + own_lane()]; }
INLINE pack& pack_in(real* base, int64_t offset) { return base[offset + own_lane()]; }

// ---- lanes ---------------------------------------------------------------------------------------------------------------------
INLINE pack lane_of(pack a, int64_t lane) { return __shfl_sync(ALL, a, int(lane)); }
INLINE void add_lane(pack& first, pack a, int64_t lane) {
    const pack added = lane_of(a, lane);
    if (own_lane() == 0) first += added;
}
INLINE bool any_nonzero(dpack a) { return __any_sync(ALL, a != 0); }
INLINE pack lane_mask(int64_t used) { return own_lane() < used ? real(1) : real(0); }
INLINE pack from_west_1(pack west, pack here) {
    const pack beyond = __shfl_sync(ALL, west, W - 1), inside = __shfl_up_sync(ALL, here, 1);
    return own_lane() == 0 ? beyond : inside;
}
template <int AWAY> INLINE pack from_east(pack here, pack east) {
    const int from = (own_lane() + AWAY) % W;
    const pack inside = __shfl_sync(ALL, here, from), beyond = __shfl_sync(ALL, east, from);
    return own_lane() < W - AWAY ? inside : beyond;
}
INLINE pack from_east_1(pack here, pack east) { return from_east<1>(here, east); }
INLINE pack from_east_2(pack here, pack east) { return from_east<2>(here, east); }

// The sum of all lanes as a tree, the same bits in all threads.
NOINLINE double sum_of_lanes(double lanes) {
    for (int away = W / 2; away > 0; away /= 2) lanes += __shfl_xor_sync(ALL, lanes, away);
    return lanes;
}
INLINE double sum(pack lanes) { return sum_of_lanes(double(lanes)); }

// ---- functions of formulas -----------------------------------------------------------------------------------------------------
INLINE dpack vexp(dpack x) { return x < -700.0 ? 0.0 : exp(x > 700.0 ? 700.0 : x); }
INLINE dpack vlog(dpack x) { return log(x); }
INLINE dpack vlog10(dpack x) { return log10(x); }
INLINE dpack vsqrt(dpack x) { return sqrt(x); }
INLINE dpack vpower(dpack a, dpack b) {   // NaN for a < 0
    const dpack zero = sqrt(a) * 0.0;
    return a > 0.0 ? vexp(b * vlog(a)) : b > 0.0 ? zero : b < 0.0 ? 1.0 / zero : 1.0;
}
INLINE dpack vmin(dpack a, dpack b) { return a < b ? a : b; }
INLINE dpack vmax(dpack a, dpack b) { return a > b ? a : b; }
INLINE dpack vabs(dpack a) { return a < 0.0 ? -a : a; }
INLINE dpack vsin(dpack a) { return sin(a); }
INLINE dpack vcos(dpack a) { return cos(a); }
INLINE dpack vtan(dpack a) { return tan(a); }
INLINE dpack vmodulo(dpack a, dpack b) {
    const double m = fmod(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

// ---- values have no tangent ----------------------------------------------------------------------------------------------------
typedef pack value;
typedef dpack dvalue;
typedef real scalar;
typedef double dscalar;
template <class Chosen> INLINE Chosen select(bool condition, Chosen yes, Chosen no) { return condition ? yes : no; }
INLINE pack not_below_zero(pack a) { return maximum(a, pack{}); }
INLINE pack plain(pack a) { return a; }
INLINE void set_lane(pack& a, int64_t lane, real number) { if (own_lane() == lane) a = number; }

// Values in sequence in memory, each W numbers after the one before.
template <class Number> struct Lanes {
    Number* first;
    INLINE_MEMBER Number& operator[](int64_t i) const { return first[i * W]; }
    INLINE_MEMBER Lanes operator+(int64_t i) const { return {first + i * W}; }
    INLINE_MEMBER operator Lanes<const Number>() const { return {first}; }
    INLINE_MEMBER explicit operator Number*() const { return first; }
};
typedef Lanes<const scalar> ConstValues;
INLINE value at(const scalar* base, int64_t offset) { return pack_at(base, offset); }
INLINE value& value_in(scalar* base, int64_t offset) { return pack_in(base, offset); }
INLINE Lanes<scalar> values_at(scalar* base, int64_t offset) { return {base + offset + own_lane()}; }
INLINE ConstValues values_at(const scalar* base, int64_t offset) { return {base + offset + own_lane()}; }

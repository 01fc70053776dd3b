// tangent/value.hpp: values with a tangent (forward-mode dual numbers), in place of value.hpp. Every operation of the step on values
// also acts on their tangents, by its derivative rule, so that no other code contains derivatives.
//
// In memory the tangent of a pack follows it, [..][2][W]. A `scalar` is one lane with its tangent, so that pointer arithmetic on
// values is the same as on packs.
//
// Selections compare values. At a tie of two values the first is selected; at a tie of a value and a pack, the pack, whose tangent
// is zero. So a limited slope has tangent zero at an extremum. Clipping removes the tangent of negative values, not that of zero.
#define RULE friend inline __attribute__((always_inline))
#define INLINE_MEMBER inline __attribute__((always_inline))

template <class S> struct lane {
    S v, d;
    RULE bool operator>(lane a, S b) { return a.v > b; }
    RULE bool operator!=(lane a, S b) { return a.v != b || a.d != 0; }   // a value with a tangent is not zero
    RULE lane operator*(S a, lane b) { return {a * b.v, a * b.d}; }
};

template <class V, class S> struct dual {
    V v, d;                // value and change
    dual() = default;
    INLINE_MEMBER dual(V v) : v(v), d{} {}
    INLINE_MEMBER dual(V v, V d) : v(v), d(d) {}
    INLINE_MEMBER lane<S> operator[](int i) const { return {v[i], d[i]}; }
    INLINE_MEMBER dual operator-() const { return {-v, -d}; }
    INLINE_MEMBER dual& operator+=(dual b) { return v += b.v, d += b.d, *this; }

    RULE dual operator+(dual a, dual b) { return {a.v + b.v, a.d + b.d}; }
    RULE dual operator-(dual a, dual b) { return {a.v - b.v, a.d - b.d}; }
    RULE dual operator*(dual a, dual b) { return {a.v * b.v, a.v * b.d + a.d * b.v}; }
    RULE dual operator/(dual a, dual b) {
        const V ratio = a.v / b.v;
        return {ratio, (a.d - ratio * b.d) / b.v};
    }
    RULE auto operator>(dual a, dual b) { return a.v > b.v; }
    RULE auto operator<(dual a, dual b) { return a.v < b.v; }
    RULE auto operator>=(dual a, dual b) { return a.v >= b.v; }
    RULE auto operator<=(dual a, dual b) { return a.v <= b.v; }
    RULE auto operator==(dual a, dual b) { return a.v == b.v; }
    RULE auto operator!=(dual a, dual b) { return a.v != b.v; }

    // Operations with constants: packs P = V, and numbers P = S.
#define WITHOUT_CHANGE(P) \
    RULE dual operator+(dual a, P b) { return {a.v + b, a.d}; } \
    RULE dual operator+(P a, dual b) { return {a + b.v, b.d}; } \
    RULE dual operator-(dual a, P b) { return {a.v - b, a.d}; } \
    RULE dual operator-(P a, dual b) { return {a - b.v, -b.d}; } \
    RULE dual operator*(dual a, P b) { return {a.v * b, a.d * b}; } \
    RULE dual operator*(P a, dual b) { return {a * b.v, a * b.d}; } \
    RULE dual operator/(dual a, P b) { return {a.v / b, a.d / b}; } \
    RULE dual operator/(P a, dual b) { const V ratio = a / b.v; return {ratio, -ratio * b.d / b.v}; } \
    RULE auto operator>(dual a, P b) { return a.v > b; } \
    RULE auto operator>(P a, dual b) { return a > b.v; } \
    RULE auto operator<(dual a, P b) { return a.v < b; } \
    RULE auto operator<(P a, dual b) { return a < b.v; } \
    RULE auto operator>=(dual a, P b) { return a.v >= b; } \
    RULE auto operator>=(P a, dual b) { return a >= b.v; } \
    RULE auto operator<=(dual a, P b) { return a.v <= b; } \
    RULE auto operator<=(P a, dual b) { return a <= b.v; } \
    RULE auto operator==(dual a, P b) { return a.v == b; } \
    RULE auto operator!=(dual a, P b) { return a.v != b; }
    WITHOUT_CHANGE(V)
    WITHOUT_CHANGE(S)

    template <class Mask> RULE dual select(Mask condition, dual a, dual b) { return {condition ? a.v : b.v, condition ? a.d : b.d}; }
    RULE dual minimum(dual a, dual b) { return select(a.v <= b.v, a, b); }
    RULE dual maximum(dual a, dual b) { return select(a.v >= b.v, a, b); }
    RULE dual minimum(dual a, V b) { return select(a.v < b, a, dual(b)); }
    RULE dual maximum(dual a, V b) { return select(a.v > b, a, dual(b)); }
};

template <class Mask, class V> INLINE V select(Mask condition, V yes, V no) { return condition ? yes : no; }

typedef dual<pack, real> value;
typedef dual<dpack, double> dvalue;
typedef lane<real> scalar;
typedef lane<double> dscalar;

// ---- operations on values other than arithmetic -------------------------------------------------------------------------------
INLINE value not_below_zero(value a) { return select(a.v < 0, value{}, a); }
INLINE pack plain(value a) { return a.v; }
INLINE value splat(scalar a) { return {splat(a.v), splat(a.d)}; }
INLINE void set_lane(value& a, int lane, scalar number) { a.v[lane] = number.v, a.d[lane] = number.d; }
typedef value* Values;
typedef const value* ConstValues;
typedef value* __restrict RestrictedValues;
INLINE value at(const scalar* base, int64_t offset) { return *(const value*)(base + offset); }
INLINE pack at(const real* base, int64_t offset) { return pack_at(base, offset); }
INLINE value& value_in(scalar* base, int64_t offset) { return *(value*)(base + offset); }
INLINE Values values_at(scalar* base, int64_t offset) { return (Values)(base + offset); }
INLINE ConstValues values_at(const scalar* base, int64_t offset) { return (ConstValues)(base + offset); }

INLINE value fused(pack a, value b, value c) { return {fused(a, b.v, c.v), fused(a, b.d, c.d)}; }
INLINE value fused(value a, value b, value c) { return {fused(a.v, b.v, c.v), fused(a.v, b.d, fused(a.d, b.v, c.d))}; }
INLINE value reciprocal(value a) {
    const pack inverse = reciprocal(a.v);
    return {inverse, -(inverse * inverse) * a.d};
}
INLINE value between(const scalar* start, const scalar* end, pack weight, int64_t offset) {
    const value a = at(start, offset), b = at(end, offset);
    return fused(weight, b - a, a);
}

INLINE value from_west_1(value west, value here) { return {from_west_1(west.v, here.v), from_west_1(west.d, here.d)}; }
INLINE value from_east_1(value here, value east) { return {from_east_1(here.v, east.v), from_east_1(here.d, east.d)}; }
INLINE value from_east_2(value here, value east) { return {from_east_2(here.v, east.v), from_east_2(here.d, east.d)}; }

// The factor on the rate of a reaction is one and may have a tangent; it does not change values.
struct Factor {
    double one, change;
    operator value() const { return {splat(real(one)), splat(real(change))}; }
};
INLINE value operator*(value a, Factor f) { return {a.v, a.d + real(f.change) * a.v}; }
INLINE value operator*(pack a, Factor f) { return {a, real(f.change) * a}; }
INLINE value operator*(real a, Factor f) { return {splat(a), splat(a * real(f.change))}; }
INLINE value operator*(Factor f, value a) { return a * f; }
INLINE value operator+(Factor f, Factor g) { return value(f) + value(g); }

// ---- functions of formulas, in double -------------------------------------------------------------------------------------------
INLINE value to_real(dvalue a) { return {to_real(a.v), to_real(a.d)}; }
INLINE dvalue to_double(value a) { return {to_double(a.v), to_double(a.d)}; }
INLINE dvalue dsplat(dscalar a) { return {dsplat(a.v), dsplat(a.d)}; }

// A zero tangent gives a zero tangent, also where the derivative is infinite.
INLINE dvalue along(dpack result, dpack slope, dpack change) { return {result, change == 0.0 ? dpack{} : slope * change}; }

INLINE dvalue vexp(dvalue a) {
    const dpack result = vexp(a.v);
    return {result, result * a.d};
}
INLINE dvalue vlog(dvalue a) { return along(vlog(a.v), 1.0 / a.v, a.d); }
INLINE dvalue vlog10(dvalue a) { return along(vlog10(a.v), 0x1.bcb7b1526e50ep-2 / a.v, a.d); }
INLINE dvalue vsqrt(dvalue a) {
    const dpack root = vsqrt(a.v);
    return along(root, 0.5 / root, a.d);
}
INLINE dvalue vpower(dvalue a, dvalue b) {
    const dpack result = vpower(a.v, b.v);
    return {result, along(result, b.v * vpower(a.v, b.v - 1.0), a.d).d + along(result, result * vlog(a.v), b.d).d};
}
INLINE dvalue vabs(dvalue a) { return select(a.v < 0.0, -a, a); }
INLINE dvalue vsin(dvalue a) { return {vsin(a.v), vcos(a.v) * a.d}; }
INLINE dvalue vcos(dvalue a) { return {vcos(a.v), -vsin(a.v) * a.d}; }
INLINE dvalue vtan(dvalue a) {
    const dpack tangent = vtan(a.v);
    return {tangent, (1.0 + tangent * tangent) * a.d};
}
INLINE dvalue vmodulo(dvalue a, dvalue b) {
    const dpack rest = vmodulo(a.v, b.v);
    return {rest, a.d - (a.v - rest) / b.v * b.d};
}
INLINE dvalue vmin(dvalue a, dvalue b) { return select(a.v < b.v, a, b); }
INLINE dvalue vmax(dvalue a, dvalue b) { return select(a.v > b.v, a, b); }

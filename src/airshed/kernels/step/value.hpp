// value.hpp: `value` is a pack of a quantity that may have a tangent: mixing ratios, their tendencies, rates of operators, sources.
// In the step it is a pack. In the tangent step, tangent/value.hpp replaces this file, and a value has a tangent, so that all code
// for values is differentiated. Quantities of type pack, such as air and weights, have no tangent.
typedef pack value;
typedef dpack dvalue;
typedef real scalar;       // one lane of a value; pointers to values count scalars
typedef double dscalar;

template <class Mask, class Chosen> INLINE Chosen select(Mask condition, Chosen yes, Chosen no) { return condition ? yes : no; }
INLINE pack not_below_zero(pack a) { return maximum(a, pack{}); }
INLINE pack plain(pack a) { return a; }    // without its tangent
INLINE void set_lane(pack& a, int lane, real number) { a[lane] = number; }

// Values in memory: one, a reference to one, and several in sequence, such as the levels of a species.
typedef value* Values;
typedef const value* ConstValues;
typedef value* __restrict RestrictedValues;
INLINE value at(const scalar* base, int64_t offset) { return pack_at(base, offset); }
INLINE value& value_in(scalar* base, int64_t offset) { return pack_in(base, offset); }
INLINE Values values_at(scalar* base, int64_t offset) { return (Values)(base + offset); }
INLINE ConstValues values_at(const scalar* base, int64_t offset) { return (ConstValues)(base + offset); }

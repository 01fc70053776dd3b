// value.hpp: `value` is a pack of what may change as the state does: mixing ratios, their tendencies, rates of operators, sources.
// In the step it is a pack and no more. In its tangent, where tangent/value.hpp stands in this place, it carries its change along,
// and all that is written for values differentiates itself; what is a pack there, as air and weights are, has no change.
typedef pack value;
typedef dpack dvalue;
typedef real scalar;       // one lane of a value; pointers to values in memory count in it
typedef double dscalar;

template <class Mask, class Chosen> INLINE Chosen select(Mask condition, Chosen yes, Chosen no) { return condition ? yes : no; }
INLINE pack not_below_zero(pack a) { return maximum(a, pack{}); }
INLINE pack plain(pack a) { return a; }    // without its change
INLINE void set_lane(pack& a, int lane, real number) { a[lane] = number; }

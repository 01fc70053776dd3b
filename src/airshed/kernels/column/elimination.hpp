// elimination.hpp: tri-diagonal systems by forward elimination and back substitution, with all levels of a column in one thread.
// backends/cuda/elimination.hpp replaces this file.

struct Elimination {       // of one species: y_k = constant_k + slope_k y_(k+1)
    value slope[NZ], constant[NZ], loss[NZ];
};

template <int S> INLINE void eliminate(const Worker& t, int s, int z, value P, value L, Elimination& e, value& slope, value& constant) {
    value above;
    const value inverse = reciprocal(diagonal_of<S>(t, s, z, L, slope, above));
    constant = fused(t.below[z], constant, fused(t.g, P, t.rhs[s * NZ + z])) * inverse;
    slope = above * inverse;
    e.slope[z] = slope, e.constant[z] = constant, e.loss[z] = L;
}

template <int N> INLINE void join_levels(Elimination (&)[N]) {}   // no other thread has levels of these columns

template <int S> INLINE void substitute(Worker& t, int s, const Elimination& e, pack produced, Values y) {
    value solved = value{};
    ColumnSums sums;
    for (int z = NZ - 1; z >= 0; z--) {
        solved = fused(e.slope[z], solved, e.constant[z]);
        limit<S>(t, s, z, solved, plain(e.loss[z]), y, sums);
    }
    limit_at_ground<S>(t, s, sums);
    store_sums<S>(t, s, produced, sums);
}

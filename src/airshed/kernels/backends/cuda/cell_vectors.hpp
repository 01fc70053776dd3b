// cell_vectors.hpp: packs and numbers in memory, for the generated functions of cells. Addresses of packs are those of the lane of this
// thread. It never reads other lanes, because other threads compute other steps.
#define RESTRICT
#define NUMBERS static __constant__ real   // coefficients: all threads of a warp read the same one
#define TABLE static __constant__ const
typedef Lanes<const real> ConstPacks;
typedef Lanes<real> Packs;
#define NEAR(array, window, middle) const auto array##window = array + middle
#define FORGET
INLINE dpack wide(const double* place) { return *place; }
INLINE void store(real* k, int reaction, dpack value) { k[reaction * W] = real(value); }

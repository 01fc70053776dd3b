// levels.hpp: the levels that a thread computes, and its memory for them. On the CPU these are all levels of its columns, and the flux
// through a face between blocks is computed once. backends/cuda/levels.hpp replaces this file.
constexpr bool WHOLE_COLUMNS = true;
constexpr int OWN_LEVELS = NZ;
constexpr int first_level() { return 0; }
#define EACH_LEVEL(z) for (int z = 0; z < NZ; z++)

// N numbers [row][level]; a row is a species, a function, or the only one. After `link_levels`, LinkedLevels include the levels of the
// threads below and above.
template <class T, int N = NZ> using Levels = T[N];
template <class T, int N = NZ> using LinkedLevels = T[N];
template <class T> INLINE void link_levels(T&) {}
typedef pack* LevelPacks;
typedef const pack* __restrict ConstLevelPacks;
typedef value* LevelValues;
typedef value RightHandSides[NS * NZ];
template <int M, int N> using BlockSums = pack[M][N];

// Packs of which only the last two, or the first two lanes are used.
INLINE value at_end(const scalar* base, int64_t offset) { return at(base, offset); }
INLINE value at_start(const scalar* base, int64_t offset) { return at(base, offset); }

// A product that is not fused into a sum, so that both threads at a face compute the same bits. On the CPU other uses of the product
// prevent the fusion.
template <class Value> INLINE Value product(pack a, Value b) { return a * b; }

// levels.hpp: the levels that a thread computes, and its memory for them. On the CPU these are all levels of its columns, and faces between
// blocks are computed once and passed on. backends/cuda/levels.hpp replaces this file.
constexpr bool WHOLE_COLUMNS = true;
constexpr int OWN_LEVELS = NZ;
constexpr int first_level() { return 0; }
#define EACH_LEVEL(z) for (int z = 0; z < NZ; z++)

// Numbers [row][level], N in all: rows of species, of functions, or one. Linked ones include the levels of other threads below and above,
// after `link_levels`.
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

// A product that is not fused into a sum: both threads that compute a face compute the same bits. On the CPU the other uses of the
// product prevent it.
template <class Value> INLINE Value product(pack a, Value b) { return a * b; }

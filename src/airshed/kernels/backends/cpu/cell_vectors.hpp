// cell_vectors.hpp: packs and numbers in memory, for the generated functions of cells. backends/cuda/cell_vectors.hpp
// replaces this file.
#define RESTRICT __restrict
#define NUMBERS static real          // coefficients, in a table from which the compiler must load them
#define TABLE constexpr
typedef const pack* ConstPacks;
typedef pack* Packs;
// A pointer into an array that the compiler does not trace back to its first element.
#define NEAR(array, window, middle) auto* array##window = array + middle; asm("" : "+r"(array##window))
#define FORGET asm volatile("" ::: "memory")   // compiler barrier: values in memory are reloaded

// D lanes as doubles, and as numbers of the state.
typedef real narrow __attribute__((vector_size(D * sizeof(real))));
INLINE dpack wide(const double* place) { return *(const dpack*)place; }
INLINE void store(real* k, int reaction, dpack value) { *(narrow*)(k + reaction * W) = __builtin_convertvector(value, narrow); }
#define INLINE_MEMBER inline __attribute__((always_inline))

// levels.hpp: the levels that a thread of a device computes, and its memory for them. It replaces step/levels.hpp.
constexpr bool WHOLE_COLUMNS = false;
#define EACH_LEVEL(z) for (int own_level = 0; own_level < OWN_LEVELS; own_level++) if (const int z = first_level() + own_level; z < NZ)

// Numbers [row][level of this thread], with the index [row * NZ + level]. The index of a constant row is a constant, so that the number is
// in a register.
template <class T, int N = NZ> struct Levels {
    static constexpr int ROWS = (N + NZ - 1) / NZ;
    T own[ROWS * OWN_LEVELS];
    INLINE_MEMBER T& operator[](int i) { return own[place(i)]; }
    INLINE_MEMBER const T& operator[](int i) const { return own[place(i)]; }
    INLINE_MEMBER static int place(int i) {
        const int k = i - first_level();
        return ROWS == 1 ? (OWN_LEVELS == 1 ? 0 : k) : k / NZ * OWN_LEVELS + k % NZ;
    }
};

// The same with the levels below (only in the first row) and above.
template <class T, int N = NZ> struct LinkedLevels {
    static constexpr int ROWS = (N + NZ - 1) / NZ, ROW = OWN_LEVELS + 2;
    T own[ROWS * ROW];
    INLINE_MEMBER T& operator[](int i) { return own[place(i)]; }
    INLINE_MEMBER const T& operator[](int i) const { return own[place(i)]; }
    INLINE_MEMBER static int place(int i) {
        const int k = i - first_level(), row = ROWS == 1 || k < 0 ? 0 : k / NZ;
        return row * ROW + 1 + k - row * NZ;
    }
};

template <class T, int N> INLINE void link_levels(LinkedLevels<T, N>& levels) {
    constexpr int ROW = LinkedLevels<T, N>::ROW;
    for (T* row = levels.own; row < levels.own + LinkedLevels<T, N>::ROWS * ROW; row += ROW) {
        row[0] = __shfl_up_sync(ALL, row[OWN_LEVELS], 1);
        row[OWN_LEVELS + 1] = __shfl_down_sync(ALL, row[1], 1);
    }
}

template <class Number> struct LevelView {             // of Levels
    Number* own;
    template <class T, int N> INLINE_MEMBER LevelView(Levels<T, N>& levels) : own(levels.own) {}
    INLINE_MEMBER Number& operator[](int i) const {
        const int k = i - first_level();
        return own[k / NZ * OWN_LEVELS + k % NZ];
    }
};
typedef LevelView<pack> LevelPacks, ConstLevelPacks, LevelValues;
typedef RIGHT_HAND_SIDES RightHandSides;
typedef VALUES Values;
typedef Values RestrictedValues;

// Packs of which only the last two, or the first two lanes are used and read.
INLINE value at_end(const real* base, int64_t offset) { return own_lane() >= W - 2 ? pack_at(base, offset) : value(0); }
INLINE value at_start(const real* base, int64_t offset) { return own_lane() < 2 ? pack_at(base, offset) : value(0); }

// Sums of a block [term][species]. Each warp adds up its lanes, and stores the result as one of the SUMMANDS of a sum, which has the index
// of its level or column. `airshed_sums` adds up the summands.
constexpr int SUMMANDS = NZ > W ? NZ : W;
struct Summand {
    double* place;
    bool wanted;
    INLINE_MEMBER void operator=(pack lanes) const {
        if (!wanted) return;
        const double total = sum(lanes);
        if (threadIdx.x % 32 == 0) *place = total;
    }
};
struct SummandsOfTerm {
    double* first;
    bool wanted;
    INLINE_MEMBER Summand operator[](int i) const { return {first + i * SUMMANDS, wanted}; }
};
template <int M, int N> struct BlockSums {
    double* first;
    bool wanted;
    INLINE_MEMBER SummandsOfTerm operator[](int term) const { return {first + term * N * SUMMANDS, wanted}; }
};

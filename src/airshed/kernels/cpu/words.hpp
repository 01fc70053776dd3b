// Numbers in memory that processes share, by which one shows the others that what it wrote before is there.
#include <cstdint>

extern "C" {
// Whoever sees the number sees all that was written before.
void airshed_show(int64_t* word, int64_t number) { __atomic_store_n(word, number, __ATOMIC_RELEASE); }

// Whether all of `count` words, some bytes apart, have come to a number.
int64_t airshed_shown(const char* first, int64_t count, int64_t apart, int64_t number) {
    for (int64_t i = 0; i < count; i++)
        if (__atomic_load_n((const int64_t*)(first + i * apart), __ATOMIC_ACQUIRE) < number) return 0;
    return 1;
}
}

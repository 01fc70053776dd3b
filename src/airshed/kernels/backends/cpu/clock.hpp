// clock.hpp: the wall time of the parts of a step.
#include <time.h>

// [s] of a monotonic clock. (The clock of C: compilers take longer to read the headers of the C++ clock, numeric functions or
// containers than a whole small mechanism.)
INLINE double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

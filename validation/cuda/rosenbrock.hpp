// rosenbrock.hpp: Rosenbrock steps of fixed length in independent cells, a thread for each cell, for measurements. See README.md.
//
// Statements are those of the CPU's code for packs. Working memory of a cell belongs to its thread, with values of 32 threads
// contiguous; a thread uses it for one cell after another: SLOTS threads, so that all of it may fit into a cache.
typedef real pack;
#define FORGET
#define OWN (3 * NS + NR + NA + STAGES * NS)

struct Vector {                      // of one thread of 32
    real* first;
    MEMBER real& operator[](int i) const { return first[i * 32]; }
};
struct Uniform {
    real value;
    MEMBER real operator[](int) const { return value; }
};

APART void tendency(Vector k, Vector y, Vector f) { TENDENCY }
APART void factor(Vector k, Vector y, Uniform shift, Vector a) { FACTOR }
APART void solve_cell(Vector a, Vector x) { FORWARD BACKWARD }

KERNEL(rosenbrock, CELL_THREADS)(const Step s) {
    const int slot = blockIdx.x * CELL_THREADS + threadIdx.x;
    const Vector y = {s.rhs + (long long)(slot / 32) * OWN * 32 + slot % 32}, next = {y.first + NS * 32}, f = {next.first + NS * 32};
    const Vector k = {f.first + NS * 32}, a = {k.first + NR * 32}, stages = {a.first + NA * 32};
    const real inverse = real(1.0 / s.g);
    for (long long cell = slot; cell < s.nx; cell += s.outer) {
        for (int i = 0; i < NR; i++) k[i] = s.rate[i * s.nx + cell];
        for (int i = 0; i < NS; i++) y[i] = s.q[i * s.nx + cell];
        for (int step = 0; step < s.sweeps; step++) {
            factor(k, y, {real(1.0 / GAMMA) * inverse}, a);
            for (int i = 0; i < STAGES; i++) {
                const Vector stage = {stages.first + i * NS * 32};
                if (i == 0) tendency(k, y, f);
                else if (EVALUATES[i]) {
                    for (int n = 0; n < NS; n++) {
                        real sum = y[n];
                        for (int j = 0; j < i; j++) sum += real(A[i * STAGES + j]) * stages[j * NS + n];
                        next[n] = sum;
                    }
                    tendency(k, next, f);
                }
                for (int n = 0; n < NS; n++) {
                    real sum = f[n];
                    for (int j = 0; j < i; j++) sum += real(C[i * STAGES + j]) * inverse * stages[j * NS + n];
                    stage[n] = sum;
                }
                solve_cell(a, stage);
            }
            for (int n = 0; n < NS; n++) {
                real sum = y[n];
                for (int j = 0; j < STAGES; j++) sum += real(M[j]) * stages[j * NS + n];
                y[n] = most(sum, real(0));
            }
        }
        for (int i = 0; i < NS; i++) s.other[i * s.nx + cell] = y[i];
    }
}

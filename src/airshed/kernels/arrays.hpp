// arrays.hpp: operations on plain arrays (..., row, column) that need several passes in NumPy; see kernels/arrays.py.
// Fields are double, C order. Products and sums are rounded one by one, as written, so that NumPy gives the same bits.
#include <stdint.h>
#include <vector>

// (outer, rows, columns) -> [rows][blocks][outer][width]; lanes beyond the last column repeat it, or are zero.
template <class real>
static void pack(const double* field, int64_t outer, int64_t rows, int64_t columns, int64_t blocks, int64_t width,
                 bool repeat, real* packed) {
    for (int64_t row = 0; row < rows; row++)
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t first = block * width, left = columns - first;
            const int64_t inside = left < 0 ? 0 : left < width ? left : width;
            for (int64_t n = 0; n < outer; n++, packed += width) {
                const double* line = field + (n * rows + row) * columns;
                for (int64_t lane = 0; lane < inside; lane++) packed[lane] = (real)line[first + lane];
                for (int64_t lane = inside; lane < width; lane++) packed[lane] = repeat ? (real)line[columns - 1] : 0;
            }
        }
}

// Positions of the ascending faces between the nodes of a few columns: [face][lane].
enum { LANES = 32 };
struct Places {
    std::vector<int64_t> below;       // last node at or below the face, except the topmost node: start of a segment
    std::vector<double> step, width;  // from that node to the face, and to the next node

    Places(int64_t count) : below(count * LANES), step(count * LANES), width(count * LANES) {}

    void find(const double* heights, int64_t nodes, int64_t columns, int64_t lanes, const double* faces, int64_t count) {
        for (int64_t face = 0; face < count; face++) {
            int64_t* node = &below[face * LANES];
            for (int64_t c = 0; c < lanes; c++) node[c] = 0;
            for (int64_t k = 1; k < nodes - 1; k++)
                for (int64_t c = 0; c < lanes; c++) node[c] += heights[k * columns + c] <= faces[face];
            for (int64_t c = 0; c < lanes; c++) {
                const double low = heights[node[c] * columns + c];
                step[face * LANES + c] = faces[face] - low;
                width[face * LANES + c] = heights[(node[c] + 1) * columns + c] - low;
            }
        }
    }
};

// Values at the faces, or integrals from the lowest node to the faces, of fields (field, node, column) that are linear
// between heights (node, column): (field, face, column).
template <bool integrated>
static void to_faces(const double* heights, const double* values, const double* faces, int64_t fields, int64_t nodes,
                     int64_t columns, int64_t count, double* found) {
    Places places(count);
    std::vector<double> upto(nodes * LANES);  // the integral up to each node
    for (int64_t first = 0; first < columns; first += LANES) {
        const int64_t lanes = columns - first < LANES ? columns - first : LANES;
        const double* h = heights + first;
        places.find(h, nodes, columns, lanes, faces, count);
        for (int64_t f = 0; f < fields; f++) {
            const double* v = values + f * nodes * columns + first;
            for (int64_t k = 1; integrated && k < nodes; k++)
                for (int64_t c = 0; c < lanes; c++) {
                    const int64_t low = (k - 1) * columns + c, high = k * columns + c;
                    upto[k * LANES + c] = upto[(k - 1) * LANES + c] + 0.5 * (h[high] - h[low]) * (v[high] + v[low]);
                }
            for (int64_t face = 0; face < count; face++) {
                double* out = found + (f * count + face) * columns + first;
                for (int64_t c = 0; c < lanes; c++) {
                    const int64_t node = places.below[face * LANES + c];
                    const double value = v[node * columns + c], rise = v[(node + 1) * columns + c] - value;
                    const double step = places.step[face * LANES + c], width = places.width[face * LANES + c];
                    const double slope = width > 0 ? rise / width : 0;
                    out[c] = integrated ? upto[node * LANES + c] + step * (value + 0.5 * step * slope)
                                        : value + step * slope;
                }
            }
        }
    }
}

extern "C" {
void airshed_pack_double(const double* field, int64_t outer, int64_t rows, int64_t columns, int64_t blocks,
                         int64_t width, int64_t repeat, double* packed) {
    pack(field, outer, rows, columns, blocks, width, repeat, packed);
}

void airshed_pack_single(const double* field, int64_t outer, int64_t rows, int64_t columns, int64_t blocks,
                         int64_t width, int64_t repeat, float* packed) {
    pack(field, outer, rows, columns, blocks, width, repeat, packed);
}

void airshed_column_integrals(const double* heights, const double* values, const double* faces, int64_t fields,
                              int64_t nodes, int64_t columns, int64_t count, double* integrals) {
    to_faces<true>(heights, values, faces, fields, nodes, columns, count, integrals);
}

void airshed_column_values(const double* heights, const double* values, const double* faces, int64_t fields,
                           int64_t nodes, int64_t columns, int64_t count, double* found) {
    to_faces<false>(heights, values, faces, fields, nodes, columns, count, found);
}

// Weighted sums of neighbours along rows, then along columns, term by term: (outer, rows, columns) -> (outer, to_rows,
// to_columns). Target t is the sum over n of weight[t][n] times node first[t] + n.
void airshed_weighted(const double* field, int64_t outer, int64_t rows, int64_t columns, const int64_t* first_row,
                      const double* row_weight, int64_t to_rows, int64_t row_terms, const int64_t* first_column,
                      const double* column_weight, int64_t to_columns, int64_t column_terms, double* result) {
    std::vector<double> line(columns);
    for (int64_t n = 0; n < outer; n++, field += rows * columns)
        for (int64_t row = 0; row < to_rows; row++, result += to_columns) {
            for (int64_t m = 0; m < row_terms; m++) {
                const double weight = row_weight[row * row_terms + m];
                const double* from = field + (first_row[row] + m) * columns;
                for (int64_t c = 0; c < columns; c++) line[c] = m == 0 ? weight * from[c] : line[c] + weight * from[c];
            }
            for (int64_t c = 0; c < to_columns; c++) {
                const double *from = &line[first_column[c]], *weight = column_weight + c * column_terms;
                double total = weight[0] * from[0];
                for (int64_t m = 1; m < column_terms; m++) total += weight[m] * from[m];
                result[c] = total;
            }
        }
}
}

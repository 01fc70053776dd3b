// reverse/faces.hpp: the transpose of limited transport. Every cell gathers the contributions of the faces around it, in a fixed
// order: the same bits for any division of the area.
//
// At the edge of the area: with inflow, the contribution belongs to the boundary concentration, otherwise to the innermost cell. Where
// two cells beyond each face have concentrations, it belongs to these; adjoints of the farther cells follow those of the nearer ones.

INLINE pack from_west_2(pack west, pack here) { return lanes_from<W - 2>(west, here, lanes{}); }
INLINE pack from_west_3(pack west, pack here) { return lanes_from<W - 3>(west, here, lanes{}); }
INLINE pack from_east_3(pack here, pack east) { return lanes_from<3>(here, east, lanes{}); }

// ---- inputs of a block: mixing ratios with those beyond the area, adjoints of tendencies, air fluxes -------------------------
// Faces are computed ahead: in x the face two cells further east, in y the face two rows further north, so that its contributions
// are available to the next cells and rows.

struct Seen {                           // air through the faces ahead, and exchanged through them
    pack flux_x[NZ], flux_y[NZ];
    pack across_x[FACE_EXCHANGE ? NZ : 1], across_y[FACE_EXCHANGE ? NZ : 1];
};

struct Edges {                          // air through the edges of the area, by level, for all species
    pack south[NZ], north[NZ], inside;  // inside: the columns of the last block of a row
    real west[NZ], east[NZ];
};

// Two rows beyond are sufficient: faces that read the third one contribute nothing here, since the air flows from there.
INLINE const real* row_at(const Step& s, int64_t row, int64_t block) {
    if (row < 0) return s.south.data + block * s.south.block_stride + (row < -1 ? s.south.second : 0);
    if (row >= s.rows) return s.north.data + block * s.north.block_stride + (row > s.rows ? s.north.second : 0);
    return s.q + (row * s.blocks + block) * BLOCK;
}

INLINE const real* block_at(const Step& s, int64_t row, int64_t block) {
    if (block < 0) return s.west.data + row * s.west.row_stride;
    if (block >= s.blocks) return s.east.data + row * s.east.row_stride;
    return s.q + (row * s.blocks + block) * BLOCK;
}

// Air through the south faces of a row, possibly one beyond the rows of this rank.
INLINE pack northward(const Step& s, const Beyond& beyond, int64_t row, int64_t block, int z, pack w) {
    if (row < 0) return beyond.south ? air_flux(beyond.south->flux_y, w, block * COLUMN + z * W) : pack{};
    if (row > s.rows) return beyond.north ? air_flux(beyond.north->flux_y, w, block * COLUMN + z * W) : pack{};
    return air_flux(s.flux_y, w, (row * s.blocks + block) * COLUMN + z * W);
}

// Air through the west faces of the cells of a block, possibly beyond the blocks of this rank: there the first lane is the last face
// of this rank to the east, and the further lanes are faces of the neighbour.
INLINE pack eastward(const Step& s, const Beyond& beyond, int64_t row, int64_t block, int z, pack w) {
    if (block < 0) return beyond.west ? air_flux(beyond.west->flux_x, w, row * COLUMN + z * W) : pack{};
    const pack own = air_flux(s.flux_x, w, (row * (s.blocks + 1) + block) * COLUMN + z * W);
    if (block < s.blocks) return own;
    pack all = beyond.east ? air_flux(beyond.east->flux_x, w, row * COLUMN + z * W) : pack{};
    all[0] = own[0];
    return all;
}

static void load_edges_y(const Step& s, int64_t block, Edges& e) {
    const pack w = splat(real(s.flux_weight));
    for (int z = 0; z < NZ; z++) {
        if (s.south.edge) e.south[z] = air_flux(s.flux_y, w, block * COLUMN + z * W);
        if (s.north.edge) e.north[z] = air_flux(s.flux_y, w, (s.rows * s.blocks + block) * COLUMN + z * W);
    }
}

static void load_edges_x(const Step& s, int64_t row, Edges& e) {
    const pack w = splat(real(s.flux_weight));
    const int64_t first = row * (s.blocks + 1), last = first + s.blocks - 1 + s.last_lanes / W;
    e.inside = lane_mask(s.last_lanes);
    for (int z = 0; z < NZ; z++) {
        if (s.west.edge) e.west[z] = air_flux(s.flux_x, w, first * COLUMN + z * W)[0];
        if (s.east.edge) e.east[z] = air_flux(s.flux_x, w, last * COLUMN + z * W)[s.last_lanes % W];
    }
}

// Mixing ratios of a row at an offset in its blocks; beyond the edge of the area those of the air that flows through it.
INLINE pack row_value(const Step& s, const Edges& e, int64_t row, int64_t block, int64_t k, int z) {
    const pack value = at(row_at(s, row, block), k);
    if (row < 0 && s.south.edge && s.boundary_south.two_cells) return boundary_of_block(s, s.boundary_south, block, k + (row < -1 ? BLOCK : 0));
    if (row >= s.rows && s.north.edge && s.boundary_north.two_cells) return boundary_of_block(s, s.boundary_north, block, k + (row > s.rows ? BLOCK : 0));
    if (row < 0 && s.south.edge) return e.south[z] > 0 ? boundary_of_block(s, s.boundary_south, block, k) : at(row_at(s, 0, block), k);
    if (row >= s.rows && s.north.edge) return e.north[z] > 0 ? at(row_at(s, s.rows - 1, block), k) : boundary_of_block(s, s.boundary_north, block, k);
    return value;
}

// The same along a row.
INLINE pack block_value(const Step& s, const Edges& e, int64_t row, int64_t block, int64_t k, int z) {
    const pack value = at(block_at(s, row, block), k);
    if (block < 0 && s.west.edge && s.boundary_west.two_cells) return two_cells_west(s, row, k);
    if (block >= s.blocks - 1 && s.east.edge && s.boundary_east.two_cells) {
        pack here = value, east;
        two_cells_east(s, row, k, e.inside, here, east);
        return block >= s.blocks ? east : here;
    }
    if (block < 0 && s.west.edge) return e.west[z] > 0 ? boundary_of_row(s, s.boundary_west, row, k) : splat(block_at(s, row, 0)[k]);
    if (block >= s.blocks - 1 && s.east.edge) {
        const pack last = splat(block_at(s, row, s.blocks - 1)[k + s.last_lanes - 1]);
        const pack ghost = e.east[z] > 0 ? last : boundary_of_row(s, s.boundary_east, row, k);
        return block >= s.blocks ? ghost : e.inside > 0 ? value : ghost;
    }
    return value;
}

// ---- contributions of the faces ahead --------------------------------------------------------------------------------------
// Addresses of the adjoints of tendencies around a block, and of its stored branches and those of its neighbours.
struct Lines {
    const real *tendency, *tendency_east, *tendency_rows[2];
    const uint16_t *branches, *branches_east, *branches_north;
};

static Lines lines_of(const Transposed& a, int64_t row, int64_t block) {
    Lines l = {block_at(a.b, row, block), block_at(a.b, row, block + 1), {}, nullptr, nullptr, nullptr};
    for (int n = 0; n < 2; n++) l.tendency_rows[n] = row_at(a.b, row + 1 + n, block);
    return l;
}

// At an edge of the area psi is zero where the cells beyond it are equal; there is no air flux through further faces.
static const uint16_t* branches_of_block(const Transposed& a, int64_t row, int64_t block) {
    const bool inside = row >= 0 && row < a.s.rows && block >= 0 && block < a.s.blocks;
    return inside ? a.branches + (row * a.s.blocks + block) * BRANCHES : EXTREMA.faces;
}

static void point_to_branches(const Transposed& a, int64_t row, int64_t block, Lines& l) {
    l.branches = branches_of_block(a, row, block);
    l.branches_east = branches_of_block(a, row, block + 1);
    l.branches_north = branches_of_block(a, row + 1, block);
}

// Whether all faces ahead of a block have stored branches, or are at an edge of the area or beyond it. Those of its southern and western
// edges are not stored.
static bool keeps_branches(const Transposed& a, int64_t row, int64_t block) {
    return a.branches && (row >= -1 || (a.s.south.edge && !a.s.boundary_south.two_cells)) && (row < a.s.rows - 1 || a.s.north.edge)
        && (block >= 0 || (a.s.west.edge && !a.s.boundary_west.two_cells)) && (block < a.s.blocks - 1 || a.s.east.edge);
}

// Contributions of a face between equal cells, with the exchange through it. First template parameter: whether by its stored branch;
// otherwise `see` computes its differences.
template <bool KEPT, class See>
INLINE Shares shares_through(pack flux, pack across, pack difference, unsigned branches, const See& see) {
    Shares p{};
    if constexpr (FACE_FLUX) {
        const pack g = flux * difference, alpha = splat(real(1.0 / 3.0)), beta = splat(real(1.0 / 6.0));
        if constexpr (KEPT) p = shares_by(branches, flux, g, alpha, beta);
        else p = shares_of(see(), flux, g, alpha, beta);
    }
    if constexpr (FACE_EXCHANGE) p.before = fused(across, difference, p.before), p.after = fused(-across, difference, p.after);
    return p;
}

// Lane j: the face between the cells j + 1 and j + 2 of a block, possibly the block west of the first one.
template <bool KEPT>
INLINE Shares shares_x(const Transposed& a, const Lines& l, const Edges& edges, int64_t row, int64_t block, int64_t k, int z, pack flux, pack across) {
    const pack t = at(l.tendency, k), te = at(l.tendency_east, k);
    const unsigned branches = KEPT ? from_east_1(branches_at(l.branches, k, EAST_FACE), branches_at(l.branches_east, k, EAST_FACE)) : 0;
    return shares_through<KEPT>(flux, across, from_east_2(t, te) - from_east_1(t, te), branches, [&]() __attribute__((always_inline)) {
        const pack c = block_value(a.s, edges, row, block, k, z), e = block_value(a.s, edges, row, block + 1, k, z);
        return differences(flux, c, from_east_1(c, e), from_east_2(c, e), from_east_3(c, e));
    });
}

// The face between the rows + 1 and + 2.
template <bool KEPT>
INLINE Shares shares_y(const Transposed& a, const Lines& l, const Edges& edges, int64_t row, int64_t block, int64_t k, int z, pack flux, pack across) {
    const pack difference = at(l.tendency_rows[1], k) - at(l.tendency_rows[0], k);
    const unsigned branches = KEPT ? branches_at(l.branches_north, k, NORTH_FACE) : 0;
    return shares_through<KEPT>(flux, across, difference, branches, [&]() __attribute__((always_inline)) {
        const auto q = [&](int n) __attribute__((always_inline)) { return row_value(a.s, edges, row + n, block, k, z); };
        return differences(flux, q(0), q(1), q(2), q(3));
    });
}

// Adds lanes to the adjoints of boundary concentrations of a block's columns.
INLINE void add_lanes(double* target, pack lanes) {
    for (int lane = 0; lane < W; lane++) target[lane] += double(lanes[lane]);
}

// Adds the contributions of a face to later rows to their buffer; returns the sum of contributions of y faces to this row.
INLINE pack keep(pack* kept, const Shares& n) {
    const pack total = n.added_to_before2(kept[0]);
    kept[0] = kept[1] + n.before, kept[1] = kept[2] + n.after, kept[2] = n.after2();
    return total;
}

// ---- start of a piece ----------------------------------------------------------------------------------------------------------
INLINE void load_ahead_x(const Transposed& a, int64_t row, int64_t block, Seen& f) {
    const pack w = splat(real(a.s.flux_weight));
    for (int z = 0; z < NZ; z++)
        f.flux_x[z] = from_east_2(eastward(a.s, a.beyond, row, block, z, w), eastward(a.s, a.beyond, row, block + 1, z, w));
    if constexpr (FACE_EXCHANGE) {
        pack here[NZ], next[NZ];
        west_rates(a, row, block, here), west_rates(a, row, block + 1, next);
        for (int z = 0; z < NZ; z++) f.across_x[z] = from_east_2(here[z], next[z]);
    }
}

INLINE void load_ahead_y(const Transposed& a, int64_t row, int64_t block, Seen& f) {
    const pack w = splat(real(a.s.flux_weight));
    for (int z = 0; z < NZ; z++) f.flux_y[z] = northward(a.s, a.beyond, row + 2, block, z, w);
    if constexpr (FACE_EXCHANGE) south_rates(a, row + 2, block, f.across_y);
}

// Contributions of the three faces south of a block to it and to the two rows north of it; two faces at the edge of the area.
template <bool KEPT>
static void start_row_transposed(const Transposed& a, int64_t first, int64_t block, pack* carry, double* south) {
    const pack mask = lane_mask(block == a.s.blocks - 1 ? a.s.last_lanes : W);
    Edges edges;
    load_edges_y(a.s, block, edges);
    std::memset((void*)carry, 0, sizeof(pack) * 3 * NS * NZ);
    const bool at_edge = first == 0 && a.s.south.edge;
    for (int64_t row = at_edge ? -2 : first - 3; row < first; row++) {
        Seen f;
        load_ahead_y(a, row, block, f);
        Lines l = lines_of(a, row, block);
        if constexpr (KEPT) point_to_branches(a, row, block, l);
        for (int i = 0; i < NS; i++)
            for (int z = 0; z < NZ; z++) {
                const Shares n = shares_y<KEPT>(a, l, edges, row, block, i * COLUMN + z * W, z, f.flux_y[z], f.across_y[FACE_EXCHANGE ? z : 0]);
                pack* kept = carry + 3 * (i * NZ + z);
                const pack beyond = keep(kept, n) * mask;
                if (!at_edge) continue;
                if (a.s.boundary_south.two_cells) {
                    add_lanes(south + (row < -1 ? BLOCK : 0) + i * COLUMN + z * W, beyond);
                    continue;
                }
                const auto inflow = edges.south[z] > 0;
                add_lanes(south + i * COLUMN + z * W, inflow ? beyond : pack{});
                // the row itself is completed next: one row further on at the first of the two
                kept[row == first - 1 ? 0 : 1] += inflow ? pack{} : beyond;
            }
    }
}

// Contributions of the faces west of the first block of a row.
template <bool KEPT>
static void start_block_transposed(const Transposed& a, int64_t row, int64_t block, pack* carry, double* west) {
    Seen f;
    Edges edges;
    load_ahead_x(a, row, block - 1, f), load_edges_x(a.s, row, edges);
    Lines l = lines_of(a, row, block - 1);
    if constexpr (KEPT) point_to_branches(a, row, block - 1, l);
    for (int i = 0; i < NS; i++)
        for (int z = 0; z < NZ; z++) {
            const Shares p = shares_x<KEPT>(a, l, edges, row, block - 1, i * COLUMN + z * W, z, f.flux_x[z], f.across_x[FACE_EXCHANGE ? z : 0]);
            pack next = (from_west_3(p.after2(), pack{}) + from_west_2(p.after, pack{})) + from_west_1(p.before, pack{});
            if (block == 0 && a.s.west.edge) {
                const pack beyond = (from_west_3(pack{}, p.after2()) + from_west_2(pack{}, p.after)) + p.added_to_before2(from_west_1(pack{}, p.before));
                if (a.s.boundary_west.two_cells) west[i * NZ + z] += double(beyond[W - 1]), west[(NS + i) * NZ + z] += double(beyond[W - 2]);
                else if (edges.west[z] > 0) west[i * NZ + z] += sum(beyond);
                else next[0] += real(sum(beyond));
            }
            carry[i * NZ + z] = next;
        }
}

// ---- one block ---------------------------------------------------------------------------------------------------------------
// Returns in `bar` [species][level] the adjoint `x` of the mixing ratios of a block, plus the contributions of the tendencies of
// the block and its neighbours. Adds to the adjoints of boundary concentrations.
// First template parameter: whether branches are stored; EDGE: the block may be at an edge of the area.
template <bool KEPT, bool EDGE>
static void transpose(const Transposed& a, int64_t row, int64_t block, Worker& t, pack* carry_x, pack* carry_y, const real* x, pack* bar, const BoundaryAdjoints& boundary, double* above) {
    const Step& s = a.s;
    const pack mask = lane_mask(block == s.blocks - 1 ? s.last_lanes : W);
    const bool east = EDGE && block == s.blocks - 1 && s.east.edge, north = EDGE && row == s.rows - 1 && s.north.edge;
    const int last = int(s.last_lanes) - 1;
    Seen f;
    Edges edges;
    if constexpr (HORIZONTAL && EDGE) load_edges_x(s, row, edges), load_edges_y(s, block, edges);
    if constexpr (HORIZONTAL) load_ahead_x(a, row, block, f), load_ahead_y(a, row, block, f);
    Lines l = lines_of(a, row, block);
    if constexpr (KEPT) point_to_branches(a, row, block, l);
    const real* here = block_at(s, row, block);
    for (int i = 0; i < NS; i++) {
        const int64_t o = i * COLUMN;
        const pack *q = (const pack*)(here + o), *tb = (const pack*)(l.tendency + o);
        pack total[NZ];
        for (int z = 0; z < NZ; z++) {
            total[z] = pack{};
            if constexpr (!HORIZONTAL) continue;
            const int64_t k = o + z * W;
            __builtin_prefetch(l.tendency_rows[1] + k + COLUMN, 0), __builtin_prefetch(x + k + COLUMN, 1);
            const Shares p = shares_x<KEPT>(a, l, edges, row, block, k, z, f.flux_x[z], f.across_x[FACE_EXCHANGE ? z : 0]);
            pack& carried = carry_x[i * NZ + z];
            total[z] = carried + ((from_west_3(pack{}, p.after2()) + from_west_2(pack{}, p.after)) + p.added_to_before2(from_west_1(pack{}, p.before)));
            carried = (from_west_3(p.after2(), pack{}) + from_west_2(p.after, pack{})) + from_west_1(p.before, pack{});
            if (east) {
                const double beyond = sum((edges.inside > 0 ? pack{} : total[z]) + carried);
                const auto number = [&](int lane) __attribute__((always_inline)) { return double(lane < W ? total[z][lane] : carried[lane - W]); };
                const double near = number(last + 1), far = number(last + 2);
                total[z] = total[z] * edges.inside;
                if (s.boundary_east.two_cells) {
                    double* const to = boundary.east + (2 * row * NS + i) * NZ + z;
                    to[0] += near, to[NS * NZ] += far;
                } else if (edges.east[z] > 0) total[z][last] += real(beyond);
                else boundary.east[row * NS * NZ + i * NZ + z] += beyond;
            }
            pack* kept = carry_y + 3 * (i * NZ + z);
            const pack from_rows = keep(kept, shares_y<KEPT>(a, l, edges, row, block, k, z, f.flux_y[z], f.across_y[FACE_EXCHANGE ? z : 0]));
            total[z] += EDGE ? from_rows * mask : from_rows;
            if (north) {
                if (s.boundary_north.two_cells) {
                    double* const to = boundary.north + 2 * block * BLOCK + k;
                    add_lanes(to, kept[0] * mask), add_lanes(to + BLOCK, kept[1] * mask);
                    continue;
                }
                const pack beyond = (kept[0] + kept[1] + kept[2]) * mask;
                const auto outflow = edges.north[z] > 0;
                total[z] += outflow ? beyond : pack{};
                add_lanes(boundary.north + block * BLOCK + k, outflow ? pack{} : beyond);
            }
        }
        if constexpr (VERTICAL) {
            const BlockFlux& v = t.flux;
            for (int z = 0; z < NZ - 1; z++) {
                if constexpr (!FACE_FLUX) continue;
                const int below2 = z > 0 ? z - 1 : 0, above2 = z + 2 < NZ ? z + 2 : NZ - 1;
                const pack up = v.up[z], alpha = v.alpha[z], beta = v.beta[z], g = up * (tb[z + 1] - tb[z]);
                const Shares p = KEPT ? shares_by(branches_at(l.branches, o + z * W, UPPER_FACE), up, g, alpha, beta)
                                      : shares_of(differences(up, q[below2], q[z], q[z + 1], q[above2], alpha, beta), up, g, alpha, beta);
                total[below2] = p.added_to_before2(total[below2]), total[z] += p.before, total[z + 1] += p.after;
                total[above2] = p.added_to_after2(total[above2]);
            }
            const auto rising = v.up[NZ - 1] > 0;
            const pack top = -(v.up[NZ - 1] * tb[NZ - 1]);
            total[NZ - 1] += rising ? top : pack{};
            above[i] += sum((rising ? pack{} : top) * mask);
        }
        if constexpr (COLUMN_MATRIX)
            if (t.mixes)
                for (int z = 0; z < NZ; z++)
                    for (int from = 0; from < NZ; from++) {
                        if (from == z) continue;
                        const pack given = t.matrix[z * NZ + from] * tb[z];
                        total[from] += given, total[z] -= given;
                    }
        for (int z = 0; z < NZ; z++) bar[i * NZ + z] = at(x, o + z * W) + total[z];
    }
}

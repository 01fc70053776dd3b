// transport.hpp: limited third-order upwind-biased transport of every species of one block, and of its air.
//
// A face between cells b | c with flow from b to c, a upstream of b: q_face = b + psi, |psi| = min(|c-b|, |b-a|,
// alpha |c-b| + beta |b-a|), psi = 0 at an extremum (Hundsdorfer, Koren, van Loon & Verwer 1995, kappa = 1/3:
// alpha = 1/3, beta = 1/6; on layers of unequal thickness the weights of the parabola through three cell means).
// Beyond the area: inflow has the boundary concentration; for outflow the cell beyond equals the innermost cell. With the concentrations
// of two cells beyond each face (`two_cells`), as a nest has them, the edge is a face like others for either direction of the flow.
//
// Without VERTICAL this is transport in horizontal planes, with independent levels and nothing implicit; without HORIZONTAL it is
// transport in columns, each independent.

constexpr int64_t COLUMN = NZ * W;                  // reals of one species in a block
constexpr int64_t BLOCK = NS * COLUMN;              // reals of a block

INLINE value limited(value up, value down, value smooth) {
    const value high = maximum(maximum(up, down), smooth);
    const value low = minimum(minimum(up, down), smooth);
    return maximum(low, pack{}) + minimum(high, pack{});
}

// On equal cells psi = ((c-b) + (c-b) + (b-a)) / 6, without a product that a compiler could fuse into a sum at one call and not at another.
// So a face that two threads compute has the same bits in both.
INLINE value face(pack flux, value before2, value before, value after, value after2) {
    if constexpr (!FACE_FLUX) return pack{};
    const auto forward = flux > 0;
    const value b = select(forward, before, after);
    const value up = b - select(forward, before2, after2), down = select(forward, after, before) - b;
    return product(flux, b + limited(up, down, real(1.0 / 6.0) * ((down + down) + up)));
}

INLINE value upper_face(pack flux, value below2, value below, value above, value above2, pack alpha, pack beta) {
    if constexpr (!FACE_FLUX) return pack{};
    const auto forward = flux > 0;
    const value b = select(forward, below, above);
    const value up = b - select(forward, below2, above2), down = select(forward, above, below) - b;
    return product(flux, b + limited(up, down, fused(alpha, down, beta * up)));
}

struct BlockFlux {                     // fluxes of one block, the same for all species
    Levels<pack> west, east, south, north, up, alpha, beta;
    // weights of the two-step formula, divided by the new air content
    Levels<pack> c0, c1, t0, t1;
    LinkedLevels<pack> air;            // new air content
    Levels<pack> weight;               // the same with padding lanes at zero, for sums
    // air exchanged by operators through east and north faces, the same in both directions
    Levels<value, FACE_EXCHANGE ? NZ : 1> across_east, across_north;
    // the same of lower, west and south faces, without WHOLE_COLUMNS
    pack lower, lower_alpha, lower_beta;
    Levels<value, FACE_EXCHANGE && !WHOLE_COLUMNS ? NZ : 1> across_west, across_south;
};

struct CellAir {                       // of one level at the end of the step, for rates of operators
    dpack temperature, density, water, content, secant, light;   // [K], [molecules cm-3], [mol/mol], [mol], [1], [1]
};

struct Worker {                        // working memory of one thread, from block to block; it fits into the second-level cache
    Spent spent;
    RightHandSides rhs;                // [species][level]
    value carry_x[WHOLE_COLUMNS ? NS * NZ : 1];   // flux through the east faces of the block to the west
    value* carry_y;                    // [block][species][level]: flux through the north faces of the row to the south
    int64_t step, row, first_block, last_block;   // of carry_y: the step, and the blocks of a row to come
    Levels<pack, RATES * NZ + 1> rate; // rate functions of the mechanism, [function][level]
    pack light[PHOTOLYSES + 1];        // photolysis functions
    Levels<pack> density;              // air density / reference density
    Levels<value> above;               // exchange with the neighbours, times g / air content
    Levels<value, NZ + 1> below;
    Levels<pack, SETTLING ? NZ : 1> upper_share;   // air content of the level above / that of this one
    value matrix[COLUMN_MATRIX ? OWN_LEVELS * NZ : 1];   // air to a level (first) from another one (second) [mol/s]
    bool mixes;                        // whether the matrix is not zero
    OPERATOR_RATES
    pack g;
    BlockSums<TERMS, NS> result;       // sums of this block: of its transport, and of its newest sweep
    pack imbalance[FAMILIES + 1];      // the same
    BlockFlux flux;
};

// Rates of operators that act with transport, generated.
static void west_exchange(const Step& s, int64_t row, int64_t block, LevelValues rate);
static void south_exchange(const Step& s, int64_t row, int64_t block, LevelValues rate);
static bool column_matrices(const Step& s, int64_t row, int64_t block, value* rate);

// Air flux through faces [mol/s], if there is one.
INLINE pack air_flux(const Ends& flux, pack weight, int64_t at) {
    if constexpr (FACE_FLUX) return between(flux.start, flux.end, weight, at);
    return (void)flux, (void)weight, (void)at, pack{};
}

INLINE void load_upper_face(const Step& s, int64_t cell, int z, pack& up, pack& alpha, pack& beta) {
    up = air_flux(s.flux_z, splat(real(s.flux_z_weight)), cell + z * W);
    const real* v = s.vertical_weights + 4 * z;
    alpha = up > 0 ? splat(v[0]) : splat(v[2]);
    beta = up > 0 ? splat(v[1]) : splat(v[3]);
}

static void load_fluxes(const Step& s, int64_t row, int64_t block, BlockFlux& f) {
    const pack w = splat(real(s.flux_weight));
    const int64_t here = (row * s.blocks + block) * COLUMN, x = (row * (s.blocks + 1) + block) * COLUMN;
    EACH_LEVEL(z) {
        const int64_t k = z * W;
        f.west[z] = f.east[z] = f.south[z] = f.north[z] = f.up[z] = pack{};
        if constexpr (HORIZONTAL) {
            f.west[z] = air_flux(s.flux_x, w, x + k);
            f.east[z] = from_east_1(f.west[z], air_flux(s.flux_x, w, x + COLUMN + k));
            f.south[z] = air_flux(s.flux_y, w, here + k);
            f.north[z] = air_flux(s.flux_y, w, here + s.blocks * COLUMN + k);
        }
        if constexpr (VERTICAL) load_upper_face(s, here, z, f.up[z], f.alpha[z], f.beta[z]);
    }
    if constexpr (VERTICAL && !WHOLE_COLUMNS) {
        f.lower = f.lower_alpha = f.lower_beta = pack{};
        if (first_level() > 0) load_upper_face(s, here, first_level() - 1, f.lower, f.lower_alpha, f.lower_beta);
    }
    if constexpr (FACE_EXCHANGE) {
        Levels<value> next;
        west_exchange(s, row, block, f.across_east), west_exchange(s, row, block + 1, next);
        if constexpr (!WHOLE_COLUMNS) west_exchange(s, row, block, f.across_west), south_exchange(s, row, block, f.across_south);
        EACH_LEVEL(z) f.across_east[z] = from_east_1(f.across_east[z], next[z]);
        south_exchange(s, row + 1, block, f.across_north);
    }
}

// The air of one block by the same two-step formula: a uniform mixing ratio remains uniform to round-off.
static void advance_air(const Step& s, int64_t row, int64_t block, BlockFlux& f) {
    const int64_t here = (row * s.blocks + block) * COLUMN;
    const pack mask = lane_mask(block == s.blocks - 1 ? s.last_lanes : W);
    pack below = pack{};
    if constexpr (VERTICAL && !WHOLE_COLUMNS) below = f.lower;
    EACH_LEVEL(z) {
        const pack now = pack_at(s.air, here + z * W);
        pack& other = pack_in(s.air_other, here + z * W);
        pack& kept = pack_in(s.air_tendency, here + z * W);
        const pack change = (f.west[z] - f.east[z] + (f.south[z] - f.north[z]) + (below - f.up[z])) * mask;
        below = f.up[z];
        const pack c0 = splat(real(s.c0)), c1 = splat(real(s.c1)), t0 = splat(real(s.t0)), t1 = splat(real(s.t1));
        const pack next = fused(t1, kept, fused(t0, change, fused(c1, other, c0 * now)));
        const pack inverse = real(1) / next;
        f.c0[z] = real(s.c0) * now * inverse;
        f.c1[z] = real(s.c1) * other * inverse;
        f.t0[z] = real(s.t0) * inverse;
        f.t1[z] = real(s.t1) * inverse;
        f.air[z] = next;
        f.weight[z] = next * mask;
        other = next;
        kept = change;
    }
}

// Boundary concentration of one species and level, at offset k in a block: of one row in all lanes, or of the columns of a block.
INLINE value boundary_of_row(const Step& s, const Boundary& side, int64_t row, int64_t k) {
    const int64_t place = row * side.stride + k / W;
    const value start = splat(side.start[place]), end = splat(side.end[place]);
    return fused(splat(real(s.boundary_weight)), end - start, start);
}

INLINE value boundary_of_block(const Step& s, const Boundary& side, int64_t block, int64_t k) {
    return between(side.start, side.end, splat(real(s.boundary_weight)), block * side.stride + k);
}

// The west block beyond the western edge of the area, and the last block of a row with the two cells beyond the eastern edge; the
// concentrations of the farther cell follow at an offset of BLOCK.
INLINE value two_cells_west(const Step& s, int64_t row, int64_t k) {
    value beyond = boundary_of_row(s, s.boundary_west, row, k + BLOCK);
    set_lane(beyond, W - 1, lane_of(boundary_of_row(s, s.boundary_west, row, k), 0));
    return beyond;
}

INLINE void two_cells_east(const Step& s, int64_t row, int64_t k, pack inside, value& here, value& east) {
    const int64_t first = s.last_lanes;
    east = boundary_of_row(s, s.boundary_east, row, k + BLOCK);
    here = select(inside > 0, here, east);
    set_lane(first < W ? here : east, int(first % W), lane_of(boundary_of_row(s, s.boundary_east, row, k), 0));
}

// Addresses of the mixing ratios around a block; null beyond the edge of the area.
struct Around {
    const scalar *here, *west, *east, *south, *south2, *north, *north2;
    bool west_edge, east_edge, south_edge, north_edge;
};

static Around around(const Step& s, int64_t row, int64_t block) {
    Around a;
    const scalar* q = s.q + (row * s.blocks + block) * BLOCK;
    const int64_t line = s.blocks * BLOCK;
    const bool west = block == 0, east = block == s.blocks - 1, south = row == 0, north = row == s.rows - 1;
    const scalar *before = s.south.data + block * s.south.block_stride, *beyond = s.north.data + block * s.north.block_stride;
    a.west_edge = west && s.west.edge, a.east_edge = east && s.east.edge;
    a.south_edge = south && s.south.edge, a.north_edge = north && s.north.edge;
    a.here = q;
    a.west = west ? s.west.data + row * s.west.row_stride : q - BLOCK;
    a.east = east ? s.east.data + row * s.east.row_stride : q + BLOCK;
    a.south = south ? before : q - line;
    a.south2 = row >= 2 ? q - 2 * line : row == 1 ? before : before + s.south.second;
    a.north = north ? beyond : q + line;
    a.north2 = row + 2 < s.rows ? q + 2 * line : row + 2 == s.rows ? beyond : beyond + s.north.second;
    return a;
}

// Flux of one species through the south faces of a level of a block. EDGE: as for `transport_species`, and in the second row.
template <bool EDGE> INLINE value south_face(const Step& s, int64_t row, int64_t block, const Around& a, pack flux, value across, int i, int z) {
    const pack w = splat(real(s.flux_weight));
    const int64_t here = (row * s.blocks + block) * COLUMN, o = i * COLUMN + z * W;
    value s1 = at(a.south, o), s2 = at(a.south2, o), n = at(a.north, o);
    const value c = at(a.here, o);
    if (EDGE) {
        if (a.south_edge) {
            const value beyond = boundary_of_block(s, s.boundary_south, block, o);
            if (s.boundary_south.two_cells) s1 = beyond, s2 = boundary_of_block(s, s.boundary_south, block, o + BLOCK);
            else s1 = select(flux > 0, beyond, c), s2 = s1;
        } else if (row == 1 && s.south.edge) {
            const pack edge = air_flux(s.flux_y, w, here - s.blocks * COLUMN + z * W);
            const value beyond = boundary_of_block(s, s.boundary_south, block, o);
            s2 = s.boundary_south.two_cells ? beyond : select(edge > 0, beyond, s1);
        }
        if (a.north_edge) {
            const pack edge = air_flux(s.flux_y, w, here + s.blocks * COLUMN + z * W);
            const value beyond = boundary_of_block(s, s.boundary_north, block, o);
            n = s.boundary_north.two_cells ? beyond : select(edge > 0, c, beyond);
        }
    }
    value result = face(flux, s2, s1, c, n);
    if constexpr (FACE_EXCHANGE) result = fused(across, s1 - c, result);
    return result;
}

// Whether the block to the east is the last one and has one column: then the edge is within the stencil of this block.
INLINE bool before_one_column(const Step& s, int64_t block) { return s.east.edge && block == s.blocks - 2 && s.last_lanes == 1; }

// Whether the stencil of a block reaches beyond the area, or the block has padding.
INLINE bool at_edge(const Step& s, int64_t row, int64_t block) {
    return (row <= (WHOLE_COLUMNS ? 0 : 1) && s.south.edge) || (row >= s.rows - 2 && s.north.edge) || (block == 0 && s.west.edge)
        || (block == s.blocks - 1 && s.east.edge) || before_one_column(s, block);
}

// Flux of one species through the west faces of a level of a block, with the bits that the block to the west computes. Only the last lane
// is used. `flux` and `across` are those of the first lane.
template <bool EDGE> INLINE value west_face(const Step& s, int64_t row, int64_t block, const Around& a, pack flux, value across, int i, int z) {
    const int64_t o = i * COLUMN + z * W;
    const value b = at_end(a.west, o);
    value c = at(a.here, o);
    if (EDGE && before_one_column(s, block - 1)) {
        const pack edge = air_flux(s.flux_x, splat(real(s.flux_weight)), (row * (s.blocks + 1) + block) * COLUMN + z * W);
        set_lane(c, 1, lane_of(edge, 1) > 0 && !s.boundary_east.two_cells ? lane_of(c, 0) : lane_of(boundary_of_row(s, s.boundary_east, row, o), 0));
    }
    value result = face(flux, from_west_1(b, b), b, from_east_1(b, c), from_east_2(b, c));
    if constexpr (FACE_EXCHANGE) result = fused(across, b - from_east_1(b, c), result);
    return result;
}

// Fluxes of all species through the south faces of a block: at the start of a piece, and at the southern edge.
static void start_row(const Step& s, int64_t row, int64_t block, value* carry) {
    const pack w = splat(real(s.flux_weight));
    const Around a = around(s, row, block);
    const int64_t here = (row * s.blocks + block) * COLUMN;
    Levels<value> across;
    if constexpr (FACE_EXCHANGE) south_exchange(s, row, block, across);
    for (int i = 0; i < NS; i++)
        EACH_LEVEL(z) carry[i * NZ + z] = south_face<true>(s, row, block, a, air_flux(s.flux_y, w, here + z * W), across[z], i, z);
}

// The same through the west faces, for a piece that does not start at the edge of the area.
static void start_block(const Step& s, int64_t row, int64_t block, value* carry) {
    const pack w = splat(real(s.flux_weight));
    const Around a = around(s, row, block);
    const int64_t x = (row * (s.blocks + 1) + block) * COLUMN;
    Levels<value> across;
    if constexpr (FACE_EXCHANGE) west_exchange(s, row, block, across);
    for (int i = 0; i < NS; i++)
        EACH_LEVEL(z) {
            const pack flux = splat(lane_of(air_flux(s.flux_x, w, x + z * W), 0));
            carry[i * NZ + z] = west_face<true>(s, row, block, a, flux, splat(lane_of(across[z], 0)), i, z);
        }
}

// Tendency by air from other levels: zero where all have the same mixing ratio.
INLINE value brought(const value* rate, ConstValues q, int z) {
    value sum = value{};
    for (int from = 0; from < NZ; from++)
        if (from != z) sum = fused(rate[from], q[from] - q[z], sum);
    return sum;
}

struct Unseen {                        // no-op observer; a specialisation records the limiter branch of each face
    static void east(pack, value, value, value, value) {}
    static void north(pack, value, value, value, value) {}
    static void upper(pack, value, value, value, value, pack, pack) {}
};

// Transport of one species of a block: `each(level, offset, change)` receives its tendency [mol/s] level by level, from the ground
// up, after `seen` has received the differences at the faces of the cell; `edge`: fluxes through the edges of the area.
// EDGE: the block touches the edge of the area or has padding; interior blocks are compiled without these checks.
struct Passed {                        // inflow and outflow through the edges of the area [mol/s]
    pack come{}, gone{};
};

template <bool EDGE, class Seen, class Each>
INLINE void transport_species(const Step& s, int64_t row, int64_t block, Worker& t, const Around& a, pack mask, int i, Passed& edge, Seen& seen, const Each& each) {
    const BlockFlux& f = t.flux;
    const int64_t o = i * COLUMN, last = s.last_lanes - 1;
    const ConstValues q = values_at(a.here, o);
    value* carry_y = t.carry_y + block * NS * NZ;
    (void)carry_y;
    value below = value{};
    if constexpr (VERTICAL && !WHOLE_COLUMNS) {
        const int z = first_level() - 1;
        if (z >= 0) below = upper_face(f.lower, q[z > 0 ? z - 1 : 0], q[z], q[z + 1], q[z + 2 < NZ ? z + 2 : NZ - 1], f.lower_alpha, f.lower_beta);
    }
    EACH_LEVEL(z) {
        const int64_t k = o + z * W;
        value x = value{}, from_west = value{}, y = value{}, from_south = value{}, v = value{};
        if constexpr (HORIZONTAL) {
            value c = q[z], west = at_end(a.west, k), east = at_start(a.east, k), n1 = at(a.north, k), n2 = at(a.north2, k);
            const value so = at(a.south, k);
            value s_1 = so, west_flux = value{};
            if (EDGE) {
                if (a.west_edge) {
                    if (s.boundary_west.two_cells) west = two_cells_west(s, row, k);
                    else west = lane_of(f.west[z], 0) > 0 ? boundary_of_row(s, s.boundary_west, row, k) : splat(lane_of(c, 0));
                }
                if (a.east_edge && s.boundary_east.two_cells) two_cells_east(s, row, k, mask, c, east);
                else if (a.east_edge) {
                    const value ghost = lane_of(f.east[z], last) > 0 ? splat(lane_of(c, last)) : boundary_of_row(s, s.boundary_east, row, k);
                    c = select(mask > 0, c, ghost), east = ghost;
                }
                if (before_one_column(s, block)) {
                    const int64_t next = (row * (s.blocks + 1) + block + 1) * COLUMN + z * W;
                    const pack edge = air_flux(s.flux_x, splat(real(s.flux_weight)), next);
                    set_lane(east, 1, lane_of(edge, 1) > 0 && !s.boundary_east.two_cells ? lane_of(east, 0) : lane_of(boundary_of_row(s, s.boundary_east, row, k), 0));
                }
                if (a.west_edge) {
                    if (s.boundary_west.two_cells) west_flux = face(splat(lane_of(f.west[z], 0)), splat(lane_of(west, W - 2)), splat(lane_of(west, W - 1)), c, from_east_1(c, east));
                    else west_flux = splat(lane_of(f.west[z], 0) * lane_of(west, W - 1));
                }
                if (a.south_edge) {
                    const value beyond = boundary_of_block(s, s.boundary_south, block, k);
                    s_1 = s.boundary_south.two_cells ? beyond : select(f.south[z] > 0, beyond, c);
                }
                if (a.north_edge) {
                    const value beyond = boundary_of_block(s, s.boundary_north, block, k);
                    if (s.boundary_north.two_cells) n1 = beyond, n2 = boundary_of_block(s, s.boundary_north, block, k + BLOCK);
                    else n1 = select(f.north[z] > 0, c, beyond), n2 = n1;
                }
                if (row == s.rows - 2 && s.north.edge) {
                    const value beyond = boundary_of_block(s, s.boundary_north, block, k);
                    n2 = s.boundary_north.two_cells ? beyond : select(air_flux(s.flux_y, splat(real(s.flux_weight)),
                        ((row + 2) * s.blocks + block) * COLUMN + z * W) > 0, n1, beyond);
                }
            }
            x = face(f.east[z], from_west_1(west, c), c, from_east_1(c, east), from_east_2(c, east));
            y = face(f.north[z], s_1, c, n1, n2);
            seen.east(f.east[z], from_west_1(west, c), c, from_east_1(c, east), from_east_2(c, east));
            seen.north(f.north[z], s_1, c, n1, n2);
            if constexpr (FACE_EXCHANGE) {
                x = fused(f.across_east[z], c - from_east_1(c, east), x);
                y = fused(f.across_north[z], c - n1, y);
            }
            if constexpr (WHOLE_COLUMNS) {
                from_west = from_west_1(EDGE && a.west_edge ? splat(lane_of(west_flux, 0)) : t.carry_x[i * NZ + z], x);
                from_south = carry_y[i * NZ + z];
                t.carry_x[i * NZ + z] = x, carry_y[i * NZ + z] = y;
            } else {
                const value across_west = splat(lane_of(f.across_west[z], 0));
                if (EDGE && a.west_edge) west_flux = splat(lane_of(west_flux, 0));
                else west_flux = west_face<EDGE>(s, row, block, a, splat(lane_of(f.west[z], 0)), across_west, i, z);
                from_west = from_west_1(west_flux, x);
                from_south = south_face<EDGE>(s, row, block, a, f.south[z], f.across_south[z], i, z);
            }
        }
        if constexpr (VERTICAL) {
            if (z < NZ - 1) {
                const value &below2 = q[z > 0 ? z - 1 : 0], &above2 = q[z + 2 < NZ ? z + 2 : NZ - 1];
                v = upper_face(f.up[z], below2, q[z], q[z + 1], above2, f.alpha[z], f.beta[z]);
                seen.upper(f.up[z], below2, q[z], q[z + 1], above2, f.alpha[z], f.beta[z]);
            } else v = f.up[z] * select(f.up[z] > 0, q[z], splat(s.top[i]));
        }
        value change = (from_west - x) + (from_south - y) + (below - v);
        if constexpr (COLUMN_MATRIX)
            if (t.mixes) change += brought(t.matrix + (z - first_level()) * NZ, q, z);
        if (EDGE) {
            pack &come = edge.come, &gone = edge.gone;
            change = change * mask;
            const pack w_in = plain(from_west), e_out = plain(x), s_in = plain(from_south), n_out = plain(y);
            if (HORIZONTAL && a.west_edge) add_lane(come, maximum(w_in, pack{}), 0), add_lane(gone, -minimum(w_in, pack{}), 0);
            if (HORIZONTAL && a.east_edge) add_lane(gone, maximum(e_out, pack{}), last), add_lane(come, -minimum(e_out, pack{}), last);
            if (HORIZONTAL && a.south_edge) come += maximum(s_in, pack{}) * mask, gone -= minimum(s_in, pack{}) * mask;
            if (HORIZONTAL && a.north_edge) gone += maximum(n_out, pack{}) * mask, come -= minimum(n_out, pack{}) * mask;
        }
        if (VERTICAL && z == NZ - 1) edge.gone += maximum(plain(v), pack{}) * mask, edge.come -= minimum(plain(v), pack{}) * mask;
        below = v;
        each(z, k, change);
    }
}

// The explicit part of the step for one block: fluxes through all faces, the new tendency, the right-hand side of the implicit part
// (in mixing ratio) and the start of its iteration (written over level n-1).
template <bool EDGE>
static void transport(const Step& s, int64_t row, int64_t block, Worker& t) {
    const Around a = around(s, row, block);
    const BlockFlux& f = t.flux;
    const pack s0 = splat(real(s.s0)), s1 = splat(real(s.s1)), mask = lane_mask(a.east_edge ? s.last_lanes : W);
    const int64_t offset = (row * s.blocks + block) * BLOCK;
    for (int i = 0; i < NS; i++) {
        Passed edge;
        Unseen seen;
        transport_species<EDGE>(s, row, block, t, a, mask, i, edge, seen, [&](int z, int64_t k, value change) __attribute__((always_inline)) {
            // prefetch the next species: the two-step formula streams through it once
            __builtin_prefetch(s.q_other + offset + k + COLUMN, 1);
            __builtin_prefetch(s.tendency + offset + k + COLUMN, 1);
            if constexpr (HORIZONTAL) __builtin_prefetch(a.north2 + k + COLUMN, 0);
            value& other = value_in(s.q_other, offset + k);
            value& kept = value_in(s.tendency, offset + k);
            const value now = at(a.here, k), rhs = fused(f.t1[z], kept, fused(f.t0[z], change, fused(f.c1[z], other, f.c0[z] * now)));
            kept = change;
            if constexpr (VERTICAL) {
                t.rhs[i * NZ + z] = rhs;
                other = not_below_zero(fused(s1, other, s0 * now));
            } else {   // nothing is implicit; no sums over levels, which may be on different ranks
                other = not_below_zero(rhs);
                double* sums = s.sums + (row * s.blocks + block) * SUMS + i * NZ + z;
                if (EDGE) {
                    sums[INFLOW * NS * NZ] = sum(edge.come), sums[OUTFLOW * NS * NZ] = sum(edge.gone);
                    edge = Passed{};
                }
                sums[2 * NS * NZ] = sum(plain(other - rhs) * f.weight[z]);
            }
        });
        if (EDGE || first_level() + OWN_LEVELS >= NZ) t.result[INFLOW][i] = edge.come, t.result[OUTFLOW][i] = edge.gone;
    }
}

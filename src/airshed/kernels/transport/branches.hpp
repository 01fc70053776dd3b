// reverse/branches.hpp: the adjoint of the limiter of a face, by its branch.
//
// A face with the air flux F from b to c, a upstream of b, has the flux F (b + psi). The adjoint of this flux, for adjoints B of the
// tendencies of both cells, is G = F (B_after - B_before). psi is piecewise linear in u = b - a and d = c - b:
//
//     psi = u:  (gu, gd) = (G, 0)      psi = d:  (0, G)      psi = beta u + alpha d:  (beta G, alpha G)      extremum:  (0, 0)
//
// and so a receives -gu, b G + gu - gd, c gd. With FROZEN limiters psi = kappa (beta u + alpha d) with a constant kappa.

struct Shares {                         // of the cells around a face
    mask forward;
    pack a, before, after;

    pack before2() const { return forward ? a : pack{}; }
    pack after2() const { return forward ? pack{} : a; }
    pack added_to_before2(pack other) const { return forward ? other + a : other; }
    pack added_to_after2(pack other) const { return forward ? other : other + a; }
};

// Contributions of a face with adjoint g to the cells around it, from those of u and d.
INLINE Shares shares_between(pack flux, pack g, pack gu, pack gd) {
    const auto forward = flux > 0;
    const pack own = g + (gu - gd);
    return {forward, -gu, forward ? own : gd, forward ? gd : own};
}

struct Differences {
    pack up, down, smooth;
};

INLINE Differences differences(pack flux, pack before2, pack before, pack after, pack after2) {
    const auto forward = flux > 0;
    const pack b = forward ? before : after, up = b - (forward ? before2 : after2), down = (forward ? after : before) - b;
    return {up, down, real(1.0 / 6.0) * ((down + down) + up)};
}

INLINE Differences differences(pack flux, pack below2, pack below, pack above, pack above2, pack alpha, pack beta) {
    const Differences d = differences(flux, below2, below, above, above2);
    return {d.up, d.down, fused(alpha, d.down, beta * d.up)};
}

INLINE Shares shares_by(mask is_up, mask is_down, pack flux, pack g, pack alpha, pack beta) {   // both: an extremum
    return shares_between(flux, g, is_down ? pack{} : is_up ? g : beta * g, is_up ? pack{} : is_down ? g : alpha * g);
}

INLINE Shares shares_of(const Differences& d, pack flux, pack g, pack alpha, pack beta) {
    const pack psi = limited(d.up, d.down, d.smooth);
#if FROZEN
    const pack kappa = psi != 0 ? g * (psi / d.smooth) : pack{};
    return shares_between(flux, g, beta * kappa, alpha * kappa);
#else
    const auto none = psi == 0;
    return shares_by(none | (psi == d.up), none | (psi == d.down), flux, g, alpha, beta);
#endif
}

// When tendencies are recomputed, the branches of the faces of a block are stored for the pass that transposes them, one bit per lane:
// from bit 0 on whether psi is u, from bit W on whether it is d.
constexpr bool KEEPS_BRANCHES = FACE_FLUX && !FROZEN && 2 * W <= 16;
constexpr int FACES = 3;
enum Face { EAST_FACE, NORTH_FACE, UPPER_FACE };

INLINE uint16_t branches_of(const Differences& d) {
    const pack psi = limited(d.up, d.down, d.smooth);
    const mask none = psi == 0;
    return uint16_t(lanes_of(none | (psi == d.up)) | lanes_of(none | (psi == d.down)) << W);
}

// Branches of the next lanes.
INLINE unsigned from_east_1(unsigned here, unsigned east) {
    constexpr unsigned last = 1u << (W - 1) | 1u << (2 * W - 1);
    return (here >> 1 & ~last) | (east << (W - 1) & last);
}

INLINE Shares shares_by(unsigned branches, pack flux, pack g, pack alpha, pack beta) {
    mask up, down;
    for (int lane = 0; lane < W; lane++) up[lane] = 1 << lane, down[lane] = 1 << (lane + W);
    const mask all = int(branches) - mask{};
    return shares_by((all & up) != 0, (all & down) != 0, flux, g, alpha, beta);
}

constexpr int64_t BRANCHES = NS * NZ * FACES;       // of a block

struct Extrema {                        // a block whose faces are all at extrema
    uint16_t faces[BRANCHES];
    Extrema() { std::memset(faces, 0xff, sizeof faces); }
};
static const Extrema EXTREMA;

INLINE unsigned branches_at(const uint16_t* base, int64_t offset, Face face) { return base[offset / W * FACES + face]; }

struct Unkept : Unseen {
    static void store(uint16_t*) {}
};

struct Branches {                       // observer of branches, as `Unseen` of the forward code
    uint16_t faces[FACES] = {};

    void store(uint16_t* cell) const {
        for (int face = 0; face < FACES; face++) cell[face] = faces[face];
    }

    void east(pack flux, pack before2, pack before, pack after, pack after2) {
        faces[EAST_FACE] = branches_of(differences(flux, before2, before, after, after2));
    }
    void north(pack flux, pack before2, pack before, pack after, pack after2) {
        faces[NORTH_FACE] = branches_of(differences(flux, before2, before, after, after2));
    }
    void upper(pack flux, pack below2, pack below, pack above, pack above2, pack alpha, pack beta) {
        faces[UPPER_FACE] = branches_of(differences(flux, below2, below, above, above2, alpha, beta));
    }
};
typedef std::conditional_t<KEEPS_BRANCHES, Branches, Unkept> SeenFaces;

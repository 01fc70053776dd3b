"""The shipped test problems and stratospheric mechanisms, against their published numbers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from airshed.mechanism import ReactionNetwork, load_mechanism, rates, tendency
from airshed.mechanism.kpp import kpp_sun

PPM = 2.46e13  # molecules cm-3, the CFACTOR of pollu

# The reference solutions of the Test Set for IVP Solvers (Mazzia and Magherini 2008): end time, values there, unit.
PROBLEMS = {
    "pollu": (3600.0, PPM, (
        0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2, 0.2018977262302196e-6,
        0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018, 0.7494013383880406e-2, 0.1622293157301561e-7,
        0.1135863833257075e-7, 0.2230505975721359e-2, 0.2087162882798630e-3, 0.1396921016840158e-4,
        0.8964884856898295e-2, 0.4352846369330103e-17, 0.6899219696263405e-2, 0.1007803037365946e-3,
        0.1772146513969984e-5, 0.5682943292316392e-4)),
    "robertson": (1e11, 1.0, (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050)),
    "hires": (321.8122, 1.0, (
        0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
        0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2)),
    "oregonator": (360.0, 1.0, (0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3)),
}  # fmt: skip


class System:
    """System dy/dt of a network and its Jacobian, with the reactions in arrays so that SciPy is fast."""

    def __init__(self, network: ReactionNetwork) -> None:
        size = len(network.species)
        self.net = np.zeros((size, len(network.reactions)))
        # A factor of one for the places of reactants that a reaction has not.
        self.factors = np.full((len(network.reactions), 2), size)
        for number, (net, reactants) in enumerate(
            zip(network.net_stoichiometry, network.reactant_indices, strict=True)
        ):
            for species, change in net:
                self.net[species, number] = change
            self.factors[number, : len(reactants)] = reactants

    def tendency(self, k: np.ndarray, y: np.ndarray) -> np.ndarray:
        first, second = np.append(y, 1.0)[self.factors].T
        return self.net @ (k * first * second)

    def jacobian(self, k: np.ndarray, y: np.ndarray) -> np.ndarray:
        first, second = np.append(y, 1.0)[self.factors].T
        slopes = np.zeros((len(k), len(y) + 1))
        np.add.at(slopes, (np.arange(len(k)), self.factors[:, 0]), k * second)
        np.add.at(slopes, (np.arange(len(k)), self.factors[:, 1]), k * first)
        return self.net @ slopes[:, :-1]


def solve(network: ReactionNetwork, start: float, end: float, rate_at, tolerance: float = 1e-7) -> np.ndarray:
    system = System(network)
    y = np.array([network.initial.get(name, 0.0) for name in network.names])
    solution = solve_ivp(
        lambda t, y: system.tendency(rate_at(t), y),
        (start, end), y, method="Radau", jac=lambda t, y: system.jacobian(rate_at(t), y),
        rtol=tolerance, atol=1e-17 * y.max(),
    )  # fmt: skip
    assert solution.success
    return solution.y[:, -1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_end_states(name: str) -> None:
    end, unit, reference = PROBLEMS[name]
    network = load_mechanism(name)
    k = rates(network, {"M": 1e6 * unit})
    np.testing.assert_allclose(solve(network, 0.0, end, lambda t: k) / unit, reference, rtol=1e-5)


def test_pollu_follows_mixing_ratios_in_any_air() -> None:
    """At M = 1e6 molecules cm-3 the numbers of the source are those of the network, except for the minute."""
    network = load_mechanism("pollu")
    k = rates(network, {"M": 1e6})
    assert (k[0], k[1], k[18]) == pytest.approx((0.35 / 60, 26.6 / 60, 4.44e11 / 60), rel=1e-15)
    assert rates(network, {"M": 1e12})[1] == pytest.approx(26.6e-6 / 60, rel=1e-14)


def test_a_wrong_rate_constant_is_seen() -> None:
    """Negative control: one rate constant changed by a thousandth moves the end state of POLLU by more than 1e-5."""
    end, unit, reference = PROBLEMS["pollu"]
    network = load_mechanism("pollu")
    k = rates(network, {"M": 1e6 * unit})
    k[6] *= 1.001
    off = np.abs(solve(network, 0.0, end, lambda t: k, 1e-7) / unit / reference - 1.0)
    assert off.max() > 1e-5


def test_small_strato_is_the_published_system() -> None:
    """The tendency agrees with the literature, term by term, at noon, in the afternoon and at night; nitrogen is
    conserved.
    """
    network = load_mechanism("small_strato")
    o2, m = network.initial["O2"], network.initial["M"]
    y = np.random.default_rng(7).uniform(0.5, 2.0, 5) * np.array([99.06, 6.624e8, 5.326e11, 8.725e8, 2.24e8])
    for hour in (12.0, 16.0, 22.0):
        sun = float(kpp_sun(3600.0 * hour))
        o1d, o, o3, no, no2 = y
        light, air, slow = 6.12e-4 * sun * o3, 7.11e-11 * m * o1d, 1.289e-2 * sun * no2
        excited, up, down, made = 1.07e-3 * sun**2 * o3, 6.062e-15 * no * o3, 1.069e-11 * no2 * o, 8.018e-17 * o * o2
        quenched, lost = 1.2e-10 * o1d * o3, 1.576e-15 * o * o3
        expected = (
            excited - air - quenched,
            2 * 2.643e-10 * sun**3 * o2 - made + light - lost + air - down + slow,
            made - light - lost - excited - quenched - up,
            down + slow - up,
            up - down - slow,
        )
        k = rates(network, {"SUN": sun, "O2": o2, "M": m})
        np.testing.assert_allclose(tendency(network, k, y), expected, rtol=1e-10)
    assert network.names == ("O1D", "O", "O3", "NO", "NO2")


def test_chapman_has_its_light_from_the_side_file() -> None:
    network = load_mechanism("chapman")
    assert network.parameters == ()
    assert set(network.bindings) == {"j_O2", "j_O3"}
    air = {"TEMP": 270.0, "M": 8e16, "O2": 1.7e16, "SUN": 1.0}
    k = rates(network, air)
    assert k[0] == pytest.approx(2.643e-10 * 1.7e16)
    assert k[4] == pytest.approx(4.23e-28 / 270.0**2 * 8e16)
    assert rates(network.bind({"j_O3": 0.0}), air)[2] == 0.0
    # Chapman's steady state: O/O3 = j_O3/(k2 O2 M) and O3 = O2 sqrt(j_O2 k2 M/(j_O3 k4)), nearly.
    ozone = 1.7e16 * np.sqrt(2.643e-10 * k[1] / 1.7e16 / (k[2] * k[3]))
    assert 5e11 < ozone < 2e12

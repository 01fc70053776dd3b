"""Gases and particles: settling, deposition and scavenging share the diameter and density of `[particles]`."""

import pytest
from tests.models.air.processes.test_declared import BASE
from tests.models.air.processes.test_updates import both

import airshed
from airshed.core.errors import CaseError
from airshed.grid.axes import Axes
from airshed.io import cf
from airshed.models.air.assembly import assemble
from airshed.models.air.species_map import DepositionMap
from airshed.models.air.species_map.fit import Phase, phases, with_particles


def case_of(particles, **sections):
    given = {"particles": particles, "deposition": {"scheme": "resistance"}, "wet_deposition": {"scheme": "ratios"}}
    return airshed.Case.from_dict(BASE | given | sections)


def sections_of(case):
    return {each.process.section: set(each.process.species) for each in assemble(case).processes}


def test_a_fine_particle_settles_deposits_and_is_washed_out_and_a_large_one_settles():
    fine = sections_of(case_of({"diameters": {"TRACER": "1 um"}}))
    large = sections_of(case_of({"diameters": {"TRACER": "10 um"}}, wet_deposition={"scheme": "none"}))
    gas = sections_of(case_of({}, wet_deposition={"scheme": "none"}))
    assert [fine.get(name) for name in ("particles", "deposition", "wet_deposition")] == [{"TRACER"}] * 3
    assert [large.get(name) for name in ("particles", "deposition")] == [{"TRACER"}, None]
    assert [gas.get(name) for name in ("particles", "deposition")] == [None, None]


def test_particles_of_a_process_settle_and_deposit(tmp_path):
    (tmp_path / "gases.species.toml").write_text('[deposition]\nO3 = "O3"\nHNO3 = "HNO3"\nNH3 = "NH3"\n')
    case = both(tmp_path, particles={"diameters": {"NH4NO3": "0.5 um"}}, deposition={"scheme": "resistance"})
    found = {each.process.section: set(each.process.species) for each in assemble(case).processes}
    assert found["particles"] == {"NH4NO3"} <= found["deposition"]
    assert {"HNO3", "NH3", "O3"} <= found["deposition"]
    staying = assemble(both(tmp_path, deposition={"scheme": "resistance"})).processes
    assert "NH4NO3" not in next(each for each in staying if each.process.section == "deposition").process.species


def test_fields_and_output_carry_the_phase():
    parts = assemble(case_of({"diameters": {"TRACER": "1 um"}, "densities": {"TRACER": "1800 kg/m3"}}))
    spec = parts.fields(())["TRACER"]
    assert (spec.phase, spec.particle) == ("particle", (1e-6, 1800.0))
    attributes = cf._field(spec, (), "point", Axes()).attributes
    assert [attributes[name] for name in ("phase", "particle_diameter", "particle_density")] == [
        "particle",
        1e-6,
        1800.0,
    ]
    assert assemble(case_of({}, wet_deposition={"scheme": "none"})).fields(())["TRACER"].phase == "gas"


class Section:
    def __init__(self, **diameters):
        self.densities = {}
        self.diameters = airshed.Case.from_dict(BASE | {"particles": {"diameters": diameters}}).particles.diameters


def test_what_deposits_as_a_particle_is_one_and_a_gas_cannot_be():
    known = DepositionMap({"SULF": "SO4", "NITR": "HNO3"})
    found = phases(["SULF", "NITR", "O3"], Section(), known)
    assert [found[name].name for name in ("SULF", "NITR", "O3")] == ["particle", "gas", "gas"]
    assert found["SULF"] == Phase("particle")
    with pytest.raises(CaseError, match="NITR is a particle, but deposits as the gas HNO3 in the species map"):
        with_particles(known, Section(NITR="1 um"))
    assert with_particles(known, Section(SULF="1 um")).surrogate == known.surrogate

"""Case files: valid ones are read; errors name the file, the line, the key and the remedy."""

import copy
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import airshed
from airshed.case.patch import patch_document
from airshed.case.toml import flatten, key_lines, write_toml
from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.core.settings import settings_of
from airshed.models.air.case import Case, check_species
from airshed.models.air.case.document import EXAMPLES, case_file_document

ROOT = Path(__file__).parents[3]

SMALL: dict[str, Any] = {
    "grid": {"area": {"lon": [0, 10], "lat": [45, 55]}, "spacing": "0.5 deg", "layers": ["20 m", "50 m"]},
    "time": {"start": "2022-08-31T00:00Z", "length": "24 h"},
    "chemistry": {"mechanism": "tracer"},
}

TEXT = """\
title = "Small"

[grid]
area = { lon = [0, 10], lat = [45, 55] }
spacing = "0.5 deg"
layers = [
    "20 m",
    "50 m",
]

[time]  # when
start = 2022-08-31T00:00:00Z
length = "24 h"

[chemistry]
mechanism = "tracer"

[[output]]
fields = ["O3"]

[[output]]
name = "second"
every = "30 min"
"""


def small(**changes: Any) -> dict[str, Any]:
    """Return the small case with whole sections replaced or updated."""
    data = copy.deepcopy(SMALL)
    for section, values in changes.items():
        data[section] = {**data.get(section, {}), **values} if isinstance(values, dict) else values
    return data


def refusal(data: dict[str, Any], overrides: tuple[str, ...] = ()) -> str:
    with pytest.raises(CaseError) as error:
        Case.from_dict(data, overrides=overrides)
    return str(error.value)


def write(folder: Path, text: str) -> Path:
    file = folder / "case.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("pattern", [".", "/", "..", "//"])
def test_a_pattern_that_names_no_file_is_refused(pattern: str) -> None:
    case = Case.from_dict(small(emissions={"gridded": [pattern]}))
    with pytest.raises(CaseError, match=r"emissions\.gridded\.0 = .* (not a valid file name|no such file)"):
        case.files(case.emissions.gridded[0].files, "emissions.gridded.0")


@pytest.mark.parametrize(
    "text", [f"{'k' * 20_000} = 1", f"x = {'1 ' * 20_000}", f"[output]\nfields = {['x'] * 20_000}"]
)
def test_what_is_long_is_told_in_short(text: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        Case.load(write(tmp_path, text))
    assert "case.toml" in str(caught.value)
    assert max(map(len, str(caught.value).splitlines())) < 500


def test_fields_that_stand_twice_are_told_in_short() -> None:
    assert len(refusal(small(output=[{"fields": ["x"] * 20_000}]))) < 300


def test_values_are_in_si_and_defaults_filled_in() -> None:
    case = Case.from_dict(SMALL)
    assert case.time.start == datetime(2022, 8, 31, tzinfo=UTC)
    assert (case.time.length.value, case.time.step, case.time.courant) == (86400.0, "auto", 0.4)
    assert case.grid.spacing.lon.value == case.grid.spacing.lat.value == 0.5
    assert [top.value for top in case.grid.layers] == [20.0, 50.0]
    assert case.make_grid().shape == (2, 20, 20)
    assert case.output[0].fields == "all"
    assert case.meteorology.kind == "given"


def test_layers_have_a_default() -> None:
    data = small()
    del data["grid"]["layers"]
    assert len(Case.from_dict(data).grid.layers) >= 16


@pytest.mark.parametrize("name", [file.parent.name for file in sorted(resource("cases").glob("*/case.toml"))])
def test_shipped_cases_load_by_name_and_survive_the_round_trip(name: str) -> None:
    """The list includes the cases of all models."""
    case = airshed.load_case(name)
    of_its_model, folder = type(case), resource("cases") / name
    assert case == of_its_model.load(folder) == of_its_model.load(folder / "case.toml")
    again = of_its_model.from_dict(tomllib.loads(case.to_toml()))
    assert again == case
    assert again.hash == case.hash
    assert again.to_toml() == case.to_toml()
    assert case.name == name


def test_case_and_simulation_are_attributes_of_the_package() -> None:
    assert airshed.Case is Case
    assert "Simulation" in dir(airshed)
    with pytest.raises(AttributeError, match="Simulatoin"):
        _ = airshed.Simulatoin


def test_equality_and_hash_follow_the_settings() -> None:
    case = Case.from_dict(SMALL)
    longer = Case.from_dict(SMALL, overrides=["time.length=25 h"])
    threads = Case.from_dict(SMALL, overrides=["run.threads=2", "title=Other"])
    assert case != longer
    assert case.hash != longer.hash
    assert case != threads
    assert case.hash == threads.hash
    assert case != SMALL


@pytest.mark.parametrize(
    ("section", "values", "parts"),
    [
        ("time", {"stepp": "1 s"}, ["time.stepp is not a setting", "did you mean time.step?"]),
        ("time", {"precision": "double"}, ["time.precision is not a setting", "did you mean chemistry.precision?"]),
        (
            "chemistry",
            {"quux": 1},
            ["chemistry.quux is not a setting", "known here are mechanism, species_map, integrator"],
        ),
        ("metoerology", {}, ["metoerology is not a setting", "did you mean meteorology?"]),
        ("time", {"step": 120}, ['time.step needs a unit, such as "120 s"', "120 has none"]),
        ("time", {"step": "120 km"}, ["time.step", "expected a time", "not a length"]),
        ("time", {"step": "fast"}, ["time.step", "'fast' is not a quantity"]),
        ("time", {"step": "0 s"}, ["time.step = '0 s' must be more than 0"]),
        ("time", {"length": "-24 h"}, ["time.length = '-24 h' must be more than 0"]),
        ("time", {"spinup": "-1 h"}, ["time.spinup = '-1 h' must be 0, or at least 1 s"]),
        ("time", {"courant": 0.9}, ["time.courant = 0.9 must be at most 0.5"]),
        ("time", {"start": "yesterday"}, ["time.start = 'yesterday' is not a time", "2022-08-31T00:00:00Z"]),
        ("time", {"start": 2022}, ["time.start must be a time", "not 2022"]),
        ("time", {"start": "2022-08-31T00:00:00.5"}, ["time.start", "whole second"]),
        ("chemistry", {"sweeps": 1.5}, ["chemistry.sweeps must be a whole number, not 1.5"]),
        ("chemistry", {"sweeps": 0}, ["chemistry.sweeps = 0 must be at least 1"]),
        ("chemistry", {"sweeps": True}, ["chemistry.sweeps must be a whole number, not true"]),
        ("chemistry", {"precision": "half"}, ['chemistry.precision = "half" is not known', '"double" or "single"']),
        ("chemistry", {"mechanism": 7}, ["chemistry.mechanism must be a text in quotes, not 7"]),
        ("transport", {"advection": "yes"}, ['transport.advection must be true or false, not "yes"']),
        ("grid", {"layers": ["50 m", "20 m"]}, ["grid.layers", "rise from layer to layer"]),
        ("grid", {"layers": []}, ["grid.layers"]),
        ("grid", {"layers": "20 m"}, ['grid.layers must be a list in [ ], not "20 m"']),
        ("grid", {"layers": ["20 m", 50]}, ["grid.layers.1 needs a unit"]),
        ("grid", {"spacing": "0.3 deg"}, ["grid.spacing.lon = '0.3 deg' does not divide the 10 degrees"]),
        ("grid", {"spacing": {"lon": "0.5 deg", "lat": "30 deg"}}, ["grid.spacing.lat = '30 deg'"]),
        ("grid", {"spacing": "20 km"}, ["grid.spacing.lon", "must be an angle on a longitude-latitude grid"]),
        ("grid", {"area": {"lon": [10, 0], "lat": [45, 55]}}, ["grid.area.lon", "[west, east]"]),
        ("grid", {"area": {"lon": [0, 10], "lat": [45, 95]}}, ["grid.area.lat.1 = 95 must be at most 90"]),
        ("grid", {"area": {"lon": [-200, 10], "lat": [45, 55]}}, ["grid.area.lon.0 = -200 must be at least -180"]),
        ("grid", {"area": {"lon": [0, 10, 20], "lat": [45, 55]}}, ["grid.area.lon", "2 numbers"]),
        ("grid", {"area": {"lon": [0, 10]}}, ["grid.area.lat is missing: southern and northern edge"]),
        ("grid", 3, ["grid must be a table, not 3"]),
        ("meteorology", {"kind": "era5"}, ['meteorology.kind = "era5" needs meteorology.files']),
        ("meteorology", {"cloud_cover": 2.0}, ["meteorology.cloud_cover = 2.0 must be at most 1"]),
        ("emissions", {"scale": {"NOx": -1.0}}, ["emissions.scale.NOx = -1.0 must be at least 0"]),
        ("emissions", {"point": [{"species": "A"}]}, ["emissions.point.0.lon is missing: longitude"]),
        ("parallel", {"tiles": [1]}, ["parallel.tiles is too short: parallel.tiles.1 is missing"]),
        ("parallel", {"tiles": "2x3"}, ['parallel.tiles must be a list in [ ], or "auto", not "2x3"']),
        ("parallel", {"halo": "messages"}, ["parallel.halo was removed: ranks always exchange halos by messages"]),
        ("parallel", {"balance": "maybe"}, ['parallel.balance must be true or false, or "auto", not "maybe"']),
        ("parallel", {"groups": {"transport": -1}}, ["parallel.groups.transport = -1 must be at least 0"]),
        ("parallel", {"groups": {"transport": "all"}}, ['must be a whole number, or "same", not "all"']),
        ("boundary", {"values": {"O3": 30}}, ['boundary.values.O3 needs a unit, such as "10 ppb"']),
        ("boundary", {"values": {"O3": "-1 ppb"}}, ["boundary.values.O3 = '-1 ppb' must not be less than 0"]),
        ("deposition", {"velocities": {"O3": "5 m"}}, ["deposition.velocities.O3", "expected a speed"]),
        ("output", [{"strategy": "zarrr"}], ['output.0.strategy = "zarrr": there is no strategy', "zarr"]),
        ("output", [{"strategy": "zarr:later"}], ['output.0.strategy = "zarr:later"', '"sync" or "async"']),
        ("restart", {"strategy": "quux"}, ['restart.strategy = "quux": there is no strategy']),
        (
            "output",
            [{"compression": "zlib", "strategy": "mpiio"}],
            ["output.0.compression", "take gather, files or zarr"],
        ),
        ("time", {"length": "1e300 h"}, ["time.length = '1e300 h' must not be more than 100 year"]),
        ("time", {"length": "1e-300 h"}, ["time.length = '1e-300 h' must not be less than 1 s"]),
        ("time", {"length": "0 s"}, ["time.length = '0 s' must be more than 0 (1 s to 100 year)"]),
        ("time", {"start": "1066-10-14"}, ["time.start", "1800 to 2199"]),
        ("chemistry", {"sweeps": 10**18}, ["chemistry.sweeps", "must be at most 100"]),
        ("meteorology", {"rotation": "0 s"}, ["meteorology.rotation = '0 s' must not be less than 1 min", "below 0"]),
        ("meteorology", {"files": [""]}, ["meteorology.files.0"]),
        ("emissions", {"gridded": [""]}, ["emissions.gridded.0"]),
        ("emissions", {"inventory": ""}, ['emissions.inventory = "" is empty']),
        ("initial", {"file": "x" * 300}, ["initial.file", "is not a valid file name"]),
        ("output", [{"name": "a\nb"}], [r'output.0.name = "a\nb" must be a plain name']),
        ("time", {"a\nb": 1}, [r"time.a\nb is not a setting"]),
        ("run", {"threads": 10**5000}, ["run.threads"]),
        ("initial", {"file": "a\0b"}, ["initial.file", "is not a valid file name"]),
        ("emissions", {"year": 0}, ["emissions.year = 0 must be at least 1800"]),
        ("boundary", {"values": {"O3": "2 mol/mol"}}, ["boundary.values.O3 = '2 mol/mol' must not be more than 1"]),
        ("grid", {"layers": ["20 m", "20.001 m"]}, ["layer 2 of the grid is 0.001 m thick"]),
        ("grid", {"spacing": "1e-5 deg"}, ["grid has 2e+12 cells", "larger grid.spacing"]),
        ("output", [{"every": "1e-9 s"}], ["output.0.every = '1e-9 s' must not be less than 1 s"]),
        ("output", [{"levels": []}], ["output.0.levels = [] is empty"]),
        ("output", [{"fields": []}], ["output.0.fields = [] is empty"]),
        ("output", [{"levels": [1, 1]}], ["output.0.levels = [1, 1] has a repetition"]),
        ("output", [{"levels": [2]}], ["output.0.levels = [2]", "numbered 0 to 1"]),
        ("output", [{"fields": "O3"}], ['output.0.fields must be a list in [ ], or "all", not "O3"']),
        ("output", [{"levels": 2}], ['output.0.levels must be a list in [ ], or "all" or "ground", not 2']),
        ("output", [{"every": "1 h"}, {"every": "2 h"}], ["two [[output]] have the name 'output'"]),
        ("output", [{"name": "../x"}], ['output.0.name = "../x" must be', "letters, digits"]),
        ("output", {"every": "1 h"}, ["output must be a list"]),
    ],
)
def test_a_mistake_is_refused_with_key_and_remedy(section: str, values: Any, parts: list[str]) -> None:
    message = refusal(small(**{section: values}))
    for part in parts:
        assert part in message
    lines = message.splitlines()
    assert len(lines) == 1 or lines[0] == f"{len(lines) - 1} faults in the case:"


def test_a_point_source_must_lie_in_the_area() -> None:
    point = {"species": "TRACER", "lon": 20.0, "lat": 50.0, "rate": "1 g/s"}
    assert "emissions.point.0 at 20 E, 50 N lies outside grid.area" in refusal(small(emissions={"point": [point]}))
    inside = Case.from_dict(small(emissions={"point": [{**point, "lon": 5.0}]}))
    assert (inside.emissions.point[0].rate.value, inside.emissions.point[0].rate.unit) == (1e-3, "kg/s")


def test_what_must_be_given_is_named() -> None:
    assert refusal({}).splitlines() == [
        "3 faults in the case:",
        "  grid is missing: the case needs grid.area.lon, grid.area.lat, grid.spacing.lon, grid.spacing.lat",
        "  time is missing: the case needs time.start, time.length",
        "  chemistry is missing: the case needs chemistry.mechanism",
    ]


def test_one_mistake_is_a_line_and_of_many_the_first_few_are_listed() -> None:
    for count in (1, 2, 5, 6, 9):
        lines = refusal(small(time={f"wrong{i}": 1 for i in range(count)})).splitlines()
        assert len(lines) == (1 if count == 1 else 1 + min(count, 6))
        assert sum("is not a setting" in line for line in lines) == min(count, 5)
    assert (lines[0], lines[-1]) == ("9 faults in the case:", "  and 4 more")


def test_mistakes_in_a_file_name_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT.replace('every = "30 min"', "evry = 3").replace('"24 h"', '"24 m"'))
    with pytest.raises(CaseError) as error:
        Case.load(tmp_path)
    heading, first, second = str(error.value).splitlines()
    assert heading == f"2 faults in the case {file}:"
    assert first.startswith("  case.toml:13: time.length = '24 m' has the wrong kind of unit: expected a time")
    assert second == "  case.toml:23: output.1.evry is not a setting; did you mean output.1.every?"

    write(tmp_path, TEXT.replace("mechanism =", "mechansim ="))
    with pytest.raises(CaseError) as error:
        Case.load(tmp_path, ["time.length=1 h", "time.stepp=2 s"])
    assert str(error.value).splitlines()[1:] == [
        "  --set: time.stepp is not a setting; did you mean time.step?",
        "  case.toml:16: chemistry.mechansim is not a setting; did you mean chemistry.mechanism?",
    ]
    with pytest.raises(CaseError, match=r"^--set: foo is not a setting; known here are title"):
        Case.load("west-europe", ["foo.bar=1"])
    spaced = write(tmp_path, TEXT.replace('"0.5 deg"', '"0.5 dog"'))
    with pytest.raises(CaseError) as error:
        Case.load(tmp_path)
    what = "grid.spacing = '0.5 dog': 'dog' is not a unit that Airshed recognises; did you mean deg?"
    assert str(error.value) == f"{spaced}:5: {what}"
    write(tmp_path, TEXT.replace('"24 h"', '"24 m"'))
    with pytest.raises(CaseError, match=rf"^{re.escape(str(file))}:13: time\.length = [^\n]*$"):
        Case.load(tmp_path)


def test_species_that_are_not_there_are_named_with_their_lines(tmp_path: Path) -> None:
    file = write(tmp_path, TEXT.replace('["O3"]', '["O3", "NO22"]'))
    with pytest.raises(CaseError) as error:
        check_species(Case.load(tmp_path), ["O3", "NO2"])
    assert str(error.value) == f"{file}:19: output.0.fields: 'NO22' is not a species of tracer; did you mean NO2?"
    with pytest.raises(CaseError) as error:
        check_species(Case.load(tmp_path, ["boundary.scale.OO3=2"]), ["O3", "NO2"])
    assert str(error.value).splitlines() == [
        f"2 faults in the case {file}:",
        "  case.toml:19: output.0.fields: 'NO22' is not a species of tracer; did you mean NO2?",
        "  --set: boundary.scale: 'OO3' is not a species of tracer; did you mean O3?",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[grid]\narea = { lon = [0, 10\n", ["case.toml:2:22: this is not TOML: unclosed array"]),
        ("[grid\n", ["case.toml:1:6", "']'"]),
        ("[time]\nlength = 24 h\n", ["case.toml:2:13", "'length = 24 h'"]),
        ("[time]\nstart = 2022-08-31T00:00Z\n", ["case.toml:2:", "TOML writes times with seconds"]),
        ("a = 1\na = 2\n", ["case.toml:2:6", "overwrite a value"]),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_line_and_column(tmp_path: Path, text: str, parts: list[str]) -> None:
    write(tmp_path, text)
    with pytest.raises(CaseError) as error:
        Case.load(tmp_path)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"has no case\.toml"):
        Case.load(tmp_path)
    with pytest.raises(CaseError, match=r"there is no case 'nosuch'; shipped cases: .*west-europe"):
        Case.load("nosuch")
    with pytest.raises(CaseError, match=r"there is no case 'west-eruope'; did you mean west-europe\?"):
        Case.load("west-eruope")
    (tmp_path / "case.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CaseError, match="line 1 holds bytes that are not UTF-8"):
        Case.load(tmp_path)


def test_overrides_and_provenance(tmp_path: Path) -> None:
    write(tmp_path, TEXT)
    changes = ["time.step=90 s", 'time.length="6 h"', "emissions.scale.NOx=0.7", "output.1.every=20 min"]
    case = Case.load(tmp_path, changes)
    assert case.time.step != "auto"
    assert (case.time.step.value, case.time.length.value) == (90.0, 21600.0)
    assert case.emissions.scale == {"NOx": 0.7}
    assert case.output[1].every.value == 1200.0
    expected = {
        "title": "case.toml:1",
        "grid.area.lat": "case.toml:4",
        "grid.spacing.lon": "case.toml:5",
        "grid.layers": "case.toml:6",
        "time.start": "case.toml:12",
        "time.length": "--set",
        "time.step": "--set",
        "time.courant": "default",
        "emissions.scale.NOx": "--set",
        "output.0.fields": "case.toml:19",
        "output.0.every": "default",
        "output.1.name": "case.toml:22",
        "output.1.every": "--set",
    }
    assert {key: case.provenance[key] for key in expected} == expected
    assert [key for key, _, _ in case.rows()] == list(case.provenance)
    assert ("time.step", '"90 s"', "--set") in case.rows()
    assert Case.from_dict(SMALL).provenance["time.length"] == "given"


def test_an_override_of_a_list_that_is_not_there_makes_its_first_item() -> None:
    assert Case.from_dict(SMALL, overrides=["output.0.every=2 h"]).output[0].every.value == 7200.0


def test_a_key_of_a_list_is_told_with_its_number() -> None:
    with pytest.raises(CaseError, match=r"output has no item 'compression'; .* which item: output.0.compression$"):
        Case.load("west-europe", ["output.compression=zlib"])
    assert Case.load("west-europe", ["output.0.compression=zlib"]).output[0].compression == "zlib"
    for strategy in ("gather", "files:async", "zarr", "auto"):
        Case.load("west-europe", ["output.0.compression=zlib", f"output.0.strategy={strategy}"])


@pytest.mark.parametrize(
    ("assignment", "parts"),
    [
        ("time.step", ["--set 'time.step' is not understood", "key=value"]),
        ("=3", ["--set '=3' is not understood"]),
        ("time..step=3", ["is not understood"]),
        ("time.stepp=3 s", ["--set: time.stepp is not a setting", "did you mean time.step?"]),
        ("time.step=120", ["--set: time.step needs a unit"]),
        ("output.1.every=1 h", ["--set 'output.1.every=1 h': output has no item 1; it has none"]),
        ("grid.layers.5=70 m", ["grid.layers has no item 5; its items are numbered 0 to 1"]),
        ("grid.layers.top=70 m", ["grid.layers has no item 'top'; its items are numbered 0 to 1"]),
        ("output.0.fields=[O3]", ["must be a list in [ ] with quotes around its texts", "a shell takes quotes away"]),
        ("time.length.hours=3", ["time.length is a single value and has no 'hours'"]),
        ("time.length.hours.x=3", ["time.length is a single value and has no 'hours'"]),
    ],
)
def test_a_wrong_override_is_refused(assignment: str, parts: list[str]) -> None:
    message = refusal(SMALL, (assignment,))
    for part in parts:
        assert part in message


def test_an_override_leaves_the_given_dictionary_alone() -> None:
    before = copy.deepcopy(SMALL)
    Case.from_dict(SMALL, overrides=["time.length=1 h", "grid.layers.0=10 m"])
    assert before == SMALL


def test_files_are_found_relative_to_the_case(tmp_path: Path) -> None:
    (tmp_path / "meteorology").mkdir()
    for name in ("b.nc", "a.nc"):
        (tmp_path / "meteorology" / name).touch()
    case = Case.from_dict(SMALL, base=tmp_path)
    found = case.files(["meteorology/*.nc", "meteorology/a.nc"], "meteorology.files")
    assert [file.name for file in found] == ["a.nc", "b.nc"]
    assert case.files([str(tmp_path / "meteorology" / "a.nc")], "x") == [tmp_path / "meteorology" / "a.nc"]
    with pytest.raises(CaseError, match=r"meteorology\.files = 'met/\*\.nc': there is no such file in"):
        case.files(["met/*.nc"], "meteorology.files")


def test_the_mechanism_is_a_name_or_a_file_of_the_case(tmp_path: Path) -> None:
    assert Case.from_dict(SMALL, base=tmp_path).mechanism == "tracer"
    mine = small(chemistry={"mechanism": "mine.eqn"})
    assert Case.from_dict(mine, base=tmp_path).mechanism == str(tmp_path / "mine.eqn")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": [{"fields": ["O3", "NO22"]}]}, "output.0.fields: 'NO22' .* did you mean NO2?"),
        ({"boundary": {"values": {"o3": "1 ppb"}}}, "boundary.values: 'o3' .* did you mean O3?"),
        (
            {"initial": {"values": {"XX": "1 ppb"}}},
            "initial.values: 'XX' is not a species of tracer; known are NO2, O3",
        ),
        ({"deposition": {"velocities": {"O33": "1 m/s"}}}, "deposition.velocities: 'O33'"),
        (
            {"emissions": {"point": [{"species": "N", "lon": 1, "lat": 50, "rate": "1 g/s"}]}},
            "emissions.point.0.species",
        ),
    ],
)
def test_species_are_checked_against_the_mechanism(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        check_species(Case.from_dict(small(**changes)), ["O3", "NO2"])
    check_species(Case.from_dict(small(output=[{"fields": ["O3"]}])), ["O3", "NO2"])


def test_lines_of_keys_ignore_what_only_looks_like_one() -> None:
    text = 'a = """\nb = 1\n[c]\n"""\n# d = 2\n"e f" = 3 # g = 4\n[[h]]\ni.j = 5\n[[h]]\n'
    assert key_lines(text) == {("a",): 1, ("e f",): 6, ("h", 0): 7, ("h", 0, "i", "j"): 8, ("h", 1): 9}


def test_an_override_value_cannot_smuggle_in_other_keys() -> None:
    data: dict[str, Any] = {}
    patch_document(data, ["a.b=1\nc = 2"])
    assert data == {"a": {"b": "1\nc = 2"}}


_VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab. -é\"'", max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text("ab. -é\"'", max_size=4), _VALUES, max_size=4))
def test_written_toml_reads_back_the_same(data: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(data)) == data


def test_the_document_lists_every_setting_and_is_up_to_date() -> None:
    document = case_file_document()
    for setting in settings_of(Case):
        assert setting.text.endswith("."), f"{setting.key} has no text"
        assert setting.text in document
    committed = (ROOT / "docs" / "reference" / "case-file.md").read_text(encoding="utf-8")
    assert committed == document, "run: python -m airshed.models.air.case.document > docs/reference/case-file.md"


def test_the_most_used_settings_have_examples_that_load() -> None:
    assert len(EXAMPLES) == 10
    sections: dict[str, list[str]] = {}
    for key, example in EXAMPLES.items():
        section = key.partition(".")[0]
        sections.setdefault(f"[[{section}]]" if ".N." in key else f"[{section}]", []).append(example)
    text = "\n".join("\n".join([heading, *lines]) for heading, lines in sections.items())
    case = Case.from_dict(tomllib.loads(text))
    assert case.emissions.scale == {"DE/F_RoadTransport": 0.5}
    assert case.output[0].fields == ("O3", "NO2")


def test_every_leaf_of_a_resolved_case_has_an_origin() -> None:
    case = Case.load("west-europe", ["chemistry.sweeps=2"])
    assert len(case.provenance) == len(flatten(case.to_dict()))
    assert case.provenance["chemistry.sweeps"] == "--set"
    assert all(origin == "--set" or origin.startswith(("case.toml:", "default")) for origin in case.provenance.values())


def test_a_mechanism_of_the_command_line_goes_from_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else from the case's; in neither is an error that names both, and the nearest file."""
    case, here = tmp_path / "case", tmp_path / "here"
    for folder, name in ((case, "own.eqn"), (here, "mine.eqn")):
        folder.mkdir()
        (folder / name).write_text("#DEFVAR A = IGNORE;\n", encoding="utf-8")
    (case / "case.toml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(here)
    for name, path in (("./mine.eqn", here / "mine.eqn"), ("own.eqn", case / "own.eqn")):
        loaded = Case.load(case, [f"chemistry.mechanism={name}"])
        assert Path(loaded.mechanism).resolve() == path.resolve()
    assert loaded.chemistry.mechanism == "own.eqn"
    assert Case.load(case, ["chemistry.mechanism=emep"]).mechanism == "emep"
    with pytest.raises(CaseError) as caught:
        Case.load(case, ["chemistry.mechanism=./mien.eqn"])
    for part in (f"working directory {here}", f"folder of the case, {case}", "did you mean mine.eqn?"):
        assert part in str(caught.value)

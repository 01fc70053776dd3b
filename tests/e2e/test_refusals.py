"""Mistakes of new users: each ends in a message of one or two lines with advice, exit code 2 and no traceback."""

import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from .conftest import CASES, airshed, airshed_here, command, environment

TRACER = """
[grid]
area = { lon = [5.5, 7.5], lat = [50.5, 52] }
spacing = "0.25 deg"
layers = ["100 m", "500 m", "1500 m", "4000 m"]
[time]
start = 2022-08-31T00:00:00Z
length = "1 h"
[chemistry]
mechanism = "tracer"
[meteorology]
kind = "era5"
files = ["meteorology/*.nc"]
[[emissions.point]]
species = "TRACER"
lon = 6
lat = 51
rate = "1 mol/s"
[deposition]
scheme = "none"
"""

MECHANISM = "#DEFVAR\nA = IGNORE;\nB = IGNORE;\n#EQUATIONS\n<R1> A = B : 1e-3;\n<R2> B + = A : 1e-3;\n"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a case of passive tracers in real weather, with the inventory in the same folder."""
    folder = tmp_path_factory.mktemp("case") / "mine"
    folder.mkdir()
    (folder / "case.toml").write_text(TRACER)
    for name in ("meteorology", "emissions"):
        (folder / name).mkdir()
        for path in (CASES / "west-europe" / name).iterdir():
            (folder / name / path.name).symlink_to(path)
    return folder


@pytest.fixture
def case(pristine: Path, tmp_path: Path) -> Path:
    """Return a copy of the case to spoil; its data files are links, so replace them, and do not write to them."""
    return Path(shutil.copytree(pristine, tmp_path / "mine", symlinks=True))


def refused(*arguments: str | Path, overrides: Sequence[str] = ()) -> str:
    """Run the installed program, check that it refuses properly, and return the message."""
    return checked(airshed(*arguments, overrides=overrides))


def refused_here(*arguments: str | Path, overrides: Sequence[str] = ()) -> str:
    """Run the program in this process, which avoids the start of Python; otherwise as :func:`refused`."""
    return checked(airshed_here(*arguments, overrides=overrides))


def checked(answer: "subprocess.CompletedProcess[str]") -> str:
    """Check that a program has refused with a message of one or two lines and nothing else, and return it."""
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert lines[-1].startswith("airshed: error: "), answer.stderr
    assert len(lines) == 1
    assert len(lines[0]) < 420, "longer than two lines of a wide terminal, paths included"
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rn west-europe", "did you mean 'run'"),
        ("run", "missing argument 'CASE'"),
        ("run west-europe --outptu x", "no such option: --outptu"),
        ("run west-europe --threads many", "--threads"),
        ("run west-europe --threads -1", "--threads"),
        ("run west-europe again", "there is no case 'again'"),
        ("show west-europe again", "unexpected extra argument"),
        ("kernel shw", "did you mean 'show'"),
        ("run nosuch", "there is no case 'nosuch'"),
        ("run . ", "has no case.toml"),
        ("plot nosuch", "there is no run or file nosuch"),
        ("box emep --conditions nosuch.toml --output x.nc", "nosuch.toml"),
        ("show west-europe --set grid.spacingg=1", "did you mean grid.spacing?"),
        ("show west-europe --set nonsense", "key=value"),
    ],
)
def test_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused_here(*arguments.split()).replace("Did", "did")
    assert list(tmp_path.iterdir()) == []


def test_the_program_alone_shows_its_help(tmp_path: Path) -> None:
    answer = airshed(cwd=tmp_path)
    assert answer.returncode == 2
    assert "Usage: airshed" in answer.stdout
    assert "airshed: error: no such command 'rn'. Did you mean 'run'? (help: airshed --help)" in refused("rn")


SETTINGS = [
    (["time.stepp=60 s"], ["time.stepp is not a setting", "did you mean time.step?"]),
    (["time.step=60"], ["needs a unit"]),
    (["time.step=60 kg"], ["time.step", "kg"]),
    (["time.step=60 parsnips"], ["parsnips"]),
    (["time.length=-1 h"], ["must be more than 0"]),
    (["time.start=yesterday"], ["2022-08-31T00:00:00Z"]),
    (["time.start=2022-09-05T00:00:00Z"], ["the data covers 2022-08-31", "the case requires 2022-09-05"]),
    (["time.length=40 h"], ["the data covers", "change [time] or add data"]),
    (["time.step=3 h", "time.length=3 h"], ["time.step = '3 h' is too long for the wind", "or less"]),
    (
        ["grid.area.lon=[20, 22]", "emissions.point=[]"],
        ["the data covers longitude", "take a smaller area"],
    ),
    (["grid.area.lon=[7.5, 5.5]"], ["from the smaller to the larger"]),
    (["grid.spacing=0.3 deg"], ["does not divide"]),
    (['grid.layers=["100 m", "50 m"]'], ["layers"]),
    (["meteorology.files=nosuch/*.nc"], ["meteorology.files"]),
    (['meteorology.files=["nosuch/*.nc"]'], ["there is no such file"]),
    (["chemistry.mechanism=emp"], ["there is no mechanism 'emp'", "emep"]),
    (["chemistry.mechanism=nosuch.eqn"], ["nosuch.eqn"]),
    (["chemistry.mechanism=broken.eqn"], ["broken.eqn:6:10: expected a name or a number, but '=' follows"]),
    (['output.0.fields=["O3"]'], ["output.0.fields", "'O3' is not a species of tracer"]),
    (["boundary.scale.NOX=2"], ["'NOX' is not a species of tracer"]),
    (["boundary.profiles=nosuch.csv"], ["nosuch.csv"]),
    (["emissions.point.0.species=TRACR"], ["'TRACR' is not a species of tracer", "did you mean TRACER?"]),
    (["emissions.point.0.rate=-1 mol/s"], ["emissions.point.0.rate", "must not be less than 0"]),
    (["emissions.point.0.rate=1 m/s"], ["emissions.point.0.rate"]),
    (["emissions.point.0.lat=20"], ["lies outside grid.area"]),
    (["emissions.inventory=nosuch"], ["there is no such folder"]),
    (['emissions.gridded=["nosuch.nc"]'], ["there is no such file"]),
    (["initial.file=nosuch.nc"], ["there is no such file"]),
    (["initial.file=case.toml"], ["is not a netCDF file"]),
]


INSTALLED = ("time.stepp=60 s",)


@pytest.mark.parametrize(("overrides", "message"), SETTINGS, ids=[pair[0][0] for pair in SETTINGS])
def test_settings(pristine: Path, tmp_path: Path, overrides: list[str], message: list[str]) -> None:
    (pristine / "broken.eqn").write_text(MECHANISM)
    refuse = refused if overrides[0] in INSTALLED else refused_here
    message = refuse("run", pristine, "--output", tmp_path / "run", overrides=overrides)
    for part in message:
        assert part in message
    assert not list((tmp_path / "run").glob("*"))


def replaced(case: Path, name: str) -> Path:
    """Replace a linked data file by a copy, and return its path."""
    path = case / name
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    return path


def spoil_wind(value: float) -> Callable[[Path], None]:
    def spoil(case: Path) -> None:
        path = case / "meteorology" / "ERA5_2022-08-31_ml_u.nc"
        with netCDF4.Dataset(path) as file:
            levels = file["u"].dimensions[1]
            data = {name: np.asarray(file[name][...]) for name in ("time", levels, "latitude", "longitude")}
            attributes = {name: file[name].__dict__ for name in data}
            wind = np.asarray(file["u"][...], dtype=np.float32)
            dimensions = file["u"].dimensions
        wind[1, 5] = value  # values that a case does not need are not read
        path.unlink()
        with netCDF4.Dataset(path, "w") as file:
            for name, values in data.items():
                file.createDimension(name, len(values))
                variable = file.createVariable(name, values.dtype, (name,))
                variable.setncatts({k: v for k, v in attributes[name].items() if k != "_FillValue"})
                variable[:] = values
            file.createVariable("u", "f4", dimensions, fill_value=False)[:] = wind

    return spoil


def truncate(case: Path) -> None:
    path = replaced(case, "meteorology/ERA5_2022-08-31_ml_v.nc")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(case: Path) -> None:
    replaced(case, "meteorology/ERA5_2022-08-31_sp.nc").write_bytes(b"")


def spoil_toml(case: Path) -> None:
    (case / "case.toml").write_text(TRACER + "[run\n")


def spoil_encoding(case: Path) -> None:
    (case / "case.toml").write_bytes(TRACER.encode() + b"# caf\xe9\n")


def negative_inventory(case: Path) -> None:
    path = replaced(case, "emissions/national_totals.csv")
    lines = path.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith("DE,2022,B_Industry,NOx"))
    lines[number] = lines[number].rpartition(",")[0] + ",-5"
    path.write_text("\n".join(lines) + "\n")


def negative_field(case: Path) -> None:
    with netCDF4.Dataset(case / "field.nc", "w") as file:
        for name, values in (("lat", [50.5, 51.5]), ("lon", [5.5, 6.5])):
            file.createDimension(name, 2)
            file.createVariable(name, "f8", (name,))[:] = values
        variable = file.createVariable("TRACER", "f8", ("lat", "lon"))
        variable.units = "mol s-1"
        variable[:] = [[1.0, 2.0], [-3.0, 4.0]]


SPOILED = [
    ("truncated file", truncate, (), ["ml_v.nc", "truncated or damaged", "download it again"]),
    ("empty file", empty, (), ["sp.nc", "it is empty"]),
    ("NaN in the wind", spoil_wind(np.nan), (), ["ml_u.nc: variable u is missing (NaN) at time", "replace the file"]),
    ("hurricane", spoil_wind(900.0), (), ["variable u is 900, outside"]),
    ("toml", spoil_toml, (), ["case.toml:21:5: this is not TOML"]),
    ("encoding", spoil_encoding, (), ["case.toml", "UTF-8"]),
    (
        "negative inventory", negative_inventory, ("chemistry.mechanism=emep", "emissions.inventory=emissions",
        "emissions.point=[]"), ["national_totals.csv", "-5"],
    ),
    ("negative field", negative_field, ('emissions.gridded=["field.nc"]',), ["TRACER is -3 at lat 51.5, lon 5.5"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "overrides", "message"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED]
)
def test_data(
    case: Path, tmp_path: Path, spoil: Callable[[Path], None], overrides: tuple[str, ...], message: list[str]
) -> None:
    spoil(case)
    refuse = refused if spoil is truncate else refused_here
    message = refuse("run", case, "--output", tmp_path / "run", overrides=overrides)
    for part in message:
        assert part in message


def test_the_case_itself_runs(pristine: Path, tmp_path: Path) -> None:
    """Positive control: the refusals above have no other cause than their mistake."""
    answer = airshed_here("run", pristine, "-q", "--output", tmp_path / "run")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_unwritable_folders(pristine: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below"):
        assert "choose another folder" in refused_here("run", pristine, "--output", tmp_path / place)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("precious")
    message = refused_here("run", pristine, "--output", tmp_path / "thesis")
    assert "holds other files (chapter1.tex)" in message
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]


def test_no_permission(pristine: Path, sealed: Path) -> None:
    for place in (sealed, sealed / "below"):
        assert "there is no permission to write there" in refused_here("run", pristine, "--output", place)


def test_a_full_disk(pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is simulated by a limit on the size of files, which every file system and user has."""
    folder = tmp_path / "run"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # the limit would truncate the bytecode of modules
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        message = refused_here("run", pristine, "-q", "--output", folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot write" in message
    assert not (folder / "output.nc").exists()
    assert airshed_here("run", pristine, "-q", "--resume", "--output", folder).returncode == 0


@pytest.mark.parametrize("small_disk", ["12k"], indirect=True)
def test_a_full_file_system(pristine: Path, small_disk: Path) -> None:
    message = refused_here("run", pristine, "-q", "--output", small_disk / "run")
    assert "the disk is full; free some space, or choose a folder on another disk" in message
    assert not (small_disk / "run" / "output.nc").exists()


def test_no_compiler(pristine: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    answer = subprocess.run(
        command("run", pristine, "--output", tmp_path / "run"), capture_output=True, text=True, check=False,
        env=environment(PATH=str(tmp_path / "bin"), AIRSHED_CACHE=str(tmp_path / "cache"), AIRSHED_CXX=""),
    )  # fmt: skip
    message = checked(answer)
    assert "g++" in message
    assert "ziglang" in message


def test_a_case_that_fails_leaves_the_earlier_result_alone(case: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert airshed_here("run", case, "-q", "--output", folder).returncode == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    truncate(case)
    refused_here("run", case, "--output", folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_ctrl_c_while_preparing_is_no_traceback(pristine: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("run", pristine, "--output", tmp_path / "run"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment(),
    )  # fmt: skip
    while not (tmp_path / "run").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "airshed: stopped\n")

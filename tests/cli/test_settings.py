"""`--set` with nonsense ends in a line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import AirshedError

MANY = 5000
ODD = {
    "a number of many digits": f"run.threads={'9' * MANY}",
    "a duration of many digits": f"time.length={'9' * MANY} h",
    "hexadecimal": f"time.length=0x{'f' * MANY}",
    "a key of many digits": f"{'9' * MANY}=1",
    "an index of many digits": f"emissions.point.{'9' * MANY}.rate=1",
    "a key of many parts": f"{'.'.join('a' * MANY)}=1",
    "a long key": f"{'a' * MANY}=1",
    "a value of many parts": f"x={{{'.'.join('a' * MANY)}=1}}",
    "many brackets": f"x={'[' * MANY}",
    "nothing but equals": "=" * MANY,
    "no equals": "a" * MANY,
    "empty parts": f"{'.' * MANY}=1",
}


@pytest.mark.parametrize("setting", ODD.values(), ids=ODD)
def test_what_nobody_means_is_refused_in_a_line(setting: str) -> None:
    with pytest.raises(AirshedError) as refused:
        airshed.Case.load("tracer-rotation", [setting])
    assert len(str(refused.value)) < 1000
    shown = CliRunner().invoke(app, ["show", "tracer-rotation", "--set", setting])
    assert shown.exit_code == 2
    assert len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize("blanks", [10, 100_000])
def test_blanks_hang_nothing(tmp_path: Path, blanks: int) -> None:
    shipped = Path(airshed.load_case("tracer-rotation").base) / "case.toml"
    text = f"{shipped.read_text()}\nx = [\n[{' ' * blanks}1,\n2]]\n"
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(AirshedError, match="x is not a setting"):
        airshed.Case.load(tmp_path)


def test_many_unknown_keys_are_counted(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text("".join(f"k{number} = 1\n" for number in range(3000)))
    with pytest.raises(AirshedError, match=r"faults in the case .*\n(.*\n)*.*and \d{4} more"):
        airshed.Case.load(tmp_path)

"""`airshed mechanism`: show, check, convert, map."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from airshed.cli.program import app
from airshed.mechanism import load_mechanism

PNG = b"\x89PNG\r\n"


def mechanism(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["mechanism", *map(str, arguments)])


def test_show_tells_rates_at_temperature_and_pressure() -> None:
    answer = mechanism("show", "chapman", "--json", "--temperature", "250 K", "--pressure", "10 hPa")
    assert answer.exit_code == 0, answer.output
    report = json.loads(answer.stdout)
    tables = {table["title"]: table["rows"] for table in report["tables"]}
    assert [row["label"] for row in tables["Reactions"]] == ["C1", "C2", "C3", "C4", "C5"]
    fourth = tables["Reactions"][3]
    assert fourth["equation"] == "O + O3 = 2 O2"
    assert fourth["k"] == pytest.approx(8e-12 * 2.718281828459045 ** (-2060 / 250))
    assert (fourth["unit of k"], tables["Reactions"][2]["unit of k"]) == ("cm3/s", "1/s")
    assert tables["Atoms"][0] == {
        "atom": "O", "conserved in reactions": 5, "not in": 0, "change in the first of them": ""
    }  # fmt: skip
    assert report["facts"]["Jacobian"] == "4 of 4 entries, 100.0 %"
    assert tables["Parameters"][0]["name"] == "j_O2"


def test_show_balances_only_atoms_that_a_species_has(tmp_path: Path) -> None:
    path = tmp_path / "few.eqn"
    path.write_text(
        "#INCLUDE atoms.kpp\n#DEFVAR\nNO = N + O; NO2 = N + 2O;\n#EQUATIONS\nNO2 = NO : 1;", encoding="utf-8"
    )
    tables = {table["title"]: table["rows"] for table in json.loads(mechanism("show", path, "--json").stdout)["tables"]}
    assert [(row["atom"], row["not in"]) for row in tables["Atoms"]] == [("N", 0), ("O", 1)]


def test_show_tells_what_is_open_and_draws(tmp_path: Path) -> None:
    path = tmp_path / "open.eqn"
    path.write_text("#DEFVAR\nA = N; B = N;\n#EQUATIONS\nA = B : j_A;\nB = A : 2*J(1);", encoding="utf-8")
    answer = mechanism("show", path, "--picture", tmp_path / "pattern.png")
    assert answer.exit_code == 0, answer.output
    assert "left open  j_A, J(1)" in answer.stdout
    assert "open: j_A" in answer.stdout
    assert (tmp_path / "pattern.png").read_bytes().startswith(PNG)


def test_check_tells_everything_odd(tmp_path: Path) -> None:
    path = tmp_path / "odd.eqn"
    text = "#DEFVAR\nA = N; B = N; C = IGNORE;\n#CHECK N;\n#EQUATIONS\nA = B : 1;\nA = B : 2;\nB = PROD : tmp;"
    path.write_text(text, encoding="utf-8")
    answer = mechanism("check", path)
    assert answer.exit_code == 1
    for part in ("imbalance", "never produced", "unused", "duplicate", "open", "did you mean 'TEMP'"):
        assert part in answer.stdout
    path.write_text(text.replace("B = PROD", "B = A"), encoding="utf-8")
    assert mechanism("check", path).exit_code == 0
    assert json.loads(mechanism("check", "pollu", "--json").stdout)["facts"] == {"never lost": 4, "never produced": 2}


def test_convert_writes_and_reads_back(tmp_path: Path) -> None:
    answer = mechanism("convert", "chapman", tmp_path / "new.eqn")
    assert answer.exit_code == 0, answer.output
    assert "the same network" in answer.stdout
    assert load_mechanism(tmp_path / "new.eqn").names == ("O", "O3")
    refused = mechanism("convert", "chapman", tmp_path / "new.txt")
    assert refused.exit_code == 2
    assert "the suffix does not determine the format" in refused.stderr


def test_map_prints_a_species_map() -> None:
    answer = mechanism("map", "chapman")
    assert answer.exit_code == 0, answer.output
    assert "[emissions]" in answer.stdout
    assert "[deposition]" in answer.stdout


def test_faults_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.eqn"
    path.write_text("#DEFVAR\nA = N;\n#EQUATIONS\nA = B : 1;\nA = C : foo(1., 2.);\n", encoding="utf-8")
    for command in ("show", "check", "map"):
        answer = mechanism(command, path)
        assert answer.exit_code == 2
        assert "bad.eqn:4:5: species 'B' is not declared" in answer.stderr
        assert "bad.eqn:5:5: species 'C' is not declared" in answer.stderr
        assert "Traceback" not in answer.output
    assert mechanism("show", "chapman", "--temperature", "20").exit_code == 2
    assert "not a possible state of the air" in mechanism("show", "chapman", "--temperature", "2 K").stderr


def test_a_misspelt_file_or_name_gets_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "strato.eqn").write_text("#DEFVAR A = IGNORE;\n", encoding="utf-8")
    (tmp_path / "strato.txt").write_text("", encoding="utf-8")
    for given, meant in (
        (tmp_path / "startO.eqn", "did you mean 'strato.eqn'?"),
        (tmp_path / "strat.json", "did you mean 'strato.eqn'?"),
        (tmp_path / "emap.def", "did you mean 'emep'?"),
        ("emap", "did you mean 'emep'?"),
    ):
        for command in ("check", "show"):
            answer = mechanism(command, given)
            assert answer.exit_code == 2
            assert meant in answer.stderr
    far = mechanism("check", tmp_path / "zzzzzzzz.eqn")
    assert "there is no such file" in far.stderr
    assert "did you mean" not in far.stderr

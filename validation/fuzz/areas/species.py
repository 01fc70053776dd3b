"""Species: names of every kind in whole runs, and species maps."""

import json
import random
import tomllib
from pathlib import Path
from typing import Any, Final

from validation.fuzz.inputs import CHECKOUT, MECHANISMS, ozone_case, toml, tracer_case, write_case
from validation.fuzz.judge import MARK
from validation.fuzz.nasty import TEXTS, spoil_file, spoil_tree
from validation.fuzz.trial import Trial

_MAPS: Final = CHECKOUT / "src" / "airshed" / "models" / "air" / "data" / "species"
_NAMES: Final = (
    *TEXTS, "time", "lat", "lon", "level", "lat_bnds", "lon_bnds", "level_bnds", "time_bnds", "bnds", "species", "A/B",
    "*/ x /*", "../../../etc/x", "X??/", MARK, "air_pressure", "air_temperature", "X\\", "cell", "M", "O2", "hv",
    "PROD", "TEMP", "SUN", "int", "double", "class", "and", "NULL", "y", "x" * 256, "_FillValue", "units", "a.b", "a-b",
    "1A", "A1", "é1", "O_3", "nan", "INF", "TRACER2", "tracer2",
)  # fmt: skip


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of a sound name."""
    return _named(place, "TRACER", "kpp", "run")


def make(rng: random.Random, place: Path) -> Trial:
    """Run with a new name of a species, or spoil a species map."""
    if rng.random() < 0.55:
        return _named(
            place,
            rng.choice(_NAMES),
            rng.choice(["kpp", "json", "json"]),
            rng.choice(["run", "run", "run", "box", "zarr", "csv"]),
        )
    return _map(rng, place)


def _named(place: Path, name: str, form: str, way: str) -> Trial:
    """Transport and write a species of that name."""
    if form == "kpp":
        file = place / "mine.def"
        file.write_text(f"#DEFVAR\n{name} = IGNORE;\nTRACER2 = IGNORE;\n", encoding="utf-8", errors="surrogatepass")
    else:
        file = place / "mine.json"
        names = [{"name": name}, {"name": "TRACER2"}]
        document: dict[str, Any] = {
            "version": "1.0.0",
            "name": "mine",
            "species": names,
            "phases": [{"name": "gas", "species": names}],
        }
        if way in ("box", "csv"):
            document["reactions"] = [{
                "type": "ARRHENIUS", "name": name, "A": 1e-3, "gas phase": "gas", "reactants": [{"name": name}],
                "products": [{"name": "TRACER2"}],
            }]  # fmt: skip
        else:
            document["reactions"] = []
        file.write_text(json.dumps(document), encoding="utf-8")
    words, kind, names_of = (
        f"{way}: a species of {form} is called {name[:60]!r}",
        f"name in {form}",
        (file.name, "mine", "name"),
    )
    if way in ("box", "csv"):
        (place / "conditions.toml").write_text(
            toml(
                {
                    "time": {"length": "10 min"},
                    "environment": {"temperature": "288 K", "pressure": "1e5 Pa"},
                    "initial": {name: "1e10 molecules/cm3"},
                }
            ),
            encoding="utf-8",
            errors="surrogatepass",
        )
        output = place / ("box.nc" if way == "box" else "box.csv")
        line = ["box", str(file), "--conditions", str(place / "conditions.toml"), "--output", str(output)]
        return Trial(
            place, words, kind, line, output=output, names=(*names_of, "conditions.toml"), absent=(place / "RAN",)
        )
    case = tracer_case()
    case["chemistry"] = {"mechanism": file.name, "species_map": "tracer"}
    case["emissions"]["point"][0]["species"] = name
    case["initial"]["values"] = {name: "1 ppb"}
    if way == "zarr":
        case["output"][0]["strategy"] = "zarr"
    write_case(case, place)
    line = ["run", str(place / "case.toml"), "--output", str(place / "out")]
    return Trial(
        place, words, kind, line, output=place / "out", names=(*names_of, "case.toml"), absent=(place / "RAN",)
    )


def _map(rng: random.Random, place: Path) -> Trial:
    """Spoil the species map of small_strato in a case that uses all of it."""
    content = (_MAPS / "small_strato.toml").read_text(encoding="utf-8")
    path = place / "mine.species.toml"
    if rng.random() < 0.3:
        spoilt, words = spoil_file(rng, content.encode())
        path.write_bytes(spoilt)
        kind = "map: text"
    else:
        tree = tomllib.loads(content)
        tree["names"]["none"] = tree["names"]["none"][:3]
        tree["rates"] = {}
        tree["carbon"] = {"NO": 0}
        tree["split"] = {
            "NOx": {
                "NO": {"mass": 0.9, "molar_mass": "46.0055 g/mol"},
                "NO2": {"mass": 0.1, "molar_mass": "46.0055 g/mol"},
            }
        }
        tree, words, where = spoil_tree(rng, tree)
        path.write_text(toml(tree), encoding="utf-8", errors="surrogatepass")
        kind = f"map: {where.split('.')[0]}"
    (place / "mine.def").write_text((MECHANISMS / "small_strato.def").read_text())
    case = ozone_case()
    case["chemistry"] = {"mechanism": "mine.def"}
    write_case(case, place)
    line = ["run", str(place / "case.toml"), "--output", str(place / "out")]
    names = ("mine.species.toml", "species map", "small_strato", "mine")
    return Trial(place, f"species map: {words}", kind, line, output=place / "out", names=names, absent=(place / "RAN",))

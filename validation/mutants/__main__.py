"""Sample mutants, run the tests on each of them in another checkout, and compare the results of two sets of tests.

``python -m validation.mutants sample --seed 1 --python 30 --cpp 15 kernels air/programs adjoint > mutants.jsonl``
``python -m validation.mutants run mutants.jsonl --checkout DIR --coverage DIR/.coverage --results old.jsonl``
``python -m validation.mutants control old.jsonl --checkout DIR``
``python -m validation.mutants compare old.jsonl new.jsonl``
"""

import argparse
import json
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from validation.mutants.cpp_mutants import cpp_mutants
from validation.mutants.python_mutants import Mutant, python_mutants
from validation.mutants.trial import Trials

ROOT = Path(__file__).resolve().parents[2]

Line = dict[str, object]
"""A mutant, in results with its outcome."""


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sample_options = commands.add_parser("sample", help="print mutants as JSON lines")
    sample_options.add_argument("packages", nargs="+", help="folders below src/airshed")
    sample_options.add_argument("--seed", type=int, default=1)
    sample_options.add_argument("--python", type=int, default=30, help="mutants of Python for each package")
    sample_options.add_argument("--cpp", type=int, default=0, help="mutants of C++ for each package that has any")
    run_options = commands.add_parser("run", help="run the tests on each mutant")
    run_options.add_argument("mutants", type=Path)
    run_options.add_argument("--results", type=Path, required=True, help="JSON lines; mutants in it are not run again")
    run_options.add_argument("--limit", type=float, default=300.0, help="seconds of tests for a mutant")
    run_options.add_argument("--cpp-tests", nargs="*", default=(), help="test files for mutants of C++")
    control_options = commands.add_parser("control", help="run the tests that caught mutants on the unchanged checkout")
    control_options.add_argument("results", type=Path)
    control_options.set_defaults(limit=0.0, cpp_tests=())
    for command in (run_options, control_options):
        command.add_argument("--checkout", type=Path, required=True, help="a clone with its own .venv")
        command.add_argument("--coverage", type=Path, help="lines of tests; else the tests of the package run")
        command.add_argument("--seconds", type=Path, help="times of tests; else each counts as one second")
        command.add_argument("-m", "--markers", default="", help="expression for pytest -m")
    compare_options = commands.add_parser("compare", help="print a table of the mutants caught in two results")
    compare_options.add_argument("old", type=Path)
    compare_options.add_argument("new", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that the changed file is restored
    if options.command == "sample":
        for mutant in sample(options.packages, options.seed, options.python, options.cpp):
            print(json.dumps(asdict(mutant)))
    elif options.command == "run":
        run(options)
    elif options.command == "control":
        control(options)
    else:
        print(comparison(_lines(options.old), _lines(options.new)))


def sample(packages: list[str], seed: int, python: int, cpp: int) -> Iterator[Mutant]:
    """Yield mutants of packages, drawn file by file so that each file has its share."""
    for package in packages:
        folder = ROOT / "src" / "airshed" / package
        patterns = ((python, ("*.py",), python_mutants), (cpp, ("*.hpp", "*.jinja"), cpp_mutants))
        for count, names, make in patterns:
            files = sorted(path for name in names for path in folder.rglob(name))
            yield from _drawn([make(ROOT, path) for path in files], count, random.Random(f"{seed} {package} {names}"))


def _drawn(by_file: list[list[Mutant]], count: int, dice: random.Random) -> list[Mutant]:
    """Return mutants of files in turn, as many of large files as of small ones."""
    left = [dice.sample(each, len(each)) for each in by_file if each]
    dice.shuffle(left)
    found: list[Mutant] = []
    while left and len(found) < count:
        left = [each for each in left if each]
        found += [each.pop() for each in left]
    return found[:count]


def run(options: argparse.Namespace) -> None:
    """Run the tests on each mutant that is not in the results, and append the outcomes."""
    done = {_key(each) for each in _lines(options.results)} if options.results.exists() else set()
    trials = _trials(options)
    for line in _lines(options.mutants):
        if _key(line) in done:
            continue
        outcome = trials.outcome(Mutant(**line))
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **outcome}) + "\n")
        change = f"{line['file']}:{line['line']} {line['old']!r} -> {line['new']!r}"
        print(f"{outcome['caught']!s:5} {change}  {outcome['by']}", flush=True)


def control(options: argparse.Namespace) -> None:
    """Run the tests that caught a mutant on the unchanged checkout; raises SystemExit where one fails there too."""
    trials = _trials(options)
    caught: dict[str, list[str]] = defaultdict(list)
    for line in _lines(options.results):
        if line["caught"]:
            caught[str(line["by"])].append(_text(line))
    unknown = sorted(set(caught) - trials.known)
    failed = sorted(trials.failures(sorted(set(caught) & trials.known)))
    print(f"{len(caught) - len(unknown)} tests that caught a mutant ran without it, {len(failed)} of them failed")
    for name in unknown:
        print(f"not a test of this checkout: {name} ({len(caught[name])} mutants)")
    if failed:
        sys.exit("\n".join(f"{name} fails without a mutant, and caught {', '.join(caught[name])}" for name in failed))


def _trials(options: argparse.Namespace) -> Trials:
    if options.checkout.resolve() == ROOT:
        sys.exit("--checkout is this checkout, whose files would change: clone it")
    return Trials(options)


def comparison(old: list[Line], new: list[Line]) -> str:
    """Return a table of the mutants in both results, and a list of mutants that only the old one caught."""
    later = {_key(line): line for line in new}
    pairs = [(line, later[_key(line)]) for line in old if _key(line) in later]
    rows = ["| package | mutants | caught before | caught now | share |", "| --- | --- | --- | --- | --- |"]
    for package in [*sorted({_package(line) for line, _ in pairs}), "all"]:
        mine = [pair for pair in pairs if package in ("all", _package(pair[0]))]
        before, now = (sum(bool(pair[side]["caught"]) for pair in mine) for side in (0, 1))
        both = sum(bool(first["caught"] and second["caught"]) for first, second in mine)
        rows.append(f"| {package} | {len(mine)} | {before} | {now} | {both / max(before, 1):.1%} |")
    lost = [f"- {_text(first)} ({first['by']})" for first, second in pairs if first["caught"] and not second["caught"]]
    single = len(old) + len(new) - 2 * len(pairs)
    rest = [f"Not compared: {single} mutants that are in one of the results only."] if single else []
    return "\n".join([*rows, "", "Caught before and not now:", *(lost or ["none"]), *rest])


def _text(line: Line) -> str:
    """Return the location and the change of a mutant, in one line."""
    old, new = (" ".join(str(line[name]).split()) for name in ("old", "new"))
    return f"{line['file']}:{line['line']} `{old}` -> `{new}`"


def _package(line: Line) -> str:
    parts = Path(str(line["file"])).parts[2:-1]
    return "/".join(parts[:2] if parts[0] == "air" else parts[:1]) + (
        "" if str(line["file"]).endswith(".py") else " (C++)"
    )


def _key(line: Line) -> tuple[object, ...]:
    return tuple(line[name] for name in ("file", "start", "end", "new"))


def _lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()

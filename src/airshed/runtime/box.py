"""Runs a box of air from a conditions file to a netCDF file."""

from pathlib import Path

import xarray as xr

from airshed.air.box import BoxConditions, BoxRun
from airshed.core.atomic import write_whole
from airshed.core.errors import OutputError
from airshed.core.report import Cell, Report, Table
from airshed.mechanism import load_mechanism

_MAIN = ("O3", "NO", "NO2", "HNO3", "PAN", "N2O5", "H2O2", "OH", "HO2", "HCHO", "CO", "SO2")
_MOST_ROWS = 12


def run_box(mechanism: str, conditions: Path, output: Path) -> Report:
    """Integrate a mechanism under the conditions of a file and write the time series to a netCDF file.

    The file appears whole or not at all. Raises MechanismError, CaseError, KernelError, NumericalError, or OutputError.
    """
    output = Path(output)
    if not output.parent.is_dir():
        raise OutputError(f"cannot write {output}: there is no folder {output.parent}; make it, or choose another")
    network = load_mechanism(mechanism)
    run = BoxRun(network, BoxConditions.load(conditions))
    with write_whole(output) as part:
        part.touch()  # a folder that cannot be written to is better known before the integration than after it
        series = run.run()
        series.to_netcdf(part, engine="netcdf4")
    return _report(run, series, output)


def _report(run: BoxRun, series: xr.Dataset, output: Path) -> Report:
    network, time, solver = run.network, run.conditions.time, run.conditions.solver
    worst = int(run.clipped.argmax())
    clipped = float(run.clipped[worst])
    facts: dict[str, Cell] = {
        "mechanism": f"{network.name}, {len(network.species)} species, {len(network.reactions)} reactions",
        "simulated": f"{time.length.text} from {time.start.text}",
        "steps": f"{run.steps} of at most {solver.step.text}, {solver.sweeps} sweeps each",
        "wall time [s]": run.seconds,
        "compile time [s]": run.kernel.seconds["compile"],
        "added to stay above 0": f"at most {clipped:.3g} molecules/cm3, of {network.names[worst]}",
        "output": str(output),
    }
    chosen = [name for name in _MAIN if name in network.names] or list(network.names[:_MOST_ROWS])
    rows = []
    for name in chosen:
        first, last = (float(series[name][at]) for at in (0, -1))
        rows.append((name, first, last, 1e9 * last / float(series["M"][-1])))
    columns = ("species", "start [molecules/cm3]", "end [molecules/cm3]", "end [ppb]")
    return Report("Box of air", [Table("Concentrations", columns, rows)], facts)

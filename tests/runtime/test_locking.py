"""Use of a simulation by one thread, and the release of the resources of an unreachable simulation."""

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import airshed
from airshed.core.errors import CaseError


def case():
    return airshed.Case.from_dict(
        {
            "grid": {"area": {"lon": [-5, 5], "lat": [-5, 5]}, "spacing": "0.5 deg", "layers": ["500 m", "1000 m"]},
            "time": {"start": "2022-01-01T00:00:00Z", "length": "6 h", "step": "600 s"},
            "meteorology": {"kind": "uniform", "eastward": "5 m/s"},
            "chemistry": {"mechanism": "tracer"},
            "transport": {"diffusion": False},
            "deposition": {"scheme": "none"},
            "output": [{"fields": ["TRACER"], "every": "10 min"}],
            "run": {"threads": 2},
        }
    )


def open_files(folder):
    found = []
    for each in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{each}"))
        except OSError:  # it was the list's own
            continue
    return [path for path in found if path.startswith(str(folder))]


def test_a_simulation_that_is_lost_gives_its_threads_files_and_folder_free(tmp_path):
    gc.collect()
    before = set(threading.enumerate())
    simulation = airshed.Simulation(case(), output=tmp_path)
    simulation.step()
    more = {thread.name.partition("_")[0] for thread in set(threading.enumerate()) - before}
    assert "airshed-writer" in more
    assert len(more) > 1  # the negative controls: there is much to give free
    assert open_files(tmp_path)
    del simulation
    gc.collect()
    assert set(threading.enumerate()) <= before
    assert open_files(tmp_path) == []
    with airshed.Simulation(case(), output=tmp_path) as again:  # its lock is free
        again.step()


def test_a_closed_simulation_is_not_given_free_once_more(tmp_path):
    simulation = airshed.Simulation(case(), output=tmp_path)
    simulation.close()
    assert not simulation._finalizer.alive


@pytest.mark.parametrize(
    "use",
    [
        airshed.Simulation.step, airshed.Simulation.run, airshed.Simulation.budget, airshed.Simulation.summary,
        airshed.Simulation.close, lambda simulation: simulation["TRACER"],
    ],
)  # fmt: skip
def test_a_second_thread_is_refused_while_one_steps(use):
    refused = []

    def observe(_):
        with ThreadPoolExecutor(1) as other, pytest.raises(CaseError, match="another thread is using this simulation"):
            other.submit(use, simulation).result()
        refused.append(simulation["TRACER"].shape)  # calls of the same thread are allowed
        simulation.request_stop()

    with airshed.Simulation(case()) as simulation:
        simulation.run(observer=observe)
        assert len(refused) == 1
        with ThreadPoolExecutor(1) as other:  # one after the other they may
            assert other.submit(lambda: simulation["TRACER"].shape).result() == refused[0]

"""Kills the program that loads it, at a chosen moment of its writing: AIRSHED_DIE="WHEN PLACE NUMBER".

WHEN is "before" or "after" the NUMBERth file whose path holds PLACE takes its name, "inside" the writing of arrays to
it, or "unsynced" before its NUMBERth synchronisation; or "pause", with which it sleeps for a second after it has taken
its name rather than to die.
"""

import os
import signal
import time
import zipfile

WHEN, PLACE, NUMBER = os.environ.get("AIRSHED_DIE", "never - 0").split()
seen = 0


def dying(function, moment, path_of):
    def call(*arguments, **options):
        global seen
        if moment != WHEN or PLACE not in str(path_of(*arguments, **options)):
            return function(*arguments, **options)
        seen += 1
        if seen == int(NUMBER) and WHEN not in ("after", "pause"):
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments, **options)
        if seen == int(NUMBER) and WHEN == "pause":
            time.sleep(1.0)
        elif seen == int(NUMBER):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call


os.replace = dying(os.replace, WHEN if WHEN in ("before", "pause") else "after", lambda part, path: path)

os.fsync = dying(os.fsync, "unsynced", lambda number: os.readlink(f"/proc/self/fd/{number}"))


def written_archive(archive, name, mode="r", *rest, **more):
    return archive.filename if mode == "w" else ""


zipfile.ZipFile.open = dying(zipfile.ZipFile.open, "inside", written_archive)

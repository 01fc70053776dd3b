"""Kill the program that loads this module, at a given moment of its writing: AIRSHED_DIE="WHEN PLACE NUMBER".

WHEN is a moment of the file with PLACE in its path. "before" and "after" mean its NUMBERth renaming, "inside" to the
writing of arrays to it, "unsynced" to the time before its NUMBERth synchronisation. With "pause" the program sleeps for
a second after the renaming instead of ending.
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

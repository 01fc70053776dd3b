"""Reader of the heads of netCDF files in a separate process, which `hdf5` starts and monitors.

    python -I -S head_reader.py LIBRARY SECONDS

LIBRARY is a file by which the C library of netCDF is found, SECONDS the limit of processor time for each call of it.
The file names are read from standard input, each terminated by a zero byte. One byte is written before each file. It
imports very little, so that it starts in some 30 ms.
"""

import resource
import signal
import sys
from ctypes import CDLL, byref, c_int


def read_head(library: CDLL, name: bytes, seconds: float) -> None:
    """Open a file, and read all dimensions, types and attributes; errors are ignored here."""
    file, variables, attributes = c_int(), c_int(), c_int()

    def works(function: str, *arguments: object) -> bool:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # restarted for each call: a file may have many variables
        return bool(getattr(library, function)(*arguments) == 0)

    if works("nc_open", name, 0, byref(file)):
        works("nc_inq_natts", file, byref(attributes))
        works("nc_inq_nvars", file, byref(variables))
        for number in range(variables.value):
            works("nc_inq_varnatts", file, number, byref(attributes))
        works("nc_close", file)


def main() -> None:
    """Read the heads of all named files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    library = CDLL(sys.argv[1])
    for name in sys.stdin.buffer.read().split(b"\0")[:-1]:
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()
        read_head(library, name, float(sys.argv[2]))


if __name__ == "__main__":
    main()

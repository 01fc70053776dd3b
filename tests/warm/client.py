"""Passes the arguments of Python to the server of `server.py`, and ends as the program there ends.

Programs with their own modules (PYTHONPATH), or without site packages (-I), start as usual. So do ranks of OpenMPI,
whose mpiexec must have started the process.
"""

import os
import pickle
import signal
import socket
import struct
import sys

place = os.environ.get("AIRSHED_WARM", "")
if not place or {"PYTHONPATH", "OMPI_COMM_WORLD_SIZE"} & os.environ.keys() or sys.argv[1] == "-I":
    os.execv(PYTHON, [PYTHON, *sys.argv[1:]])  # type: ignore[name-defined]  # noqa: F821
files = [0, 1, 2]
if "PMI_FD" in os.environ:  # how MPICH's mpiexec speaks to its ranks
    files.append(int(os.environ["PMI_FD"]))
asked = {
    "arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd(), "files": files,
    "client": sys.argv[0],
}  # fmt: skip
text = pickle.dumps(asked)
server = socket.socket(socket.AF_UNIX)
server.connect(place)
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # one that comes now waits until the program is known
text = struct.pack("<q", len(text)) + text
sent = socket.send_fds(server, [text], files)
server.sendall(text[sent:])
program = struct.unpack("<q", server.recv(8, socket.MSG_WAITALL))[0]
for number in PASSED_ON:
    signal.signal(number, lambda number, frame: os.kill(program, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
answer = server.recv(8, socket.MSG_WAITALL)
if len(answer) < 8:
    sys.exit("the server of programs is gone")
status = struct.unpack("<q", answer)[0]
if os.WIFSIGNALED(status):
    number = os.WTERMSIG(status)
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
os._exit(os.waitstatus_to_exitcode(status))

"""Servers that start fast: a process has imported the program and its slow libraries, and each server is a fork of it.

A test then waits for its server and not for the imports, which take most of the time of a start.
"""

import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parents[2]
POSSIBLE = sys.platform == "linux"  # elsewhere a fork of a process with these libraries may crash
PRELOADED = ("benthoscope.app.cli", "benthoscope.app.server.application", "benthoscope.app.server.run")
PARENT_DEATH_SIGNAL = 1  # of Linux
REQUEST = 1 << 20  # bytes: the environment of a server has to fit in


class Forks:
    """The process that forks servers. It ends when the channel to the process that started it is closed."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.browser.server_forks", str(theirs.fileno())]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()
        self._socket, self._numbers = ours, count()

    def start(self, arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> "ForkedServer":
        """Run `benthoscope` with these arguments in a new process."""
        reading, writing = os.pipe()
        request = {"arguments": list(arguments), "folder": str(folder), "environment": environment}
        pid = self._answer(request, [writing])
        os.close(writing)
        return ForkedServer(self, pid, os.fdopen(reading, encoding="utf-8", buffering=1))

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a server that ended; a negative number names the signal that ended it."""
        return self._answer({"exit_code": pid})

    def _answer(self, request: dict, files: Sequence[int] = ()) -> int | None:
        """The number that answers a request. The answer to the request of a test without time left may still come."""
        number = next(self._numbers)
        socket.send_fds(self._socket, [json.dumps(request | {"number": number}).encode()], files)
        while True:
            answered, value = json.loads(self._socket.recv(REQUEST))
            if answered == number:
                return value


class ForkedServer:
    """The part of `subprocess.Popen` that tests need, for a server that was forked."""

    def __init__(self, forks: Forks, pid: int, stdout: TextIO):
        self.pid, self.stdout = pid, stdout
        self._forks, self._code = forks, None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = self._forks.exit_code(self.pid)
        return self._code

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"server {self.pid}", timeout)
            time.sleep(0.02)
        return self._code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def main(channel: socket.socket) -> int:
    """Fork a server for each request until the other side closes the channel."""
    for name in PRELOADED:
        import_module(name)
    import panel as pn

    from benthoscope.app.api import import_others
    from benthoscope.app.pages.registry import PAGES
    from benthoscope.app.server.application import SLOW_LIBRARIES

    for library in SLOW_LIBRARIES:
        import_module(library)
    import_others()
    for page in PAGES:
        page.view()
    pn.extension(notifications=False, apply_signatures=False)  # as every server does; the first time takes longest
    gc.collect()
    gc.freeze()  # the servers then share these objects: none walks through them to look for garbage
    assert threading.active_count() == 1, "a fork of a process with threads may wait for ever"
    codes: dict[int, int] = {}
    while True:
        text, files, _, _ = socket.recv_fds(channel, REQUEST, 1)
        if not text:
            return 0
        request = json.loads(text)
        if "exit_code" in request:
            value = _exit_code(request["exit_code"], codes)
        else:
            value = os.fork()
            if value == 0:
                channel.close()
                code = _serve(request, files[0])
                sys.stdout.flush()
                os._exit(code)  # without taking apart what it shares with the others, which takes as long as a start
            os.close(files[0])
        channel.send(json.dumps([request["number"], value]).encode())


def _exit_code(pid: int, codes: dict[int, int]) -> int | None:
    if pid not in codes:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            codes[pid] = os.waitstatus_to_exitcode(status)
    return codes.get(pid)


def _serve(request: dict, output: int) -> int:
    """Become a server that prints into `output`."""
    from benthoscope.app.cli import main as command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)  # no server outlives the tests
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["benthoscope", *request["arguments"]]
    try:
        command()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they end this process
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))

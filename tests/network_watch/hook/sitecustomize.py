"""Imported by every Python process of a watched program: records and refuses calls to other hosts."""

import ipaddress
import os
import sys

NAMES = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
ADDRESSES = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def _is_local(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(name).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _target(event: str, arguments: tuple) -> object:
    """The host of a call; None where it names none."""
    if event in NAMES:
        return arguments[0]
    address = arguments[1] if len(arguments) > 1 else None  # of files and system sockets a text, of hosts a tuple
    return address[0] if isinstance(address, tuple) else None


def _watch(event: str, arguments: tuple) -> None:
    if event not in NAMES and event not in ADDRESSES:
        return
    host = _target(event, arguments)
    if not _is_local(host):
        with open(os.environ["NETWORK_WATCH_LOG"], "a", encoding="utf-8") as log:  # noqa: PTH123
            log.write(f"python {event} {host}\n")
        raise ConnectionRefusedError(f"{event}: only this machine may be called, not {host}")


if "NETWORK_WATCH_LOG" in os.environ:
    sys.addaudithook(_watch)

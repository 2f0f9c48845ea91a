"""Whose connection it is: the process at the other end of a connection within this machine.

The Runtime API has to be TCP, because AWS's runtime knows nothing else, and any process can connect to a port of its
machine. Linux tells who did; where the system does not, nobody is refused here.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

TABLE = Path("/proc/net/tcp")

_INODE = 9
"""The column of a socket's inode in the table. Source: https://docs.kernel.org/networking/proc_net_tcp.html"""


def is_of_one_of(pids: Iterable[int], connection: socket.socket) -> bool:
    """Whether one of these processes holds the other end of a connection over IPv4; True if that cannot be told."""
    try:
        inode = _peer_inode(connection)
    except OSError:
        return True
    if inode is None:
        return True
    wanted = f"socket:[{inode}]"
    return any(wanted in _open_files(pid) for pid in pids)


def _peer_inode(connection: socket.socket) -> str | None:
    """The inode of the other end's socket; None if it is not in the table. Errors: OSError (there is no table)."""
    ends = f" {_column(connection.getpeername())} {_column(connection.getsockname())} "
    table = TABLE.read_text()
    at = table.find(ends)
    if at < 0:
        return None
    line = table[table.rfind("\n", 0, at) + 1 : table.find("\n", at)]
    return line.split()[_INODE]


def _column(address: tuple[str, int]) -> str:
    host, port = address
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"


def _open_files(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted.
    except OSError:
        return set()  # The process has ended meanwhile.
    return {_target(f"{folder}/{name}") for name in names}


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - what it leads to is no path.
    except OSError:
        return ""  # It was closed meanwhile.

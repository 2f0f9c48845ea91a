"""Finds the process at the other end of a connection within this machine.

The Runtime API must use TCP, because AWS's runtime supports nothing else, and any process can connect to a port of its
machine. Linux reports which process it was; on other systems no connection is refused.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from redrive.core.portable import USES_LINUX

TABLE = Path("/proc/net/tcp")

_INODE_COLUMN = 9
"""The column of a socket's inode in the table. Source: https://docs.kernel.org/networking/proc_net_tcp.html"""

# A request about one socket, and the response. Source: https://man7.org/linux/man-pages/man7/sock_diag.7.html
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_SOCKET_PORTS = struct.Struct("!HH")
_ANY_INTERFACE_AND_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_ALL_STATES = 0xFFFFFFFF
_ANSWER = struct.Struct("=4x48x4I I")


def is_of_one_of(pids: Iterable[int], connection: socket.socket) -> bool:
    """Whether one of these processes holds the other end of an IPv4 connection; True if the system cannot tell."""
    if not USES_LINUX:
        return True
    try:
        ends = connection.getpeername(), connection.getsockname()
        inode = _inode_by_question(*ends) or _inode_by_table(*ends)
    except OSError:
        return True
    if inode is None:
        return True
    wanted = f"socket:[{inode}]"
    return any(wanted in _open_files(pid) for pid in pids)


def _inode_by_question(end: tuple[str, int], other_end: tuple[str, int]) -> int | None:
    """The inode of one end's socket, asked from the kernel; None if the kernel does not support that."""
    addresses = (socket.inet_aton(host).ljust(16, b"\0") for host in (end[0], other_end[0]))
    question = b"".join(
        (
            _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES),
            _SOCKET_PORTS.pack(end[1], other_end[1]),
            *addresses,
            _ANY_INTERFACE_AND_COOKIE,
        )
    )
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as kernel:
            kernel.send(header + question)
            answer = kernel.recv(4096)
    except (AttributeError, OSError):
        return None  # Another system, or a kernel without sock_diag.
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind != _SOCK_DIAG_BY_FAMILY:
        return None
    *_, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    return int(inode)


def _inode_by_table(end: tuple[str, int], other_end: tuple[str, int]) -> int | None:
    """The same from a table of all connections, read in milliseconds. Errors: OSError (there is no table)."""
    ends = f" {_column(end)} {_column(other_end)} "
    table = TABLE.read_text()
    at = table.find(ends)
    if at < 0:
        return None
    line = table[table.rfind("\n", 0, at) + 1 : table.find("\n", at)]
    return int(line.split()[_INODE_COLUMN])


def _column(address: tuple[str, int]) -> str:
    host, port = address
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"


def _open_files(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed.
    except OSError:
        return set()  # The process has ended meanwhile.
    return {_target(f"{folder}/{name}") for name in names}


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - the link's target is not a path.
    except OSError:
        return ""  # The socket was closed meanwhile.

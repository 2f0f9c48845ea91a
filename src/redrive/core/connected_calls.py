"""What a connection of EventBridge adds to a call over HTTP: a value that one service gives to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ConnectedCall(NamedTuple):
    """Headers, authorization among them, and parameters of the query and the body."""

    headers: Sequence[tuple[str, str]]
    query: Mapping[str, str]
    body: Mapping[str, str]

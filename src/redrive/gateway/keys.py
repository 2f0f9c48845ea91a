"""The access keys of a server, and whether it verifies signatures: required if other machines can reach the server.

Pure rules over options; `server` applies them, and the command line reads them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from redrive.core.errors import UserError
from redrive.gateway.identity import RootKey

VARIABLE = "REDRIVE_KEYS"
SECRET_LENGTH_MIN = 16
"""The least length of a secret: somebody who sees a signature can test guessed secrets against it."""

_FORM = re.compile(r"(?P<id>\w{4,128}):(?P<secret>[^\s:]+)(?::(?P<account>[0-9]{12}))?", re.ASCII)


def read_keys(texts: Sequence[str], *, account: str) -> tuple[RootKey, ...]:
    """Root keys from texts `ID:SECRET` or `ID:SECRET:ACCOUNT`. Errors: UserError, which repeats no secret."""
    keys = []
    for number, text in enumerate(texts, start=1):
        found = _FORM.fullmatch(text)
        if found is None:
            raise UserError(
                f"Key number {number} of --key and {VARIABLE} is not a key.",
                next_step="Write ID:SECRET or ID:SECRET:ACCOUNT; an account is 12 digits.", exit_code=2,
            )  # fmt: skip
        if len(found["secret"]) < SECRET_LENGTH_MIN:
            raise UserError(
                f"The secret of the key {found['id']} is too short: it could be guessed from a signature.",
                next_step=f"Give one of {SECRET_LENGTH_MIN} characters or more.", exit_code=2,
            )  # fmt: skip
        keys.append(RootKey(found["id"], found["secret"], found["account"] or account))
    return tuple(keys)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens on this address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def decide_signatures(host: str, asked: bool | None) -> bool:
    """Whether signatures are required: `asked` decides; by default, only if other machines can reach the server.

    Errors: UserError: `asked` is False, and other machines can reach the server.
    """
    if is_loopback(host):
        return bool(asked)
    if asked is False:
        raise UserError(
            f"--no-require-signatures does not go with --host {host}: whoever reaches the server could run code here.",
            next_step="Leave one of them out: clients then sign with a key of --key ID:SECRET.", exit_code=2,
        )  # fmt: skip
    return True


def check_some_key(host: str, *, is_any: bool) -> None:
    """Refuse to require signatures when no key exists to sign with. Errors: UserError."""
    if not is_any:
        raise UserError(
            f"On {host} requests must be signed, but there is no key: none was given, and no IAM user has one.",
            next_step=(
                f"Give a key: redrive serve --host {host} --key ID:SECRET, or {VARIABLE}=ID:SECRET in the environment; "
                "or serve on 127.0.0.1."
            ),
            exit_code=2,
        )

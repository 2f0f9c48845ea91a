"""The URL of a store in PostgreSQL, as libpq reads it. What is shown of it never holds a password."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field

from redrive.core.errors import UserError

SCHEMES = ("postgresql://", "postgres://")
EXAMPLE = "postgresql://USER@HOST:5432/DATABASE"
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """A URL that was parsed. `conninfo` holds whatever is secret; `shown` is for messages, logs and reports."""

    conninfo: str = field(repr=False)
    shown: str

    def __str__(self) -> str:
        return self.shown


def is_postgresql(text: str) -> bool:
    """Whether a text is meant as the URL of a PostgreSQL server."""
    return text.startswith(SCHEMES)


def check_driver() -> None:
    """Errors: UserError if the packages for PostgreSQL are not installed."""
    try:
        for name in ("psycopg", "greenlet"):
            importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"A store in PostgreSQL needs packages that are not installed here ({error.name or error}).",
            next_step="Install them with: pip install 'redrive[engine,postgres]'",
        ) from error


def parse_url(text: str) -> StoreUrl:
    """Parse a URL such as postgresql://user:password@host:5432/database?sslmode=require.

    What the URL leaves out comes from libpq's own places: PGPASSWORD and other variables, ~/.pgpass, service files.
    Errors: UserError if libpq does not understand the URL, or if the packages for PostgreSQL are not installed.
    """
    check_driver()
    from psycopg import Error  # noqa: PLC0415 - the packages are an extra.
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415 - as above.

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(text).items() if value is not None}
    except Error as error:
        # libpq quotes the part that it does not understand, and that may be a part of the password.
        reason = _QUOTED.sub("…", str(error)).strip().rstrip(":… ")
        raise _not_a_url(f"libpq says: {reason}") from error
    ports = parts.get("port", "").split(",")
    if not all(port == "" or (port.isdecimal() and 0 < int(port) < 65_536) for port in ports):
        raise _not_a_url("its port is not a number from 1 to 65535")
    return StoreUrl(make_conninfo("", **parts), _shown(parts, ports))


def _not_a_url(why: str) -> UserError:
    return UserError(
        f"The URL of the store is not one of a PostgreSQL database: {why}.",
        next_step=f"Write {EXAMPLE}; in a password, / is %2F, @ is %40, : is %3A, ? is %3F and % is %25.",
        exit_code=3,
    )


def _shown(parts: dict[str, str], ports: list[str]) -> str:
    """The URL with nothing but user, hosts, ports and database."""
    user = f"{parts['user']}@" if "user" in parts else ""
    hosts = parts.get("host", parts.get("hostaddr", "")).split(",")
    folders = [host for host in hosts if host.startswith("/")]
    many_ports = ports * len(hosts) if len(ports) == 1 else ports
    places = "" if folders else ",".join(map(_place, hosts, many_ports))
    socket = f"?host={','.join(folders)}" if folders else ""
    return f"postgresql://{user}{places}/{parts.get('dbname', '')}{socket}"


def _place(host: str, port: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port else name

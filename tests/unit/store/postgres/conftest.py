"""Stores on the PostgreSQL of the tests, and users of it with few rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from redrive.store.postgres.url import StoreUrl, parse_url

NewUser = Callable[..., StoreUrl]


@pytest.fixture
def url(postgresql_store_url: str) -> StoreUrl:
    return parse_url(postgresql_store_url)


@pytest.fixture
def admin(postgresql_store_url: str) -> Iterator[psycopg.Connection]:
    """A connection of the superuser."""
    with closing(psycopg.connect(postgresql_store_url, autocommit=True)) as connection:
        yield connection


@pytest.fixture
def new_user(admin: psycopg.Connection, url: StoreUrl) -> Iterator[NewUser]:
    """Creates users with their attributes; answers the store's URL as that user."""
    made: list[Identifier] = []

    def create(name: str, attributes: str = "LOGIN") -> StoreUrl:
        role = f"{name}_{admin.info.dbname}"
        made.append(Identifier(role))
        admin.execute(SQL("CREATE ROLE {} ").format(made[-1]).as_bytes(admin) + attributes.encode())
        return StoreUrl(make_conninfo(url.conninfo, user=role), f"the store as {name}")

    yield create
    for role in made:
        admin.execute(SQL("DROP OWNED BY {}").format(role))
        admin.execute(SQL("DROP ROLE {}").format(role))


def ask_for_password(admin: psycopg.Connection, user: StoreUrl) -> None:
    """Make the server ask for this user's password: pg_hba.conf says so of the members of a role."""
    admin.execute("DO $$ BEGIN CREATE ROLE with_password; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    role = str(conninfo_to_dict(user.conninfo)["user"])
    admin.execute(SQL("GRANT with_password TO {}").format(Identifier(role)))

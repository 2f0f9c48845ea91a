"""The URL of a store is what libpq makes of it, and nothing secret of it is ever shown."""

from __future__ import annotations

import sys
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from redrive.core.errors import UserError
from redrive.store.postgres.url import is_postgresql, parse_url


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:pw@db.example:5433/jobs", "postgresql://me@db.example:5433/jobs"),
        ("postgres://db.example/jobs?sslmode=require&password=pw", "postgresql://db.example/jobs"),
        ("postgresql://me@[::1]:5433/jobs", "postgresql://me@[::1]:5433/jobs"),
        ("postgresql://me:pw@one:1,two:2/jobs", "postgresql://me@one:1,two:2/jobs"),
        ("postgresql://me:pw@one,two/jobs", "postgresql://me@one,two/jobs"),
        ("postgresql://me:pw@/jobs?host=/run/pg", "postgresql://me@/jobs?host=/run/pg"),
        ("postgresql://", "postgresql:///"),
    ],
)
def test_shown_url_has_user_hosts_ports_and_database_alone(text: str, shown: str) -> None:
    url = parse_url(text)

    assert url.shown == str(url) == shown
    assert "pw" not in repr(url)


@given(password=st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1))
def test_password_arrives_as_it_was_encoded_and_is_never_shown(password: str) -> None:
    url = parse_url(f"postgresql://u:{quote(password, safe='')}@h/d?sslmode=require")

    assert conninfo_to_dict(url.conninfo) == {
        "user": "u", "password": password, "host": "h", "dbname": "d", "sslmode": "require",
    }  # fmt: skip
    assert url.shown == "postgresql://u@h/d"
    assert repr(url) == "StoreUrl(shown='postgresql://u@h/d')"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:hush@h/d?hushmode=require",
        "postgresql://u:hu%sh@h/d",
        "postgresql://u:hush@[::1/d",
        "postgresql://u:hush/more@h/d",  # The slash ends the host, so that the password is the port.
        "postgresql://h:99999/d",
        "postgresql://h:0/d",
    ],
)
def test_url_that_libpq_does_not_understand_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_url(text)

    assert "hush" not in str(refused.value)
    assert "postgresql://USER@HOST:5432/DATABASE" in refused.value.next_step
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("missing", ["psycopg", "greenlet"])
def test_missing_package_is_named_with_the_command_that_installs_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UserError) as refused:
        parse_url("postgresql://h/d")

    assert missing in refused.value.what
    assert "pip install 'redrive[engine,postgres]'" in refused.value.next_step


@pytest.mark.parametrize(
    ("text", "expected"),
    [("postgresql://h", True), ("postgres://", True), ("sqlite:here", False), ("memory:", False), ("mysql://h", False)],
)
def test_scheme_says_whether_a_store_is_in_postgresql(text: str, expected: bool) -> None:
    assert is_postgresql(text) is expected

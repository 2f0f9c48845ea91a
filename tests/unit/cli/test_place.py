"""--store and --data say where a store is; one of them, and never with a password in what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redrive.cli.main import main
from redrive.cli.place import named_place
from redrive.core.errors import UserError
from redrive.store.postgres.url import StoreUrl


def serve(*options: str, **environment: str) -> Result:
    """Start a server at an address that no machine has, so that it ends at once, if nothing else ends it before."""
    return CliRunner().invoke(
        main, ["serve", "--host", "192.0.2.1", "--key", "some:a-secret-of-many-characters", *options], env=environment
    )


def test_data_and_store_exclude_each_other() -> None:
    done = serve("--data", "here", "--store", "sqlite:there")

    assert done.exit_code == 2
    assert "say the same thing twice" in done.output


def test_data_goes_before_the_store_of_the_environment(tmp_path: Path) -> None:
    done = serve("--data", str(tmp_path / "here"), REDRIVE_STORE=f"sqlite:{tmp_path / 'there'}")

    assert "Cannot listen on 192.0.2.1" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_store_of_the_environment_is_used(tmp_path: Path) -> None:
    serve(REDRIVE_STORE=f"sqlite:{tmp_path / 'there'}")

    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("store", ["mysql://me:hush@h/d", "sqlite:", "memory:hush", "hush"])
def test_store_of_another_kind_is_refused_without_its_rest(store: str) -> None:
    done = serve("--store", store)

    assert done.exit_code == 2
    assert "postgresql://USER@HOST" in done.output
    assert "me:hush" not in done.output


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_url_that_is_none_is_refused_without_its_password(command: str) -> None:
    done = CliRunner().invoke(main, [command, "--store", "postgresql://me:hush@h:port/d"])

    assert done.exit_code == 3
    assert "port is not a number" in done.output
    assert "hush" not in done.output


def test_demo_does_not_take_the_store_of_the_environment(tmp_path: Path) -> None:
    """That one belongs to servers at work."""
    done = CliRunner().invoke(main, ["demo", "--help"], env={"REDRIVE_STORE": "postgresql://h:port/d"})

    assert "REDRIVE_STORE" not in done.output


@pytest.mark.parametrize(("text", "expected"), [("here", Path("here")), ("sqlite:here", Path("here"))])
def test_directory_is_named_with_its_scheme_or_without(text: str, expected: Path) -> None:
    assert named_place(text) == expected


@pytest.mark.parametrize("text", ["", "sqlite:"])
def test_empty_name_is_not_the_working_directory(text: str) -> None:
    with pytest.raises(UserError, match="is empty"):
        named_place(text)


def test_database_is_named_by_its_url() -> None:
    place = named_place("postgresql://me:hush@h/d")

    assert isinstance(place, StoreUrl)
    assert place.shown == "postgresql://me@h/d"

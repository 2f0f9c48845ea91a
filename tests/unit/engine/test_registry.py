"""The operations of all services are AWS's: in their names, their parameters, and in the reference."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from redrive.core.documents import Document
from redrive.core.errors import Bug, ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import OPERATION_ATTRIBUTE, operation
from redrive.engine.build import SERVICES
from redrive.engine.registry import Registry, collect, differences, operations_named
from redrive.store.api import Transaction
from redrive.testing.world import World
from redrive.wire.model.files import WRITTEN_WITH, Models
from scripts.write_reference import PAGES, ROOT

MODELS = Models()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


IS_NEWEST = tuple(map(int, version("botocore").split("."))) >= WRITTEN_WITH


def registry_of(implementation: Callable[..., Document], service: str = "sqs", *, models: Models = MODELS) -> Registry:
    """A registry of one operation."""
    registry = Registry(models, {})
    registry._implementations = {service: {getattr(implementation, OPERATION_ATTRIBUTE): implementation}}  # noqa: SLF001
    return registry


@pytest.mark.skipif(not IS_NEWEST, reason="an older botocore has fewer members")
@pytest.mark.parametrize("service", sorted(SERVICES))
def test_signatures_of_a_service_are_those_of_awss_model(service: str) -> None:
    """Every member of the input is a parameter, nothing else is, and just the required ones have no default."""
    model = MODELS.service(service)

    found = {
        name: differences(implementation, model.operations[name])
        for name, implementation in Registry(MODELS, SERVICES).services[service].items()
    }

    assert {name: differing for name, differing in found.items() if differing} == {}


def test_difference_from_the_model_is_seen() -> None:
    def purge(tx: Transaction, caller: Caller, *, queue_urls: str, gently: bool = True) -> dict[str, object]:
        return {}

    assert differences(purge, MODELS.service("sqs").operations["PurgeQueue"]) == ["gently", "queue_url", "queue_urls"]


def test_parameter_that_an_older_model_lacks_keeps_its_default() -> None:
    @operation("PurgeQueue")
    def purge(tx: Transaction, caller: Caller, *, queue_url: str, gently: bool = True) -> dict[str, object]:
        return {}

    entry = registry_of(purge).entry("sqs", "PurgeQueue")

    assert (dict(entry.keywords), set(entry.required)) == ({"QueueUrl": "queue_url"}, {"QueueUrl"})


def test_required_parameter_that_the_model_lacks_is_a_bug() -> None:
    @operation("PurgeQueue")
    def purge(tx: Transaction, caller: Caller, *, queue_url: str, gently: bool) -> dict[str, object]:
        return {}

    with pytest.raises(Bug, match="gently"):
        registry_of(purge).entry("sqs", "PurgeQueue")


def test_parameter_that_only_a_newer_model_has_is_refused_by_its_name_where_it_is_given(world: World) -> None:
    @operation("ReceiveMessage")
    def receive(tx: Transaction, caller: Caller, *, queue_url: str) -> dict[str, object]:
        return {"Messages": []}

    registry = registry_of(receive)
    entry = registry.entry("sqs", "ReceiveMessage")

    def call(**params: object) -> object:
        return world.store.run(lambda tx: registry.run(entry, tx, world.caller(), params))

    assert call(QueueUrl="u") == {"Messages": []}
    with pytest.raises(ServiceError, match="redrive does not know the parameter WaitTimeSeconds of sqs ReceiveMessage"):
        call(QueueUrl="u", WaitTimeSeconds=3)


def test_operation_that_an_older_model_lacks_is_refused_by_its_name() -> None:
    @operation("FoldQueue")
    def fold(tx: Transaction, caller: Caller) -> dict[str, object]:
        return {}

    with pytest.raises(ServiceError, match="botocore that is installed knows no sqs FoldQueue"):
        registry_of(fold).entry("sqs", "FoldQueue")


def test_engine_is_built_without_importing_operations() -> None:
    """A service's operations are imported when it is first used, so that a server starts at once."""
    code = "import sys, redrive.engine.build; print([name for name in sys.modules if '.api_' in name])"

    imported = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert [name for name in SERVICES["sqs"] if name in imported] == []


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_text_of_a_module_tells_its_operations(service: str) -> None:
    """By that, an operation's module is found without importing the others."""
    found = {module: operations_named(module) for module in SERVICES[service]}

    assert found == {module: frozenset(collect((import_module(module),))) for module in SERVICES[service]}


def test_operation_is_run_without_importing_the_others_of_its_service() -> None:
    code = (
        "import sys; from redrive.engine.build import SERVICES; from redrive.engine.registry import Registry;"
        "from redrive.wire.model.files import Models; Registry(Models(), SERVICES).entry('iam', 'CreateRole');"
        "print(*(name for name in SERVICES['iam'] if name in sys.modules))"
    )

    imported = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert imported.split() == ["redrive.services.iam.operations.roles"]


def test_operation_that_we_do_not_have_is_refused_by_its_name() -> None:
    with pytest.raises(ServiceError, match="redrive does not implement sqs PurgeQueue"):
        Registry(MODELS, {}).entry("sqs", "PurgeQueue")


@pytest.mark.skipif(not IS_NEWEST, reason="the pages are written with the newest models")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_reference_page_is_what_make_docs_would_write(name: str) -> None:
    assert Path(ROOT / name).read_text("utf-8") == PAGES[name](), "run: make docs"

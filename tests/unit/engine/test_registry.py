"""The operations of all services are AWS's: in their names, their parameters, and in the reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redrive.core.errors import Bug, ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.engine.build import SERVICES
from redrive.engine.registry import Registry
from redrive.store.api import Transaction
from redrive.wire.models import Models
from scripts.write_reference import PAGES, ROOT

MODELS = Models()


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_signatures_of_a_service_are_those_of_awss_model(service: str) -> None:
    """Every member of the input is a parameter, nothing else is, and just the required ones have no default."""
    registry = Registry(MODELS, SERVICES)

    for name in registry.services[service]:
        registry.entry(service, name)


def test_parameter_that_aws_does_not_have_is_a_bug() -> None:
    @operation("PurgeQueue")
    def purge(tx: Transaction, caller: Caller, *, queue_url: str, gently: bool = True) -> dict[str, object]:
        return {}

    registry = Registry(MODELS, {})
    registry._implementations = {"sqs": {"PurgeQueue": purge}}  # noqa: SLF001 - a registry of one wrong operation.

    with pytest.raises(Bug, match="gently"):
        registry.entry("sqs", "PurgeQueue")


def test_engine_is_built_without_importing_operations() -> None:
    """A service's operations are imported when it is first used, so that a server starts at once."""
    code = "import sys, redrive.engine.build; print([name for name in sys.modules if '.api_' in name])"

    imported = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert [name for name in SERVICES["sqs"] if name in imported] == []


def test_operation_that_we_do_not_have_is_refused_by_its_name() -> None:
    with pytest.raises(ServiceError, match="redrive does not implement sqs PurgeQueue"):
        Registry(MODELS, {}).entry("sqs", "PurgeQueue")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_reference_page_is_what_make_docs_would_write(name: str) -> None:
    assert Path(ROOT / name).read_text("utf-8") == PAGES[name](), "run: make docs"

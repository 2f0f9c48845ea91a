"""The composition root: which services, workers and sources an engine has."""

from __future__ import annotations

from types import ModuleType

from redrive.core.log import Log
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.invocation import Invoker
from redrive.delivery.sources import Source
from redrive.delivery.worker import Worker
from redrive.engine.engine import Engine, Runner
from redrive.engine.registry import Registry
from redrive.engine.services import BoundServices
from redrive.services.sqs import api_attributes, api_messages, api_queues, api_receipts
from redrive.services.sqs.workers import RetentionWorker
from redrive.store.api import Store
from redrive.wire.models import Models

SERVICES: dict[str, tuple[ModuleType, ...]] = {
    # service: its modules of operations, in order of the alphabet.
    "sqs": (api_attributes, api_messages, api_queues, api_receipts),
}


def build_engine(store: Store, *, run: Runner, models: Models, invoker: Invoker, log: Log) -> Engine:
    """An engine over a store. `run` is the store's own, or that of the group commit in front of it."""
    registry = Registry(models, SERVICES)
    store.bind(BoundServices(registry))
    sources: list[Source] = [
        # One for each kind of promise, in order of the alphabet.
    ]
    workers: list[Worker] = [
        DeliveryWorker(sources),
        # In order of the alphabet.
        RetentionWorker(),
    ]
    return Engine(run, registry, workers, invoker, log)

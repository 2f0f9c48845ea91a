"""The handler's boto3 clients, made once: modules are imported for each run, and a client takes longer than a run.

A client keeps no state of its calls, so an earlier run's client can be reused. Event handlers that a module registers
on its client are registered again with each run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import boto3
import botocore.session
from boto3.resources.factory import ResourceFactory
from boto3.session import Session
from boto3.utils import ServiceContext
from botocore.config import Config

from redrive.prove.process.sessions import known_loader, quick_sessions
from redrive.prove.process.surroundings import replaced


@contextmanager
def remembered_clients() -> Iterator[None]:
    """While entered, a session returns the same client or resource for the same arguments."""
    made: dict[tuple[str, ...], object] = {}

    def remembering(kind: str) -> object:
        original = getattr(Session, kind)

        def make(session: Session, *args: object, **kwargs: object) -> object:
            words = [kind, str(session.region_name), str(session.profile_name), *map(_text, args)]
            key = (*words, *(f"{name}={_text(value)}" for name, value in sorted(kwargs.items())))
            if key not in made:
                made[key] = original(session, *args, **kwargs)
            return made[key]

        return make

    with contextlib.ExitStack() as stack:
        session = botocore.session.get_session()
        session.register_component("data_loader", known_loader())
        stack.enter_context(quick_sessions())
        stack.enter_context(replaced(boto3, "DEFAULT_SESSION", Session(botocore_session=session)))
        stack.enter_context(replaced(Session, "client", remembering("client")))
        stack.enter_context(replaced(Session, "resource", remembering("resource")))
        stack.enter_context(replaced(ResourceFactory, "load_from_definition", _remembering_classes()))
        yield


def _remembering_classes() -> Callable[[ResourceFactory, str, object, ServiceContext], type]:
    """Makes the classes of resources: `dynamodb.Table("orders")` makes its class anew each time, for the same class."""
    original = ResourceFactory.load_from_definition
    made: dict[tuple[int, str, str], tuple[ResourceFactory, type]] = {}

    def load(
        factory: ResourceFactory, resource_name: str, single_resource_json_definition: object,
        service_context: ServiceContext,
    ) -> type:  # fmt: skip
        key = (id(factory), resource_name, str(service_context.service_name))
        if key not in made:  # The factory is kept, so that its identity stays its own.
            resource = original(factory, resource_name, single_resource_json_definition, service_context)
            made[key] = factory, resource
        return made[key][1]

    return load


def _text(value: object) -> str:
    return repr(sorted(vars(value).items(), key=str)) if isinstance(value, Config) else repr(value)

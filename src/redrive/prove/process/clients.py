"""The handler's boto3 clients, made once: modules are imported for each run, and a client takes longer than a run.

A client keeps no state of its calls, so an earlier run's client can be reused. Event handlers that a module registers
on its client are registered again with each run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import botocore.session
from boto3.session import Session
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
        yield


def _text(value: object) -> str:
    return repr(sorted(vars(value).items(), key=str)) if isinstance(value, Config) else repr(value)

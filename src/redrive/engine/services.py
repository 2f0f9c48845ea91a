"""The port through which services call each other, bound to the registry and to IAM's rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from redrive.core.arn import Arn
from redrive.core.clock import Instant
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller, Scope
from redrive.delivery.digesting import digests_of_pieces, knowing, pieces_in
from redrive.delivery.operation import (
    Answer,
    Beforehand,
    ByNode,
    Digesting,
    EventStream,
    Outside,
    OutsideNeeded,
    StreamedOutside,
    Wait,
)
from redrive.delivery.sources.stream_sources import StartingPoint
from redrive.engine.registry import Registry
from redrive.services.iam import access
from redrive.services.sqs import sending
from redrive.store.api import Transaction


class BoundServices:
    """Implements store.api.Services. What few engines need is imported where it is called."""

    assume_role = staticmethod(access.assume_role)
    authorize = staticmethod(access.authorize)
    holder_id = staticmethod(access.holder_id)
    announce_queues = staticmethod(sending.announce_queues)
    send_to_queues = staticmethod(sending.send_to_queues)
    user_of = staticmethod(access.user_of)

    def __init__(
        self, registry: Registry, *, limits: Limits = Limits.STRICT, has_rates: bool = False,
        on_unknown: OnUnknown = OnUnknown.REFUSE,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.has_rates = has_rates
        self.on_unknown = on_unknown
        self._registry = registry

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        """Run an operation in this transaction; rolls back the writes of a failed call. Errors: also OutsideNeeded."""
        answer = self._begun(tx, caller, service, operation, params)
        while isinstance(answer, Beforehand | Digesting):
            if isinstance(answer, Digesting):
                digests = digests_of_pieces(pieces_in(tx, answer.segments), answer.algorithms)
                with knowing(tx, answer, digests):
                    answer = self._begun(tx, caller, service, operation, params)
            else:
                answer.work()
                answer = self._begun(tx, caller, service, operation, params)
        match answer:
            case Wait(result=result):
                return result
            case Outside():
                raise OutsideNeeded(answer)
            case ServiceError():
                raise answer
            case EventStream() | StreamedOutside():
                message = f"{operation} answers with a stream of events; it cannot be called within a transaction."
                raise ServiceError("ValidationException", message)
            case ByNode():
                message = f"{operation} is about the server as a whole; it cannot be called within a transaction."
                raise ServiceError("ValidationException", message)
            case _:
                return answer

    def _begun(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Answer:
        if caller.invoked_by:
            return self._recorded(tx, caller, service, operation, params)
        with tx.savepoint():
            return self._registry.begin(tx, caller, service, operation, params)

    def _recorded(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Answer:
        """Run an operation that a service calls for somebody: CloudTrail tells of such calls."""
        try:
            with tx.savepoint():
                answer = self._registry.begin(tx, caller, service, operation, params)
        except ServiceError as error:
            self._registry.record_inner(tx, caller, service, operation, params, error)
            raise
        self._registry.record_inner(tx, caller, service, operation, params, answer)
        return answer

    def publish_event(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        """Tell the default bus what a service has to say."""
        from redrive.services.events import own_events

        own_events.publish_event(tx, scope, make)

    def publish_read_call(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        """The same for the record of a call that only read."""
        from redrive.services.events import own_events

        own_events.publish_read_call(tx, scope, make)

    def vended_log_types(self, tx: Transaction, resource_arn: str) -> frozenset[str]:
        """The types of logs of a resource that anybody takes."""
        from redrive.services.logs import vending

        return vending.vended_log_types(tx, resource_arn)

    def vend_logs(
        self, tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]
    ) -> None:  # fmt: skip
        """Write records of a resource where deliveries of logs say."""
        from redrive.services.logs import vending

        vending.vend_logs(tx, resource_arn, stream, records)

    def connection(self, tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
        """What a connection adds to a call over HTTP."""
        from redrive.services.events import connected

        return connected.connection(tx, caller, arn)

    def connection_refused(self, tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
        """Have a connection's token renewed."""
        from redrive.services.events import connected

        connected.connection_refused(tx, arn, headers)

    def begin_reading(
        self, tx: Transaction, caller: Caller, stream_arn: str, start: str, at: Instant | None
    ) -> Mapping[str, int]:
        """The shards of a stream, with the positions of a new reader."""
        from redrive.engine.streams import STREAM_SOURCES

        service = Arn.parse(stream_arn).service
        source = next((one for one in STREAM_SOURCES if one.service == service), None)
        if source is None:
            raise ServiceError("ResourceNotFoundException", f"Stream not found: {stream_arn}")
        shards = source.shards(tx, caller, stream_arn)
        return {shard.id: source.position(tx, stream_arn, shard.id, StartingPoint(start), at) for shard in shards}

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        """Parameters from a JSON document."""
        return self._registry.read(service, operation, document)

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        """The required members that a JSON document lacks."""
        return self._registry.missing(service, operation, document)

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        """An answer in the spelling of AWS's SDKs."""
        return self._registry.shown(service, operation, answer)

    def declares(self, service: str, operation: str, code: str) -> bool:
        """Whether AWS's model of an operation has this error."""
        return self._registry.declares(service, operation, code)

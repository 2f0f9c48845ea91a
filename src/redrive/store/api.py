"""The transaction: the only thing that a step works on.

step(tx) ──► tx.now, tx.entropy        drawn and seeded outside; a step reads no clock
         ──► tx.resources, tx.messages …  one gateway per table, domain verbs
         ──► tx.services                  other services' operations, in this same transaction
         ──► tx.notify(topic)             a hint for waiters, given after the commit
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

from redrive.core.clock import Instant
from redrive.core.connected_calls import ConnectedCall
from redrive.core.documents import Document
from redrive.core.entropy import Entropy
from redrive.core.errors import ServiceError
from redrive.core.knobs import PRODUCTION
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Caller, Scope
from redrive.store.database import Database
from redrive.store.tables.alarm_history import AlarmHistoryTable
from redrive.store.tables.archives import ArchiveTable
from redrive.store.tables.attempts import AttemptTable
from redrive.store.tables.blobs import BlobTable
from redrive.store.tables.bodies import BodyTable, Files
from redrive.store.tables.dedup import DedupTable
from redrive.store.tables.deliveries import DeliveryTable
from redrive.store.tables.executions import ExecutionTable
from redrive.store.tables.facts import FactTable
from redrive.store.tables.items import ItemTable
from redrive.store.tables.log_events import LogEventTable
from redrive.store.tables.messages import MessageTable
from redrive.store.tables.meters import MeterTable
from redrive.store.tables.metrics import Accumulator, MetricTable
from redrive.store.tables.objects import ObjectTable
from redrive.store.tables.resources import ResourceCache, ResourceTable
from redrive.store.tables.runs import RunTable
from redrive.store.tables.streams import StreamTable
from redrive.store.tables.timers import TimerTable
from redrive.store.tables.tokens import TokenTable
from redrive.store.tables.uploads import UploadTable

T = TypeVar("T")
Item = TypeVar("Item")

EVERYTHING = "*"
"""The topic that wakes every waiter. Another node may have committed something of which nobody was told."""

NO_PARAMS: Mapping[str, object] = {}
NO_CONTEXT: Mapping[str, tuple[str, ...]] = {}

NO_DIGESTS: Mapping[object, Mapping[str, bytes]] = {}


class Services(Protocol):
    """The operations of all services, for use inside a transaction. The engine binds it to the store.

    This is the only way from one service to another.
    """

    @property
    def limits(self) -> Limits:
        """Whether AWS's quotas apply in this engine."""
        ...

    @property
    def has_rates(self) -> bool:
        """Whether requests beyond AWS's quotas for one second are refused (`core.limits.Rates`)."""
        ...

    @property
    def on_unknown(self) -> OnUnknown:
        """How to handle templates with parts that AWS has and this engine does not serve, unless the stack says."""
        ...

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        """Run an operation in this transaction: `call(tx, caller, "sqs", "SendMessage", {"QueueUrl": …})`.

        Parameters are validated like those of a client. A failed call's writes are rolled back; the transaction goes
        on.
        Errors: ServiceError of that service. An operation that no service here has raises UnknownOperationException,
        or, as on AWS, an access error if the caller may not call it.
        """
        ...

    def send_to_queues(self, tx: Transaction, messages: Sequence[QueueMessage]) -> Sequence[str | None]:
        """Send messages to standard queues, all by one statement; returns the id of each message.

        None stands for a message that was not sent. `call` with SendMessage says why, or sends the message.
        """
        ...

    def announce_queues(self, tx: Transaction, arns: Iterable[str]) -> None:
        """Say which queues this step will send to, before it reserves anything. Else nodes may wait for each other."""
        ...

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        """Parameters for `call`, from a JSON document as a user writes it: `read("sqs", "SendMessage", {…})`.

        Members have the names of AWS's SDKs (`MessageBody`). Blobs are base64, or text if they are the body of the
        request. Timestamps are seconds or ISO 8601. For an operation that no service here has, the document is returned
        unchanged; `call` refuses it, because only `call` knows the caller.
        Errors: ServiceError SerializationException (a value has a wrong type, or a member does not exist).
        """
        ...

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        """The required members that such a document lacks; empty for a service that redrive does not serve.

        Errors: ServiceError UnknownOperationException (AWS's service has no such operation).
        """
        ...

    def shown(self, service: str, operation: str, answer: Mapping[str, object]) -> Document:
        """An answer of `call` as a document with the names of AWS's SDKs: what `read` is for parameters."""
        ...

    def declares(self, service: str, operation: str, code: str) -> bool:
        """Whether AWS's model of an operation has an error with this code."""
        ...

    def assume_role(
        self,
        tx: Transaction,
        role_arn: str,
        *,
        service: str,
        session_name: str,
        region: str,
        request_id: str,
        source_arn: str | None = None,
    ) -> Caller:
        """The caller that a service (`scheduler.amazonaws.com`) becomes when it assumes a role, acting in `region`.

        The trust policy sees `source_arn` as `aws:SourceArn`.
        Errors: ServiceError AccessDeniedException (the role does not exist, or its trust policy refuses).
        """
        ...

    def authorize(
        self,
        tx: Transaction,
        caller: Caller,
        action: str,
        resource: str,
        *,
        context: Mapping[str, tuple[str, ...]] = NO_CONTEXT,
        policy: str = "",
        resource_account: str | None = None,
        more: Callable[[], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """Refuse a forbidden action: `authorize(tx, caller, "sqs:SendMessage", queue_arn)`.

        `context` holds condition keys that only the service knows; `policy` is the text of the resource's own policy.
        `resource_account` owns a resource whose ARN names no account (a bucket). `more` has condition keys that
        cost something; it is called only where a policy has conditions.
        The account itself may do everything in its own account that no policy denies.
        Errors: ServiceError AccessDeniedException with AWS's message.
        """
        ...

    def begin_reading(
        self, tx: Transaction, caller: Caller, stream_arn: str, start: str, at: Instant | None
    ) -> Mapping[str, int]:
        """The shards of a stream, each with the number of the record after which a new reader goes on there.

        `start` is AWS's starting position (`LATEST`), `at` the instant for AT_TIMESTAMP.
        Errors: ServiceError (the stream does not exist, or the caller may not read it).
        """
        ...

    def user_of(self, tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
        """The IAM user that owns an access key of this store, as the caller of a service (`sqs`).

        Errors: ServiceError UnrecognizedClientException (the key is deleted or inactive).
        """
        ...

    def holder_id(self, tx: Transaction, caller: Caller) -> str:
        """The unique id (`AROA…`) of the caller's role or user; empty for the account itself, and for who is gone."""
        ...

    def publish_event(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        """Tell the default bus of an account what one of AWS's services has to say, in this transaction.

        `make` is called only if a rule or an archive of the bus could take the event.
        """
        ...

    def publish_read_call(self, tx: Transaction, scope: Scope, make: Callable[[], OwnEvent]) -> None:
        """The same for the record of an API call that only read: most rules do not get it."""
        ...

    def connection(self, tx: Transaction, caller: Caller, arn: str) -> ConnectedCall | None:
        """What an EventBridge connection adds to a call over HTTP; None while its token is on its way.

        The caller needs events:RetrieveConnectionCredentials, and the permission to read the connection's secret.
        Errors: ServiceError ResourceNotFound, AccessDenied, InvalidConnectionState, AuthInProgress.
        """
        ...

    def connection_refused(self, tx: Transaction, arn: str, headers: Sequence[tuple[str, str]]) -> None:
        """Have a connection's token renewed, if the refused call had these headers and the token is still the same."""
        ...

    def vended_log_types(self, tx: Transaction, resource_arn: str) -> frozenset[str]:
        """The types of logs of a resource that a delivery of CloudWatch Logs takes; empty if there is none."""
        ...

    def vend_logs(
        self, tx: Transaction, resource_arn: str, stream: str, records: Mapping[str, Sequence[Document]]
    ) -> None:
        """Write records about a resource, by the type of log, where deliveries of CloudWatch Logs say.

        A record that cannot be written is lost, as on AWS.
        """
        ...


class QueueMessage(NamedTuple):
    """A message for a queue, who sends the message, and the execution that causes it."""

    caller: Caller
    queue_arn: str
    body: str
    attributes: Mapping[str, Document] | None
    execution_id: str


class Cause(NamedTuple):
    """What caused a step's writes: the execution, and its delivery that is attempted or ends.

    A call with several entries may serve several executions: `of_entries` has the execution of an entry by its id.
    """

    execution_id: str
    delivery_id: str
    of_entries: Mapping[str, str] = MappingProxyType({})

    def of_entry(self, entry_id: str) -> str:
        """The execution that caused an entry of the call."""
        return self.of_entries.get(entry_id, self.execution_id)


class Tables:
    """The gateways without state of a transaction. A store creates them once, not for each step."""

    __slots__ = (
        "alarm_history", "archives", "attempts", "blobs", "bodies", "database", "dedup", "deliveries", "executions",
        "facts", "items", "log_events", "messages", "meters", "objects", "resources", "runs", "streams", "timers",
        "tokens", "uploads",
    )  # fmt: skip

    def __init__(
        self, database: Database, *, resources_max: int = PRODUCTION.cached_resources, files: Files | None = None
    ) -> None:  # fmt: skip
        """`resources_max`: how many decoded documents of resources are cached. `files`: where large bodies go."""
        self.database = database
        self.resources = ResourceTable(database, ResourceCache(resources_max))
        self.timers = TimerTable(database)
        self.tokens = TokenTable(database)
        self.messages = MessageTable(database)
        self.dedup = DedupTable(database)
        self.meters = MeterTable()
        self.deliveries = DeliveryTable(database)
        self.attempts = AttemptTable(database)
        self.runs = RunTable(database)
        self.items = ItemTable(database)
        self.blobs = BlobTable(database)
        self.bodies = BodyTable(database, files)
        self.log_events = LogEventTable(database)
        self.facts = FactTable(database)
        self.alarm_history = AlarmHistoryTable(database)
        self.archives = ArchiveTable(database)
        self.streams = StreamTable(database)
        self.objects = ObjectTable(database)
        self.uploads = UploadTable(database)
        self.executions = ExecutionTable(database)

    def undone(self) -> None:
        """Clear the gateways' caches after a rollback."""
        self.forget()

    def forget(self) -> None:
        """Clear the gateways' caches, because the database may have changed without them."""
        self.resources.forget()
        self.timers.forget()
        self.facts.forget()
        self.forget_hints()

    def forget_hints(self) -> None:
        """Clear what the gateways know of the earliest rows: other nodes write such rows all the time."""
        self.timers.forget_hints()
        self.tokens.forget()
        self.deliveries.forget()
        self.items.forget()
        self.streams.forget()
        self.objects.forget()
        self.attempts.forget()
        self.runs.forget()
        self.bodies.forget()
        self.executions.forget()


class StartAnew(BaseException):
    """Writes must be rolled back, but no savepoint was set: the transaction runs again, with savepoints.

    It is no Exception, so that code on its way to the store does not handle it as a failure.
    """


def answer_of(error: Exception) -> Exception:
    """The exception that ended a step, as the step's answer: a refusal loses its traceback, which nobody reads.

    The traceback holds the frames of the store, and these hold the answers. So each refusal, with all that its request
    has allocated, would be garbage that only the collector finds.
    """
    return error.with_traceback(None) if isinstance(error, ServiceError) else error


class _ImaginedSavepoint:
    """A savepoint without SQL. Every call between services uses one, so it is a class and not a slower generator."""

    __slots__ = ("_counted", "_database", "_metrics", "_written")

    def __init__(self, database: Database, metrics: MetricTable) -> None:
        self._database = database
        self._metrics = metrics

    def __enter__(self) -> None:
        self._counted = self._metrics.mark
        self._written = self._database.written

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            if self._database.written != self._written:
                raise StartAnew from error
            self._metrics.rewind(self._counted)


class Transaction:
    """One unit of work on the store: all of it is committed, or nothing.

    `is_guarded`: savepoints are real SQL savepoints. `cause` becomes the cause of everything that is sent or created.
    The delivery worker sets it while it attempts or settles a delivery; for clients it is None. `digests` has the
    digests of bodies, by their segments, that were made before the step (`delivery/digesting.py`).
    """

    __slots__ = (
        "_depth", "_is_guarded", "_tables", "alarm_history", "archives", "attempts", "blobs", "bodies", "cause",
        "dedup", "deliveries", "digests", "entropy", "executions", "facts", "items", "log_events", "messages", "meters",
        "metrics", "now", "objects", "resources", "runs", "services", "streams", "timers", "tokens", "topics",
        "uploads",
    )  # fmt: skip

    def __init__(
        self, tables: Tables, *, now: Instant, entropy: Entropy, services: Services, accumulator: Accumulator,
        is_guarded: bool,
    ) -> None:  # fmt: skip
        self._tables = tables
        self._is_guarded = is_guarded
        self._depth = 0
        self.now = now
        self.cause: Cause | None = None
        self.digests = NO_DIGESTS
        self.entropy = entropy
        self.services = services
        self.topics: set[str] = set()
        self.resources = tables.resources
        self.metrics = MetricTable(tables.database, accumulator)
        self.timers = tables.timers
        self.tokens = tables.tokens
        self.messages = tables.messages
        self.meters = tables.meters
        self.dedup = tables.dedup
        self.deliveries = tables.deliveries
        self.attempts = tables.attempts
        self.runs = tables.runs
        self.items = tables.items
        self.blobs = tables.blobs
        self.bodies = tables.bodies
        self.log_events = tables.log_events
        self.facts = tables.facts
        self.alarm_history = tables.alarm_history
        self.archives = tables.archives
        self.streams = tables.streams
        self.objects = tables.objects
        self.uploads = tables.uploads
        self.executions = tables.executions

    @property
    def is_shared(self) -> bool:
        """Whether steps of other nodes write to the store meanwhile. Only then reservations have an effect."""
        return self._tables.database.is_shared

    def move_to(self, now: Instant) -> None:
        """Continue at another instant. Only for virtual time, which has no work to do until then."""
        self.now = now

    def side_by_side(self, items: Sequence[Item], work: Callable[[Transaction, Item], None]) -> None:
        """Do the same for many items that do not depend on each other. Errors: the first exception.

        A store of many nodes lets all of them wait for their answers together; then each item has a transaction object
        of its own. A store with one writer does one after another, in this transaction object.
        """
        if not self._tables.database.is_shared:
            for item in items:
                work(self, item)
            return
        made = [self._branch() for _ in items]
        pairs = zip(made, items, strict=True)
        self._tables.database.side_by_side([partial(work, branch, item) for branch, item in pairs])
        for branch in made:
            self.topics |= branch.topics
            self.metrics.take(branch.metrics)

    def _branch(self) -> Transaction:
        """A part of this transaction, with a cause and counts of its own."""
        return Transaction(
            self._tables, now=self.now, entropy=self.entropy, services=self.services,
            accumulator=self.metrics.accumulator, is_guarded=self._is_guarded,
        )  # fmt: skip

    def be_alone(self) -> None:
        """Let no other step run in the store until this one ends, on any node. On SQLite that is always so.

        For a step that reads rows in order to write them, and reserves nothing.
        """
        self._tables.database.be_alone()

    def notify(self, topic: str) -> None:
        """Wake all waiters of this topic after the commit. Always only a hint."""
        self.topics.add(topic)

    def savepoint(self) -> AbstractContextManager[None]:
        """Roll back what happens inside if it raises; the exception goes on.

        A savepoint costs as much as a write, and few calls fail after a write. So at first no savepoint is set. If one
        is missed, the store runs the transaction again with real savepoints.
        """
        return self._set_savepoint() if self._is_guarded else _ImaginedSavepoint(self._tables.database, self.metrics)

    @contextmanager
    def _set_savepoint(self) -> Iterator[None]:
        self._depth += 1
        name = f"nested_{self._depth}"
        counted = self.metrics.mark
        database = self._tables.database
        database.run(f"SAVEPOINT {name}", NO_PARAMS)
        try:
            yield
        except BaseException:
            database.run(f"ROLLBACK TO {name}", NO_PARAMS)
            self._tables.undone()
            self.metrics.rewind(counted)
            raise
        finally:
            database.run(f"RELEASE {name}", NO_PARAMS)
            self._depth -= 1


Step = Callable[[Transaction], T]


class Store(Protocol):
    """Durable state behind transactions. Internal: all implementations are in this room."""

    def bind(self, services: Services) -> None:
        """Give transactions their `services`. Call it once, before the first step."""
        ...

    def run(self, step: Step[T]) -> T:
        """Run a step and commit it. Returns after the commit is durable.

        Errors: those of the step, after a rollback of its writes; Conflict; StoreFull.
        """
        ...

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call the listener with the topics of each commit that has topics."""
        ...

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        """Call the listener when a transaction finds that another store of the same database has committed.

        The call happens inside that transaction, before its steps. The listener must not use the store.
        """
        ...

    def reset(self) -> None:
        """Delete all stored state."""
        ...

    def close(self) -> None:
        """Finish the current work and close the files."""
        ...

"""The transaction: what a step works on, and nothing else.

step(tx) ──► tx.now, tx.entropy        drawn and seeded outside; a step reads no clock
         ──► tx.resources, tx.messages …  one gateway per table, domain verbs
         ──► tx.services                  other services' operations, in this same transaction
         ──► tx.notify(topic)             a hint for waiters, given after the commit
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol, TypeVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import Entropy
from redrive.core.knobs import PRODUCTION
from redrive.core.leniency import OnUnknown
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.store.database import Database
from redrive.store.tables.attempts import AttemptTable
from redrive.store.tables.blobs import BlobTable
from redrive.store.tables.dedup import DedupTable
from redrive.store.tables.deliveries import DeliveryTable
from redrive.store.tables.facts import FactTable
from redrive.store.tables.items import ItemTable
from redrive.store.tables.log_events import LogEventTable
from redrive.store.tables.messages import MessageTable
from redrive.store.tables.metrics import Accumulator, MetricTable
from redrive.store.tables.resources import ResourceCache, ResourceTable
from redrive.store.tables.runs import RunTable
from redrive.store.tables.timers import TimerTable
from redrive.store.tables.tokens import TokenTable

T = TypeVar("T")

NO_PARAMS: Mapping[str, object] = {}
NO_CONTEXT: Mapping[str, tuple[str, ...]] = {}


class Services(Protocol):
    """Every service's operations, for use inside a transaction. The engine binds it to the store.

    This is the only way from one service to another.
    """

    @property
    def limits(self) -> Limits:
        """Whether AWS's quotas hold in this engine."""
        ...

    @property
    def on_unknown(self) -> OnUnknown:
        """How templates are taken that have what AWS has and this engine does not serve, unless their stacks say so."""
        ...

    def call(
        self, tx: Transaction, caller: Caller, service: str, operation: str, params: Mapping[str, object]
    ) -> Document:
        """Run an operation in this transaction: `call(tx, caller, "sqs", "SendMessage", {"QueueUrl": …})`.

        Parameters are validated as those of a client are. Writes of a failed call are undone; the transaction goes on.
        Errors: ServiceError, in the words of that service. An operation that no service here has is refused as AWS
        refuses who may not call it, and else with UnknownOperationException.
        """
        ...

    def read(self, service: str, operation: str, document: Mapping[str, object]) -> Mapping[str, object]:
        """Parameters for `call`, from a document as a user writes it in JSON: `read("sqs", "SendMessage", {…})`.

        Members have the names of AWS's SDKs (`MessageBody`); blobs are base64, or text where they are the body of the
        request; timestamps are seconds or ISO 8601. For an operation that no service here has this is the document
        itself: `call` refuses it, as only there the caller is known.
        Errors: ServiceError SerializationException (a value of a wrong type, a member that there is not).
        """
        ...

    def missing(self, service: str, operation: str, document: Mapping[str, object]) -> Sequence[str]:
        """The required members that such a document lacks; none where the service is not here and nobody can tell.

        Errors: ServiceError UnknownOperationException (AWS's service has no such operation).
        """
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
        """The caller that a service (`scheduler.amazonaws.com`) becomes by assuming a role, acting in `region`.

        `source_arn` is what the trust policy sees as `aws:SourceArn`.
        Errors: ServiceError AccessDeniedException (no such role, or its trust policy refuses).
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
    ) -> None:
        """Refuse what the caller may not do: `authorize(tx, caller, "sqs:SendMessage", queue_arn)`.

        `context` holds condition keys that only the service knows, `policy` is the text of the resource's own policy.
        The account itself may do in its own account what no policy denies.
        Errors: ServiceError AccessDeniedException with AWS's sentence.
        """
        ...

    def user_of(self, tx: Transaction, caller: Caller, access_key_id: str, service: str) -> Caller:
        """The caller as the IAM user to whom an access key of this store belongs, calling a service (`sqs`).

        Errors: ServiceError UnrecognizedClientException (the key is deleted or inactive).
        """
        ...


class Cause(NamedTuple):
    """On whose behalf a step works: the execution, and the delivery of it that is attempted or ends."""

    execution_id: str
    delivery_id: str


class Tables:
    """The gateways that keep nothing of a transaction, so that a store makes them once and not for each step."""

    __slots__ = (
        "attempts", "blobs", "database", "dedup", "deliveries", "facts", "items", "log_events", "messages",
        "resources", "runs", "timers", "tokens",
    )  # fmt: skip

    def __init__(self, database: Database, *, resources_max: int = PRODUCTION.cached_resources) -> None:
        """`resources_max`: how many documents of resources are kept decoded."""
        self.database = database
        self.resources = ResourceTable(database, ResourceCache(resources_max))
        self.timers = TimerTable(database)
        self.tokens = TokenTable(database)
        self.messages = MessageTable(database)
        self.dedup = DedupTable(database)
        self.deliveries = DeliveryTable(database)
        self.attempts = AttemptTable(database)
        self.runs = RunTable(database)
        self.items = ItemTable(database)
        self.blobs = BlobTable(database)
        self.log_events = LogEventTable(database)
        self.facts = FactTable(database)

    def undone(self) -> None:
        """Something that was written has been undone: drop what gateways remember of it."""
        self.forget()

    def forget(self) -> None:
        """Drop what gateways remember of the database, which is not what they left it."""
        self.resources.forget()
        self.timers.forget()
        self.tokens.forget()
        self.deliveries.forget()
        self.items.forget()
        self.attempts.forget()
        self.runs.forget()


class StartAnew(BaseException):
    """Writes have to be undone, and no savepoint was set before them: the transaction starts anew, with savepoints.

    No Exception, so that nobody on its way to the store takes it for something that has gone wrong.
    """


class _ImaginedSavepoint:
    """A savepoint that is only thought of. Every call between services has one, so it is no generator."""

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
    """One unit of work on the store: all of it happens, or none.

    `is_guarded` says that savepoints are set, and not only thought of. What is sent or promised has `cause` as its
    cause: the delivery worker sets it while it attempts or settles a delivery; for clients there is none.
    """

    __slots__ = (
        "_depth", "_is_guarded", "_tables", "attempts", "blobs", "cause", "dedup", "deliveries", "entropy", "facts",
        "items", "log_events", "messages", "metrics", "now", "resources", "runs", "services", "timers", "tokens",
        "topics",
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
        self.entropy = entropy
        self.services = services
        self.topics: set[str] = set()
        self.resources = tables.resources
        self.metrics = MetricTable(tables.database, accumulator)
        self.timers = tables.timers
        self.tokens = tables.tokens
        self.messages = tables.messages
        self.dedup = tables.dedup
        self.deliveries = tables.deliveries
        self.attempts = tables.attempts
        self.runs = tables.runs
        self.items = tables.items
        self.blobs = tables.blobs
        self.log_events = tables.log_events
        self.facts = tables.facts

    def move_to(self, now: Instant) -> None:
        """Go on at another instant. Only for virtual time, which has nothing to do until then."""
        self.now = now

    def notify(self, topic: str) -> None:
        """Wake whoever waits for this topic, once the transaction has committed. Only ever a hint."""
        self.topics.add(topic)

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what happens inside if it raises; the exception goes on.

        Hardly anything that fails has written before, and a savepoint costs as much as a write: at first none is set;
        if one is missed, the store is told to start anew, and sets them all.
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
    """Durable state behind transactions. Internal: implementations live in this room only."""

    def bind(self, services: Services) -> None:
        """Give transactions their `services`. Once, before the first step."""
        ...

    def run(self, step: Step[T]) -> T:
        """Run a step and commit it; answers after the commit is durable.

        Errors: whatever the step raises, after undoing its writes; Conflict; StoreFull.
        """
        ...

    def on_commit(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call the listener with the topics of each commit that notified any."""
        ...

    def on_others_commit(self, listener: Callable[[], None]) -> None:
        """Call the listener when a transaction finds that another store of the same database has committed.

        It is called inside of that transaction, before its steps, and must not use the store.
        """
        ...

    def reset(self) -> None:
        """Forget everything that was ever stored."""
        ...

    def close(self) -> None:
        """Finish what is under way and let go of the files."""
        ...

"""The operations of a server's own surface, by name: what each takes, and the type of what it answers.

Written by `make docs` from the model, `src/redrive/wire/data/redrive`. Do not edit.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict, cast

from redrive.cli.endpoint import call, fetch_content


class Health(TypedDict):
    """`Health` of the model."""

    status: str
    version: str
    account: str
    store: str
    clock: str
    now: str
    now_ms: int
    moves_to: NotRequired[str]
    moves_to_ms: NotRequired[int]


class Clock(TypedDict):
    """`Clock` of the model."""

    clock: str
    now: str
    now_ms: int
    moves_to: NotRequired[str]
    moves_to_ms: NotRequired[int]


class Node(TypedDict):
    """`Node` of the model."""

    host: str
    url: str
    process: int
    version: str
    slots: int
    underway: int
    started: str
    silent_ms: int


class ListNodesAnswer(TypedDict):
    """`ListNodesAnswer` of the model."""

    nodes: list[Node]
    due: int
    leased: int
    lag_ms: int


class ResetAnswer(TypedDict):
    """`ResetAnswer` of the model."""

    status: str
    clock: str
    now: str
    now_ms: int
    moves_to: NotRequired[str]
    moves_to_ms: NotRequired[int]


class Firing(TypedDict):
    """`Firing` of the model."""

    local: str
    utc: str


class Schedule(TypedDict):
    """`Schedule` of the model."""

    name: str
    group: str
    arn: str
    state: str
    expression: str
    zone: str
    window_minutes: int
    target: str
    next: Firing | None
    warnings: list[str]


class ListSchedulesAnswer(TypedDict):
    """`ListSchedulesAnswer` of the model."""

    schedules: list[Schedule]
    after: str | None


class GetOccurrencesAnswer(TypedDict):
    """`GetOccurrencesAnswer` of the model."""

    schedule: Schedule
    next: list[Firing]


class Missed(TypedDict):
    """`Missed` of the model."""

    name: str
    group: str
    count: str
    first: str
    last: str
    why: str


class ListMissedAnswer(TypedDict):
    """`ListMissedAnswer` of the model."""

    missed: list[Missed]
    after: str | None


class Triggered(TypedDict):
    """`Triggered` of the model."""

    schedule: str
    execution_id: str
    scheduled_time: str
    id: str


class Attempt(TypedDict):
    """`Attempt` of the model."""

    attempt: int
    at: str
    state: str
    error: str | None
    message: str | None
    verdict: str
    led_to: str | None
    log_stream: str | None
    next: str | None


class Note(TypedDict):
    """What followed the end of a run, such as a destination that was told."""

    at: str
    kind: str
    target: str | None
    led_to: str | None
    error: str | None
    message: str | None


class Run(TypedDict):
    """`Run` of the model."""

    id: str
    kind: str
    source: str
    target: str | None
    execution_id: str
    cause: str | None
    scheduled_time: str | None
    state: str
    began: str
    ended: str | None
    attempts: list[Attempt]
    notes: list[Note]


class ListRunsAnswer(TypedDict):
    """`ListRunsAnswer` of the model."""

    runs: list[Run]
    after: str | None


class TimelineEvent(TypedDict):
    """What an event does not have is left out."""

    at: str
    event: str
    kind: str
    delivery_id: NotRequired[str]
    source: NotRequired[str]
    target: NotRequired[str]
    attempt: NotRequired[int]
    state: NotRequired[str]
    code: NotRequired[str]
    message: NotRequired[str]
    arn: NotRequired[str]
    led_to: NotRequired[str]
    why: NotRequired[str]
    log_stream: NotRequired[str]
    receive_count: NotRequired[int]
    cause: NotRequired[str]
    plan: NotRequired[str]
    next: NotRequired[str]


class GetRunAnswer(TypedDict):
    """Where an execution has no run, there are only `execution_id` and `timeline`."""

    id: NotRequired[str]
    kind: NotRequired[str]
    source: NotRequired[str]
    target: NotRequired[str | None]
    execution_id: str
    cause: NotRequired[str | None]
    scheduled_time: NotRequired[str | None]
    state: NotRequired[str]
    began: NotRequired[str]
    ended: NotRequired[str | None]
    attempts: NotRequired[list[Attempt]]
    notes: NotRequired[list[Note]]
    timeline: list[TimelineEvent]


class RecordedRedrives(TypedDict):
    """`RecordedRedrives` of the model."""

    recorded: int


class RedrivenLetter(TypedDict):
    """`RedrivenLetter` of the model."""

    message_id: str
    sent_as: str
    work_id: NotRequired[str]


class Fault(TypedDict):
    """`Fault` of the model."""

    id: str
    target: str
    error: str | None
    message: str | None
    times: int | None
    rate: float | None
    latency_s: float
    s3: str | None
    event: str | None
    struck: int
    state: str


class ListFaultsAnswer(TypedDict):
    """`ListFaultsAnswer` of the model."""

    faults: list[Fault]


class Cleared(TypedDict):
    """`Cleared` of the model."""

    cleared: int


class Mail(TypedDict):
    """`Mail` of the model."""

    id: str
    at: str
    protocol: str
    address: str
    topic: str
    subject: str
    text: str
    link: str
    message_id: str


class ListMailAnswer(TypedDict):
    """`ListMailAnswer` of the model."""

    mail: list[Mail]
    after: str | None


class StoreReport(TypedDict):
    """`StoreReport` of the model."""

    store: str
    ok: bool
    findings: list[str]
    schema: int
    bytes: int
    log_bytes: int
    log_pages: int
    closed_in_order: bool | None
    tables: dict[str, int | None]


class Backup(TypedDict):
    """`Backup` of the model."""

    id: int
    copied: int
    pages: int
    bytes: int | None


class Status(TypedDict):
    """`Status` of the model."""

    status: str


class Asset(TypedDict):
    """`Asset` of the model."""

    bucket: str
    key: str
    sha256: str | None
    size_bytes: int | None


class StartedTail(TypedDict):
    """`StartedTail` of the model."""

    tail: str
    after: str


class MatchedTarget(TypedDict):
    """`MatchedTarget` of the model."""

    id: str
    arn: str


class MatchedRule(TypedDict):
    """`MatchedRule` of the model."""

    name: str
    targets: list[MatchedTarget]


class TailedEvent(TypedDict):
    """`TailedEvent` of the model."""

    bus: str
    execution_id: str
    accepted: str
    event: str
    rules: list[MatchedRule]


class TailAnswer(TypedDict):
    """`TailAnswer` of the model."""

    events: list[TailedEvent]
    after: str


class EndedTail(TypedDict):
    """`EndedTail` of the model."""

    ended: str


class Surface:
    """A server's own surface. Errors of each method: UserError."""

    def __init__(self, endpoint_url: str) -> None:
        self._endpoint_url = endpoint_url

    def get_health(self) -> Health:
        """Say that the server answers, and what it is."""
        return cast(Health, call(self._endpoint_url, "GetHealth", {}))

    def get_clock(self) -> Clock:
        """Tell what time it is for the server."""
        return cast(Clock, call(self._endpoint_url, "GetClock", {}))

    def advance_clock(self, *, advance_s: float | None = None, to: str | None = None) -> Clock:
        """Let virtual time pass, by `{"advance_s"."""
        return cast(Clock, call(self._endpoint_url, "AdvanceClock", {"advance_s": advance_s, "to": to}))

    def stop_clock(self) -> Clock:
        """Stop a clock that moves, where it stands."""
        return cast(Clock, call(self._endpoint_url, "StopClock", {}))

    def list_nodes(self) -> ListNodesAnswer:
        """List the servers that share the store, the longest running first."""
        return cast(ListNodesAnswer, call(self._endpoint_url, "ListNodes", {}))

    def reset(self) -> ResetAnswer:
        """Forget all state."""
        return cast(ResetAnswer, call(self._endpoint_url, "Reset", {}))

    def list_schedules(
        self,
        *,
        region: str | None = None,
        account: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> ListSchedulesAnswer:
        """List the schedules of a region, each with its next occurrence and what is probably not meant about it."""
        given: dict[str, object] = {
            "region": region,
            "account": account,
            "limit": limit,
            "after": after,
        }
        return cast(ListSchedulesAnswer, call(self._endpoint_url, "ListSchedules", given))

    def get_occurrences(
        self,
        *,
        schedule: str,
        count: int | None = None,
        region: str | None = None,
        account: str | None = None,
    ) -> GetOccurrencesAnswer:
        """Tell the next occurrences of a schedule, in its zone and in UTC."""
        given: dict[str, object] = {
            "schedule": schedule,
            "count": count,
            "region": region,
            "account": account,
        }
        return cast(GetOccurrencesAnswer, call(self._endpoint_url, "GetOccurrences", given))

    def list_missed_occurrences(
        self,
        *,
        schedule: str | None = None,
        region: str | None = None,
        account: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> ListMissedAnswer:
        """List occurrences that nobody will fire, because nothing ran then or the schedule was disabled."""
        given: dict[str, object] = {
            "schedule": schedule,
            "region": region,
            "account": account,
            "limit": limit,
            "after": after,
        }
        return cast(ListMissedAnswer, call(self._endpoint_url, "ListMissedOccurrences", given))

    def trigger_schedule(self, *, schedule: str, region: str | None = None, account: str | None = None) -> Triggered:
        """Fire one occurrence of a schedule now."""
        given: dict[str, object] = {
            "schedule": schedule,
            "region": region,
            "account": account,
        }
        return cast(Triggered, call(self._endpoint_url, "TriggerSchedule", given))

    def list_runs(
        self,
        *,
        state: str | None = None,
        source: str | None = None,
        target: str | None = None,
        execution: str | None = None,
        since: str | None = None,
        until: str | None = None,
        region: str | None = None,
        account: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> ListRunsAnswer:
        """List runs, the latest first, each with its attempts."""
        given: dict[str, object] = {
            "state": state,
            "source": source,
            "target": target,
            "execution": execution,
            "since": since,
            "until": until,
            "region": region,
            "account": account,
            "limit": limit,
            "after": after,
        }
        return cast(ListRunsAnswer, call(self._endpoint_url, "ListRuns", given))

    def get_run(self, *, id: str) -> GetRunAnswer:
        """Tell one run, and the timeline of its execution, by the id of the execution, a delivery."""
        return cast(GetRunAnswer, call(self._endpoint_url, "GetRun", {"id": id}))

    def record_redrives(self, *, plan: str, queue: str, to: str, letters: list[RedrivenLetter]) -> RecordedRedrives:
        """Record that dead letters were sent again."""
        given: dict[str, object] = {
            "plan": plan,
            "queue": queue,
            "to": to,
            "letters": letters,
        }
        return cast(RecordedRedrives, call(self._endpoint_url, "RecordRedrives", given))

    def list_faults(self) -> ListFaultsAnswer:
        """List the faults, oldest first."""
        return cast(ListFaultsAnswer, call(self._endpoint_url, "ListFaults", {}))

    def add_fault(
        self,
        *,
        target: str,
        error: str | None = None,
        message: str | None = None,
        times: int | None = None,
        rate: float | None = None,
        latency_s: float | None = None,
        s3: str | None = None,
        event: str | None = None,
    ) -> Fault:
        """Have deliveries to a target, and runs of a function, fail or be slow from now on."""
        given: dict[str, object] = {
            "target": target,
            "error": error,
            "message": message,
            "times": times,
            "rate": rate,
            "latency_s": latency_s,
            "s3": s3,
            "event": event,
        }
        return cast(Fault, call(self._endpoint_url, "AddFault", given))

    def clear_faults(self) -> Cleared:
        """Forget all faults."""
        return cast(Cleared, call(self._endpoint_url, "ClearFaults", {}))

    def clear_fault(self, *, id: str) -> Cleared:
        """Forget one fault."""
        return cast(Cleared, call(self._endpoint_url, "ClearFault", {"id": id}))

    def list_mail(
        self,
        *,
        address: str | None = None,
        region: str | None = None,
        account: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> ListMailAnswer:
        """List the e-mail and text messages that SNS would have sent, the oldest first."""
        given: dict[str, object] = {
            "address": address,
            "region": region,
            "account": account,
            "limit": limit,
            "after": after,
        }
        return cast(ListMailAnswer, call(self._endpoint_url, "ListMail", given))

    def get_mail(self, *, id: str, region: str | None = None, account: str | None = None) -> Mail:
        """Show one captured e-mail or text message."""
        return cast(Mail, call(self._endpoint_url, "GetMail", {"id": id, "region": region, "account": account}))

    def get_store_report(self) -> StoreReport:
        """Read the whole store, as it is at one instant, and say what is wrong with it, how large it is."""
        return cast(StoreReport, call(self._endpoint_url, "GetStoreReport", {}))

    def create_backup(self) -> Backup:
        """Copy the store, as it is at one instant, to where it can be fetched, while the server goes on."""
        return cast(Backup, call(self._endpoint_url, "CreateBackup", {}))

    def get_backup(self) -> Backup:
        """Tell how far the latest copy is."""
        return cast(Backup, call(self._endpoint_url, "GetBackup", {}))

    def get_backup_content(self, *, id: int, offset: int | None = None) -> bytes:
        """Answer a piece of the copy, 4 MiB at most."""
        return fetch_content(self._endpoint_url, "GetBackupContent", {"id": id, "offset": offset})

    def delete_backup(self) -> Status:
        """Forget the copy."""
        return cast(Status, call(self._endpoint_url, "DeleteBackup", {}))

    def put_asset(
        self,
        *,
        bucket: str,
        key: str,
        content: bytes | None = None,
        account: str | None = None,
        piece: int | None = None,
        pieces: int | None = None,
    ) -> Asset:
        """Keep the body as the file that templates mean by a bucket and a key, as S3 is not served."""
        given: dict[str, object] = {
            "bucket": bucket,
            "key": key,
            "content": content,
            "account": account,
            "piece": piece,
            "pieces": pieces,
        }
        return cast(Asset, call(self._endpoint_url, "PutAsset", given))

    def get_asset(self, *, bucket: str, key: str, account: str | None = None) -> Asset:
        """Tell whether a file is there, by its digest and its size."""
        return cast(Asset, call(self._endpoint_url, "GetAsset", {"bucket": bucket, "key": key, "account": account}))

    def start_tail(
        self,
        *,
        bus: str | None = None,
        region: str | None = None,
        account: str | None = None,
    ) -> StartedTail:
        """Begin to keep the events that buses of EventBridge accept, with the rules that each matches."""
        given: dict[str, object] = {
            "bus": bus,
            "region": region,
            "account": account,
        }
        return cast(StartedTail, call(self._endpoint_url, "StartTail", given))

    def get_tail(
        self,
        *,
        tail: str,
        after: str | None = None,
        limit: int | None = None,
        region: str | None = None,
        account: str | None = None,
    ) -> TailAnswer:
        """List the events that came after those that were listed before."""
        given: dict[str, object] = {
            "tail": tail,
            "after": after,
            "limit": limit,
            "region": region,
            "account": account,
        }
        return cast(TailAnswer, call(self._endpoint_url, "GetTail", given))

    def end_tail(self, *, tail: str, region: str | None = None, account: str | None = None) -> EndedTail:
        """Forget a tail and what was kept for it."""
        given: dict[str, object] = {
            "tail": tail,
            "region": region,
            "account": account,
        }
        return cast(EndedTail, call(self._endpoint_url, "EndTail", given))

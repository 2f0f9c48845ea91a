"""Logs Insights: queries that are started, run between transactions, and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS
from redrive.core.errors import ServiceError
from redrive.delivery.outside.reading import Reading, ReadingResult
from redrive.delivery.worker import ONE
from redrive.services.logs import limits
from redrive.services.logs.model.query import LogQuery
from redrive.testing.world import World

GROUP = "/aws/lambda/orders"
REPORT = (
    "REPORT RequestId: 8f5b4444-1234-1234-1234-123456789012\tDuration: {ms} ms\tBilled Duration: 103 ms"
    "\tMemory Size: 128 MB\tMax Memory Used: 35 MB\t\n"
)

# The queries of a published article, as it prints them.
RULES = r"""-- EventBridgeルールマッチング失敗の分析
fields @timestamp, @message
| filter @message like /FAILED/
| parse @message "RuleName: (?<rule_name>\\S+)"
| stats count() by rule_name
| sort count desc
"""
DELAYS = """-- S3イベント処理の遅延分析
fields @timestamp, @duration
| filter @type = "REPORT"
| stats avg(@duration), max(@duration), min(@duration) by bin(5m)
"""


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    for group in (GROUP, "other"):
        world.call("logs", "CreateLogGroup", logGroupName=group)
        world.call("logs", "CreateLogStream", logGroupName=group, logStreamName="s")
    yield world
    world.close()


def put(world: World, *messages: str, group: str = GROUP) -> None:
    """Write messages one second apart, the last now."""
    first = world.now - 1000 * (len(messages) - 1)
    events = [{"timestamp": first + 1000 * place, "message": text} for place, text in enumerate(messages)]
    world.call("logs", "PutLogEvents", logGroupName=group, logStreamName="s", logEvents=events)


def start(world: World, text: str, **params: object) -> str:
    named = params if any(name.startswith("logGroup") for name in params) else {"logGroupName": GROUP, **params}
    times = {"startTime": (world.now - HOUR_MS) // 1000, "endTime": world.now // 1000}
    return str(world.call("logs", "StartQuery", queryString=text, **{**times, **named})["queryId"])


def results(world: World, query_id: str, **params: object) -> dict[str, Any]:
    world.advance(seconds=0)
    return world.call("logs", "GetQueryResults", queryId=query_id, **params)


def rows(world: World, text: str, **params: object) -> list[dict[str, str]]:
    found = results(world, start(world, text, **params))
    assert found["status"] == "Complete"
    return [{cell["field"]: cell["value"] for cell in row} for row in found["results"]]


def refused(world: World, operation: str, **params: object) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, **params)
    return caught.value


def test_queries_of_the_article_run_as_printed(world: World) -> None:
    world.advance(seconds=60)
    put(
        world,
        "FAILED RuleName: a x",
        REPORT.format(ms=100),
        "FAILED RuleName: b",
        "FAILED RuleName: a",
        REPORT.format(ms=50.5),
    )

    assert rows(world, RULES) == [{"rule_name": "a", "count()": "2"}, {"rule_name": "b", "count()": "1"}]
    (delay,) = rows(world, DELAYS)
    assert (delay["avg(@duration)"], delay["max(@duration)"], delay["min(@duration)"]) == ("75.25", "100", "50.5")
    assert delay["bin(5m)"].endswith("0:00.000") or delay["bin(5m)"].endswith("5:00.000")


def test_query_is_scheduled_then_complete_with_what_it_has_read(world: World) -> None:
    put(world, "ERROR one", "fine")
    query_id = start(world, "filter @message like /ERROR/")

    before = world.call("logs", "GetQueryResults", queryId=query_id)
    after = results(world, query_id)

    assert (before["status"], before["results"]) == ("Scheduled", [])
    assert after["statistics"] == {
        "recordsMatched": 1.0, "recordsScanned": 2.0, "bytesScanned": 13.0, "logGroupsScanned": 1.0, "resultCount": 1.0,
        "estimatedRecordsSkipped": 0.0, "estimatedBytesSkipped": 0.0,
    }  # fmt: skip
    fields = [cell["field"] for cell in after["results"][0]]
    assert fields == ["@timestamp", "@message", "@ptr"]
    record = world.call("logs", "GetLogRecord", logRecordPointer=after["results"][0][2]["value"])["logRecord"]
    assert (record["@message"], record["@logStream"]) == ("ERROR one", "s")


def test_events_of_many_groups_come_newest_first(world: World) -> None:
    put(world, "a", "b")
    world.advance(seconds=10)
    put(world, "c", group="other")
    text = "fields @message, @log"

    found = rows(world, text, logGroupNames=[GROUP, "other"])
    sourced = rows(world, "SOURCE logGroups(namePrefix: ['oth']) | display @message", logGroupNames=None)

    account = world.caller().account
    assert [(row["@message"], row["@log"]) for row in found] == [
        ("c", f"{account}:other"), ("b", f"{account}:{GROUP}"), ("a", f"{account}:{GROUP}"),
    ]  # fmt: skip
    assert [row["@message"] for row in sourced] == ["c"]


def test_both_ends_of_the_time_belong_to_it_and_expired_events_do_not(world: World) -> None:
    put(world, "a", "b", "c")
    second = world.now // 1000

    assert len(rows(world, "fields @message", startTime=second - 2, endTime=second - 1)) == 2


def test_pages_of_events_are_read_in_transactions_of_their_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(limits, "QUERY_PAGE_EVENTS", 3)
    put(world, *[f'{{"n": {number}}}' for number in range(10)])

    assert rows(world, "stats count(*) as n, sum(n) as s, min(n), max(n)") == [
        {"n": "10", "s": "45", "min(n)": "0", "max(n)": "9"}
    ]


def test_large_results_are_shown_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_RESULTS_PAGE", 4)
    put(world, *[f"m{number}" for number in range(10)])
    query_id = start(world, "display @message | sort @message")
    found: list[str] = []
    token: dict[str, str] = {}

    while True:
        page = results(world, query_id, **token)
        found += [row[0]["value"] for row in page["results"]]
        if "nextToken" not in page or page["nextToken"] is None:
            break
        token = {"nextToken": page["nextToken"]}

    assert found == [f"m{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("text", "at", "told"),
    [
        ("fields @timestamp | foo", (20, 23), "unexpected symbol found foo"),
        ("filter @message like /(/", (21, 24), "a parenthesis is not closed"),
        ("stats count(*) by bin(5x)", (22, 24), "5x is no period"),
        ("fields a | parse @message '* *' as x", (26, 31), "2 times *"),
        ("anomaly", (0, 7), "does not serve the command anomaly"),
        ("", (0, 0), "no command"),
    ],
)
def test_malformed_query_tells_where(world: World, text: str, at: tuple[int, int], told: str) -> None:
    error = refused(world, "StartQuery", queryString=text, logGroupName=GROUP, startTime=0, endTime=world.now // 1000)

    compiled = error.members["queryCompileError"]
    assert isinstance(compiled, dict)
    assert error.code == "MalformedQueryException"
    assert told in compiled["message"]
    assert compiled["location"] == {"startCharOffset": at[0], "endCharOffset": at[1]}


def test_what_cannot_be_started_is_refused(world: World) -> None:
    given: dict[str, object] = {"queryString": "fields a", "startTime": 0, "endTime": 1}

    none = refused(world, "StartQuery", **given)
    gone = refused(world, "StartQuery", **given, logGroupName="gone")
    two = refused(world, "StartQuery", **given, logGroupName=GROUP, logGroupNames=["other"])
    sql = refused(world, "StartQuery", **given, logGroupName=GROUP, queryLanguage="SQL")
    late = refused(world, "StartQuery", **{**given, "startTime": 2}, logGroupName=GROUP)

    assert {one.code for one in (none, two, sql, late)} == {"InvalidParameterException"}
    assert gone.code == "ResourceNotFoundException"


def test_thirty_queries_wait_or_run_at_once(world: World) -> None:
    for _ in range(limits.QUERIES_MAX):
        query_id = start(world, "fields a")

    error = refused(
        world, "StartQuery", queryString="fields a", logGroupName=GROUP, startTime=0, endTime=world.now // 1000
    )
    world.call("logs", "StopQuery", queryId=query_id)
    start(world, "fields a")

    assert error.code == "LimitExceededException"


def test_stopped_query_stays_cancelled_and_cannot_be_stopped_again(world: World) -> None:
    put(world, "a")
    query_id = start(world, "fields a")
    (attempt,) = world.engine.claim(ONE).attempts

    stopped = world.call("logs", "StopQuery", queryId=query_id)
    world.engine.settle(attempt, world.engine.perform(attempt))

    assert stopped["success"]
    assert results(world, query_id)["status"] == "Cancelled"
    assert refused(world, "StopQuery", queryId=query_id).code == "InvalidParameterException"
    listed = world.call("logs", "DescribeQueries", status="Cancelled")["queries"]
    assert [one["queryId"] for one in listed] == [query_id]


def test_query_of_a_node_that_is_gone_begins_again_and_the_late_answer_counts_for_nothing(world: World) -> None:
    put(world, "a", "b")
    query_id = start(world, "stats count(*) as n")
    (lost,) = world.engine.claim(ONE).attempts
    late = world.engine.perform(lost)

    world.advance(seconds=limits.QUERY_LEASE_MS // 1000 + 1)
    found = results(world, query_id)
    world.engine.settle(lost, late)

    assert isinstance(lost.errand, Reading)
    assert isinstance(late, ReadingResult)
    assert found["results"] == [[{"field": "n", "value": "2"}]]
    assert results(world, query_id) == found


def test_query_ends_after_an_hour(world: World) -> None:
    put(world, "a")
    query_id = start(world, "fields a")
    (attempt,) = world.engine.claim(ONE).attempts
    world.clock.move_to(world.now + limits.QUERY_MS_MAX + 1)

    world.engine.settle(attempt, world.engine.perform(attempt))

    assert world.call("logs", "GetQueryResults", queryId=query_id)["status"] == "Timeout"


def test_results_are_kept_for_a_week(world: World) -> None:
    put(world, "a")
    query_id = start(world, "fields @message")
    results(world, query_id)

    world.advance(seconds=7 * DAY_MS // 1000 + 7200)

    assert refused(world, "GetQueryResults", queryId=query_id).code == "ResourceNotFoundException"
    assert world.store.run(lambda tx: tx.resources.everywhere(LogQuery)) == []
    assert world.store.run(lambda tx: tx.blobs.get(f"insights/{query_id}/0")) is None


def test_diff_compares_with_the_time_before(world: World) -> None:
    put(world, "connection lost to db", "user logged in", "user logged in")
    world.advance(seconds=3600)
    put(world, "user logged in", "user logged out of the shop")
    second = world.now // 1000

    found = rows(world, "pattern @message | diff", startTime=second - 1800, endTime=second)
    compared = rows(world, "diff previousDay", startTime=second - 1800, endTime=second)

    told = {row["@pattern"]: row["@differenceDescription"] for row in found}
    assert told["user logged out of the shop"] == "new"
    assert all(row["@differenceDescription"] == "new" for row in compared)


def test_saved_queries_are_listed_by_name_replaced_and_deleted(world: World) -> None:
    saved = world.call("logs", "PutQueryDefinition", name="b", queryString="fields a", logGroupNames=[GROUP])
    known = {"queryDefinitionId": saved["queryDefinitionId"]}
    world.call("logs", "PutQueryDefinition", name="a", queryString="fields b")
    world.call("logs", "PutQueryDefinition", name="c", queryString="fields c", **known)

    listed = world.call("logs", "DescribeQueryDefinitions")["queryDefinitions"]
    gone = world.call("logs", "DeleteQueryDefinition", **known)
    left = world.call("logs", "DescribeQueryDefinitions", queryDefinitionNamePrefix="a")["queryDefinitions"]

    assert [(one["name"], one["queryString"]) for one in listed] == [("a", "fields b"), ("c", "fields c")]
    assert gone["success"]
    assert [one["name"] for one in left] == ["a"]
    error = refused(world, "DeleteQueryDefinition", queryDefinitionId="gone")
    assert error.code == "ResourceNotFoundException"


def test_fields_of_a_group_are_counted_in_percent(world: World) -> None:
    put(world, '{"level": "info"}', '{"level": "info", "ms": 3}')

    found = world.call("logs", "GetLogGroupFields", logGroupName=GROUP)["logGroupFields"]

    shares = {one["name"]: one["percent"] for one in found}
    assert (shares["@message"], shares["level"], shares["ms"]) == (100, 100, 50)

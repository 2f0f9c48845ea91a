"""Shards are listed by filters, split, merged and scaled; a reader finds each record in exactly one line of shards."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.services.kinesis.model.hash_keys import HASH_KEY_MAX, uniform_ranges
from redrive.services.kinesis.model.resharding import new_shards, scale
from redrive.services.kinesis.model.stream import Stream, shard_id, shard_index
from tests.unit.services.kinesis.conftest import ARN, FIRST, SECOND, Call

QUARTER = 1 << 126
THIRD, FOURTH = "shardId-000000000002", "shardId-000000000003"


@pytest.fixture
def ids(call, stream):
    """The ids of the shards that ListShards shows: `ids("AT_LATEST")`, by their last digits."""

    def ids(kind: str | None = None, **members: object) -> str:
        params = {} if kind is None else {"ShardFilter": {"Type": kind, **members}}
        return "".join(shard["ShardId"][-1] for shard in call("ListShards", StreamName=stream, **params)["Shards"])

    return ids


def split(call: Call, shard: str = FIRST, at: int = QUARTER) -> None:
    call("SplitShard", StreamName="clicks", ShardToSplit=shard, NewStartingHashKey=str(at))


def test_split_shard_is_closed_and_has_two_children(call, stream, put):
    (number,) = put("a")
    split(call)

    parent, _, low, high = call("ListShards", StreamName=stream)["Shards"]
    assert int(parent["SequenceNumberRange"]["EndingSequenceNumber"]) > int(number)
    assert [(one["ParentShardId"], one["HashKeyRange"]) for one in (low, high)] == [
        (FIRST, {"StartingHashKey": "0", "EndingHashKey": str(QUARTER - 1)}),
        (FIRST, {"StartingHashKey": str(QUARTER), "EndingHashKey": str(2 * QUARTER - 1)}),
    ]
    assert "AdjacentParentShardId" not in low


def test_numbers_of_a_child_are_larger_than_those_of_its_parent(call, stream, put):
    """Also if the parent was written and split within one second."""
    before = put("a")
    split(call)

    (after,) = put("b")

    assert int(after) > int(before[0])
    assert call("ListShards", StreamName=stream)["Shards"][2]["ShardId"] == THIRD


def test_merged_shards_are_closed_and_have_one_child(call, stream):
    call("MergeShards", StreamName=stream, ShardToMerge=SECOND, AdjacentShardToMerge=FIRST)

    child = call("ListShards", StreamName=stream)["Shards"][2]
    assert (child["ParentShardId"], child["AdjacentParentShardId"]) == (SECOND, FIRST)
    assert child["HashKeyRange"] == {"StartingHashKey": "0", "EndingHashKey": str(HASH_KEY_MAX)}


@pytest.mark.parametrize(
    ("operation", "params", "code", "message"),
    [
        ("SplitShard", {"ShardToSplit": FIRST, "NewStartingHashKey": "1"}, "InvalidArgumentException",
         (f"NewStartingHashKey 1 used in SplitShard() on shard {FIRST} in stream clicks under account 000000000000 is "
         "not both greater than one plus the shard's StartingHashKey 0 and less than the shard's EndingHashKey "
         f"{(1 << 127) - 1}.")),
        ("SplitShard", {"ShardToSplit": FIRST, "NewStartingHashKey": str((1 << 127) - 1)}, "InvalidArgumentException",
         "is not both greater"),
        ("SplitShard", {"ShardToSplit": "shardId-9", "NewStartingHashKey": "5"}, "ResourceNotFoundException",
         "Could not find shard shardId-9 in stream clicks under account 000000000000."),
        ("MergeShards", {"ShardToMerge": FIRST, "AdjacentShardToMerge": FIRST}, "InvalidArgumentException",
         (f"Shards {FIRST} and {FIRST} in stream clicks under account 000000000000 are not an adjacent pair of shards "
         "eligible for merging")),
        ("MergeShards", {"ShardToMerge": FIRST, "AdjacentShardToMerge": FOURTH}, "ResourceNotFoundException",
         f"Could not find shard {FOURTH} in stream clicks under account 000000000000."),
        ("UpdateShardCount", {"TargetShardCount": 5, "ScalingType": "UNIFORM_SCALING"}, "InvalidArgumentException",
         "UpdateShardCount cannot scale up over double your current open shard count."),
        ("UpdateShardCount", {"TargetShardCount": 5, "ScalingType": "ODD"}, "ValidationException", "enum value set"),
    ],
)  # fmt: skip
def test_reshard_that_cannot_be_is_refused(stream, refusal, operation, params, code, message):
    found, text = refusal(operation, StreamName=stream, **params)

    assert (found, message in text) == (code, True)


def test_closed_shard_is_not_split_again(call, stream, refusal):
    split(call)

    code, _ = refusal("SplitShard", StreamName=stream, ShardToSplit=FIRST, NewStartingHashKey=str(QUARTER))

    assert code == "InvalidArgumentException"


def test_on_demand_stream_is_not_resharded_by_hand(call, refusal):
    call("CreateStream", StreamName="free")
    sentence = "Request is invalid. Stream free under account 000000000000 is in On-Demand mode."

    for operation, params in (
        ("SplitShard", {"ShardToSplit": FIRST, "NewStartingHashKey": "5"}),
        ("MergeShards", {"ShardToMerge": FIRST, "AdjacentShardToMerge": SECOND}),
        ("UpdateShardCount", {"TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}),
    ):
        assert refusal(operation, StreamName="free", **params) == ("ValidationException", sentence)


def test_scaling_tells_both_counts_and_leaves_uniform_ranges(call, stream):
    answer = call("UpdateShardCount", StreamName=stream, TargetShardCount=3, ScalingType="UNIFORM_SCALING")

    opened = call("ListShards", StreamName=stream, ShardFilter={"Type": "AT_LATEST"})["Shards"]
    assert answer == {"StreamName": stream, "StreamARN": ARN, "CurrentShardCount": 2, "TargetShardCount": 3}
    assert sorted(int(one["HashKeyRange"]["StartingHashKey"]) for one in opened) == [
        first for first, _ in uniform_ranges(3)
    ]


def test_stream_is_scaled_ten_times_a_day(world, call, stream, refusal):
    params = {"StreamName": stream, "ScalingType": "UNIFORM_SCALING"}
    for number in range(10):
        call("UpdateShardCount", TargetShardCount=1 + number % 2, **params)

    assert refusal("UpdateShardCount", TargetShardCount=1, **params)[0] == "LimitExceededException"
    world.advance(hours=24)
    call("UpdateShardCount", TargetShardCount=1, **params)


@settings(max_examples=60)
@given(st.integers(1, 40), st.lists(st.integers(1, 40), max_size=4))
def test_scaling_keeps_each_hash_key_in_one_open_shard(count, targets):
    """After each scaling: the ranges are uniform, and each closed shard's range is covered by its children's."""
    stream = Stream("s", "id", ARN, "secret", 0, "layout", new_shards(count, 0), count)
    for at, target in enumerate(targets, start=1):
        stream = scale(stream, target, {}, at)

        ranges = sorted((int(shard.first_hash), int(shard.last_hash)) for shard in stream.open_shards)
        assert ranges == uniform_ranges(target)
    for shard in stream.shards:
        children = [one for one in stream.shards if shard.index in (one.parent, one.adjacent_parent)]
        assert bool(children) != shard.is_open
        assert all(child.created_s > shard.created_s for child in children)


def test_filters_show_the_shards_of_an_instant(world, call, ids):
    """The first shard is split after an hour, its second child merged with the second shard after another."""
    start = world.now
    world.advance(hours=1)
    split(call)
    world.advance(hours=1)
    call("MergeShards", StreamName="clicks", ShardToMerge=FOURTH, AdjacentShardToMerge=SECOND)

    assert ids() == ids("FROM_TRIM_HORIZON") == "01234"
    assert ids("AT_LATEST") == "24"
    assert ids("AT_TRIM_HORIZON") == "01"
    assert ids("AT_TIMESTAMP", Timestamp=start) == "01"
    assert ids("AT_TIMESTAMP", Timestamp=start + 5_400_000) == "123"
    assert ids("FROM_TIMESTAMP", Timestamp=start + 5_400_000) == "1234"
    assert ids("AFTER_SHARD_ID", ShardId=THIRD) == "34"


def test_shards_are_listed_in_pages_with_their_filter(call, stream):
    split(call)
    split(call, SECOND, 3 * QUARTER)
    params = {"ShardFilter": {"Type": "AT_LATEST"}, "MaxResults": 3}

    first = call("ListShards", StreamName=stream, **params)
    second = call("ListShards", NextToken=first["NextToken"])

    assert [shard["ShardId"][-1] for shard in (*first["Shards"], *second["Shards"])] == ["2", "3", "4", "5"]
    assert "NextToken" not in second


def test_description_shows_shards_in_pages(call, stream):
    first = call("DescribeStream", StreamName=stream, Limit=1)["StreamDescription"]
    second = call("DescribeStream", StreamName=stream, ExclusiveStartShardId=FIRST)["StreamDescription"]

    assert ([one["ShardId"] for one in first["Shards"]], first["HasMoreShards"]) == ([FIRST], True)
    assert ([one["ShardId"] for one in second["Shards"]], second["HasMoreShards"]) == ([SECOND], False)


@pytest.mark.parametrize(
    "params",
    [
        {"StreamName": "clicks", "ShardFilter": {"Type": "AT_TIMESTAMP"}},
        {"StreamName": "clicks", "ShardFilter": {"Type": "AFTER_SHARD_ID"}},
        {"StreamName": "clicks", "ShardFilter": {"Type": "AT_LATEST", "ShardId": FIRST}},
        {"StreamName": "clicks", "ExclusiveStartShardId": "x"},
        {"StreamName": "clicks", "ExclusiveStartShardId": FIRST,
         "ShardFilter": {"Type": "AFTER_SHARD_ID", "ShardId": FIRST}},
        {"NextToken": "x"},
    ],
)  # fmt: skip
def test_list_of_shards_that_cannot_be_is_refused(stream, refusal, params):
    assert refusal("ListShards", **params)[0] == "InvalidArgumentException"


def test_token_stands_alone_and_is_of_one_stream(world, call, stream, refusal):
    token = call("ListShards", StreamName=stream, MaxResults=1)["NextToken"]
    assert refusal("ListShards", NextToken=token, StreamName=stream) == (
        "InvalidArgumentException",
        "NextToken and StreamName cannot be provided together.",
    )

    call("DeleteStream", StreamName=stream)
    call("CreateStream", StreamName=stream, ShardCount=2)
    assert refusal("ListShards", NextToken=token)[0] == "ResourceInUseException"
    created = call("DescribeStreamSummary", StreamName=stream)["StreamDescriptionSummary"]["StreamCreationTimestamp"]
    other = {"StreamName": stream, "StreamCreationTimestamp": created + 1_000}
    assert refusal("ListShards", **other)[0] == "ResourceInUseException"
    assert len(call("ListShards", StreamName=stream, StreamCreationTimestamp=created)["Shards"]) == 2

    world.advance(seconds=301)
    assert refusal("ListShards", NextToken=token)[0] == "ExpiredNextTokenException"


@given(st.text())
def test_only_ids_of_shards_have_an_index(text):
    index = shard_index(text)

    assert index is None or shard_id(index) == text

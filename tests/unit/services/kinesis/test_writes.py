"""Records go where their keys lead, in the order of the calls; each entry of a batch succeeds or fails on its own."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.limits import Limits
from redrive.engine.settings import Settings
from redrive.services.kinesis.model.hash_keys import HASH_KEY_MAX, Routes, hash_of, uniform_ranges
from redrive.services.kinesis.model.sequence import decode_sequence, sequence_number
from redrive.testing.world import World
from tests.unit.services.kinesis.conftest import ARN, FIRST, HIGH, LOW, SECOND, texts

MIB = 1_048_576


def test_record_goes_where_the_md5_of_its_key_leads(call, stream):
    for key in ("a", "b", "ключ", "k" * 256):
        hashed = int(hashlib.md5(key.encode()).hexdigest(), 16)

        answer = call("PutRecord", StreamName=stream, PartitionKey=key, Data=b"x")

        assert answer["ShardId"] == (FIRST if hashed < 1 << 127 else SECOND)


def test_explicit_hash_key_overrides_the_partition_key(call, stream):
    for hash_key, shard in ((LOW, FIRST), (str((1 << 127) - 1), FIRST), (str(1 << 127), SECOND), (HIGH, SECOND)):
        answer = call("PutRecord", StreamName=stream, PartitionKey="k", ExplicitHashKey=hash_key, Data=b"x")

        assert answer["ShardId"] == shard


def test_sequence_numbers_have_56_digits_and_increase(world, call, put):
    first = put("a", "b")
    world.advance(seconds=5)
    second = put("c")

    numbers = [int(number) for number in (*first, *second)]
    assert [len(number) for number in (*first, *second)] == [56, 56, 56]
    assert numbers == sorted(set(numbers))


def test_records_are_read_as_they_were_written(call, stream, iterator):
    wrote = call("PutRecord", StreamName=stream, PartitionKey="é", ExplicitHashKey=LOW, Data=b"\x00\xff")

    (record,) = call("GetRecords", ShardIterator=iterator())["Records"]

    assert record["Data"] == b"\x00\xff"
    assert (record["PartitionKey"], record["SequenceNumber"]) == ("é", wrote["SequenceNumber"])


def test_data_may_be_empty(put, read):
    put("", "a")

    assert read() == ["", "a"]


def test_batch_answers_in_the_order_of_its_entries(call, stream):
    keys = [LOW, HIGH, LOW]
    records = [{"PartitionKey": "k", "ExplicitHashKey": key, "Data": b"x"} for key in keys]

    answer = call("PutRecords", StreamName=stream, Records=records)

    assert answer["FailedRecordCount"] == 0
    assert [one["ShardId"] for one in answer["Records"]] == [FIRST, SECOND, FIRST]


@pytest.mark.parametrize(
    ("operation", "params", "code", "message"),
    [
        ("PutRecord", {"Data": b""}, "ValidationException", "at 'partitionKey' failed"),
        ("PutRecords", {"Records": [{"Data": b""}]}, "ValidationException",
         "at 'records.1.member.partitionKey' failed"),
        ("PutRecord", {"Data": b"", "PartitionKey": ""}, "ValidationException", "greater than or equal to 1"),
        ("PutRecord", {"Data": b"", "PartitionKey": "k" * 257}, "ValidationException", "less than or equal to 256"),
        ("PutRecords", {"Records": []}, "ValidationException", "at 'records' failed"),
        ("PutRecords", {"Records": [{"Data": b"", "PartitionKey": "k"}] * 501}, "ValidationException",
         "Member must have length less than or equal to 500"),
        ("PutRecord", {"Data": b"", "PartitionKey": "k", "ExplicitHashKey": str(1 << 128)}, "InvalidArgumentException",
         "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was"),
        ("PutRecord", {"Data": b"", "PartitionKey": "k", "ExplicitHashKey": "01"}, "ValidationException", "pattern"),
        ("PutRecord", {"Data": bytes(MIB), "PartitionKey": "k"}, "InvalidArgumentException", "maximum of 1024 KiB"),
        ("PutRecords", {"Records": [{"Data": bytes(MIB - 1), "PartitionKey": "k"}] * 11}, "InvalidArgumentException",
         "Records size exceeds 10 MB limit"),
        ("PutRecord", {"Data": b"", "PartitionKey": "k", "SequenceNumberForOrdering": "1"}, "InvalidArgumentException",
         "ExclusiveMinimumSequenceNumber 1 used in PutRecord on stream clicks under account 000000000000 is invalid."),
    ],
)  # fmt: skip
def test_record_that_cannot_be_written_is_refused(stream, refusal, read, operation, params, code, message):
    found, text = refusal(operation, StreamName=stream, **params)

    assert found == code
    assert message in text
    assert read() == []


def test_record_and_its_key_have_one_mib_together(call, stream, refusal):
    call("PutRecord", StreamName=stream, PartitionKey="é", Data=bytes(MIB - 2))

    assert refusal("PutRecord", StreamName=stream, PartitionKey="é", Data=bytes(MIB - 1))[0] == (
        "InvalidArgumentException"
    )


def test_stream_with_a_larger_maximum_takes_larger_records(call, stream, refusal):
    call("UpdateMaxRecordSize", StreamARN=ARN, MaxRecordSizeInKiB=10_240)

    call("PutRecord", StreamName=stream, PartitionKey="k", ExplicitHashKey=LOW, Data=bytes(10 * MIB - 1))


def test_number_of_an_earlier_record_orders_the_next(call, stream, put):
    (number,) = put("a")

    given = {"PartitionKey": "k", "ExplicitHashKey": LOW, "SequenceNumberForOrdering": number}
    assert int(call("PutRecord", StreamName=stream, Data=b"b", **given)["SequenceNumber"]) > int(number)


def test_full_shard_fails_its_entries_and_no_others(call, stream, put, read):
    """1,000 records a second: the entries beyond fail, entries for the other shard do not."""
    for _ in range(2):
        put(*["x"] * 499)
    keys = [LOW, LOW, HIGH, LOW]
    records = [{"PartitionKey": "k", "ExplicitHashKey": key, "Data": b"y"} for key in keys]

    answer = call("PutRecords", StreamName=stream, Records=records)

    assert answer["FailedRecordCount"] == 1
    assert [one.get("ShardId") for one in answer["Records"]] == [FIRST, FIRST, SECOND, None]
    assert answer["Records"][3] == {
        "ErrorCode": "ProvisionedThroughputExceededException",
        "ErrorMessage": f"Rate exceeded for shard {FIRST} in stream clicks under account 000000000000.",
    }
    assert len(read()) == 1_000


def test_full_shard_refuses_a_record_until_the_second_is_over(world, call, stream, put, refusal):
    put(*["x" * (MIB // 4 - 1)] * 4)
    record = {"StreamName": stream, "PartitionKey": "k", "ExplicitHashKey": LOW, "Data": b"y"}

    assert refusal("PutRecord", **record) == (
        "ProvisionedThroughputExceededException",
        f"Rate exceeded for shard {FIRST} in stream clicks under account 000000000000.",
    )
    world.advance(seconds=1)
    call("PutRecord", **record)


def test_without_quotas_a_shard_takes_everything(relaxed):
    batch = [{"PartitionKey": "k", "Data": b"x"}] * 500

    answers = [relaxed.call("kinesis", "PutRecords", StreamName="clicks", Records=batch) for _ in range(3)]

    assert [answer["FailedRecordCount"] for answer in answers] == [0, 0, 0]


def test_in_virtual_time_a_shard_takes_everything_unless_rates_are_asked_for():
    world = World(seed=1)
    world.call("kinesis", "CreateStream", StreamName="clicks", ShardCount=1)
    batch = [{"PartitionKey": "k", "Data": b"x"}] * 500

    answers = [world.call("kinesis", "PutRecords", StreamName="clicks", Records=batch) for _ in range(3)]

    assert [answer["FailedRecordCount"] for answer in answers] == [0, 0, 0]
    world.close()


def test_stream_that_distributes_its_records_needs_no_keys():
    world = World(seed=1, settings=Settings(limits=Limits.RELAXED))
    world.call("kinesis", "CreateStream", StreamName="s", RecordDistributionStrategy="AUTO")

    answer = world.call("kinesis", "PutRecords", StreamName="s", Records=[{"Data": b"x"}] * 8)

    assert sorted(one["ShardId"][-1] for one in answer["Records"]) == sorted("01230123")


def test_dry_run_writes_nothing(stream, refusal, read):
    record = {"PartitionKey": "k", "ExplicitHashKey": LOW, "Data": b"x"}

    assert refusal("PutRecord", StreamName=stream, DryRun=True, **record)[0] == "DryRunOperationException"
    assert refusal("PutRecords", StreamName=stream, DryRun=True, Records=[record])[0] == "DryRunOperationException"
    assert read() == []


def test_answer_tells_the_encryption_of_an_encrypted_stream(call, stream, iterator):
    call("StartStreamEncryption", StreamName=stream, EncryptionType="KMS", KeyId="alias/aws/kinesis")

    answer = call("PutRecord", StreamName=stream, PartitionKey="k", ExplicitHashKey=LOW, Data=b"x")

    assert answer["EncryptionType"] == "KMS"
    assert call("GetRecords", ShardIterator=iterator())["Records"][0]["EncryptionType"] == "KMS"


@given(st.integers(1, 2_000), st.integers(0, HASH_KEY_MAX))
def test_uniform_ranges_cover_each_hash_key_once(count, hash_key):
    ranges = uniform_ranges(count)

    assert [index for index, (first, last) in enumerate(ranges) if first <= hash_key <= last] == [
        Routes([first for first, _ in ranges], range(count)).shard_of(hash_key)
    ]


@given(st.text(min_size=1))
def test_hash_of_a_key_is_the_md5_of_its_utf_8(key):
    assert hash_of(key) == int(hashlib.md5(key.encode()).hexdigest(), 16)


@given(
    st.integers(0, 2**36 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**36 * 1000 - 1)
)
def test_sequence_number_holds_its_shard_and_its_record(created_s, index, seq, at):
    assert decode_sequence(sequence_number(created_s, index, seq, at)) == (created_s, index, seq)


@given(st.integers(0, 10**129 - 1))
def test_any_number_is_either_refused_or_a_sequence_number(number):
    found = decode_sequence(str(number))

    assert found is None or found.seq < 1 << 63


def test_batch_and_its_reading_hold_partition_keys_of_all_kinds(call, stream, iterator):
    keys = [" ", "\U0001f600", "'; --", "é" * 256]
    records = [{"PartitionKey": key, "ExplicitHashKey": LOW, "Data": b"x"} for key in keys]

    call("PutRecords", StreamName=stream, Records=records)
    answer = call("GetRecords", ShardIterator=iterator())

    assert [record["PartitionKey"] for record in answer["Records"]] == keys
    assert texts(answer) == ["x"] * 4

"""The settings of a stream and of an account are stored, shown, and bounded as AWS bounds them."""

from __future__ import annotations

import pytest

from tests.unit.services.kinesis.conftest import ARN

ON_DEMAND, PROVISIONED = {"StreamMode": "ON_DEMAND"}, {"StreamMode": "PROVISIONED"}


@pytest.fixture
def summary(call, stream):
    """The summary of the stream."""
    return lambda: call("DescribeStreamSummary", StreamName=stream)["StreamDescriptionSummary"]


@pytest.mark.parametrize(
    ("operation", "hours", "message"),
    [
        ("Increase", 23, ("Minimum allowed retention period is 24 hours. Requested retention period (23 hours) is too "
         "short.")),
        ("Increase", 8_761, ("Maximum allowed retention period is 8760 hours. Requested retention period "
         "(8761 hours) is too long.")),
        ("Increase", 47, ("Requested retention period (47 hours) for stream clicks can not be shorter than existing "
         "retention period (48 hours). Use DecreaseRetentionPeriod API.")),
        ("Decrease", 49, ("Requested retention period (49 hours) for stream clicks can not be longer than existing "
         "retention period (48 hours). Use IncreaseRetentionPeriod API.")),
        ("Decrease", 0, ("Minimum allowed retention period is 24 hours. Requested retention period (0 hours) is too "
         "short.")),
    ],
)  # fmt: skip
def test_retention_stays_within_a_year_and_in_its_direction(call, stream, refusal, operation, hours, message):
    call("IncreaseStreamRetentionPeriod", StreamName=stream, RetentionPeriodHours=48)

    assert refusal(f"{operation}StreamRetentionPeriod", StreamName=stream, RetentionPeriodHours=hours) == (
        "InvalidArgumentException",
        message,
    )


def test_mode_changes_twice_a_day_and_keeps_the_shards(world, call, stream, summary, refusal):
    for mode in (ON_DEMAND, PROVISIONED):
        call("UpdateStreamMode", StreamARN=ARN, StreamModeDetails=mode)
        assert (summary()["StreamModeDetails"], summary()["OpenShardCount"]) == (mode, 2)

    assert refusal("UpdateStreamMode", StreamARN=ARN, StreamModeDetails=ON_DEMAND)[0] == "LimitExceededException"
    world.advance(hours=24)
    call("UpdateStreamMode", StreamARN=ARN, StreamModeDetails=ON_DEMAND)


def test_encryption_is_shown_and_goes(call, stream, summary, refusal):
    key = {"StreamName": stream, "EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    call("StartStreamEncryption", **key)
    assert (summary()["EncryptionType"], summary()["KeyId"]) == ("KMS", "alias/aws/kinesis")

    call("StopStreamEncryption", **key)
    assert (summary()["EncryptionType"], "KeyId" in summary()) == ("NONE", False)
    assert refusal("StartStreamEncryption", **key | {"EncryptionType": "NONE"})[0] == "InvalidArgumentException"


def test_enhanced_monitoring_tells_before_and_after(call, stream):
    on = call("EnableEnhancedMonitoring", StreamName=stream, ShardLevelMetrics=["ALL"])
    off = call("DisableEnhancedMonitoring", StreamName=stream, ShardLevelMetrics=["IncomingBytes", "OutgoingBytes"])

    assert (on["CurrentShardLevelMetrics"], len(on["DesiredShardLevelMetrics"])) == ([], 7)
    assert off["DesiredShardLevelMetrics"] == [
        "IncomingRecords", "OutgoingRecords", "WriteProvisionedThroughputExceeded",
        "ReadProvisionedThroughputExceeded", "IteratorAgeMilliseconds",
    ]  # fmt: skip


def test_record_size_and_strategy_are_shown(call, stream, summary):
    call("UpdateMaxRecordSize", StreamARN=ARN, MaxRecordSizeInKiB=2_048)
    call("UpdateStreamMode", StreamARN=ARN, StreamModeDetails=ON_DEMAND)
    call("UpdateStreamRecordDistributionStrategy", StreamARN=ARN, RecordDistributionStrategy="AUTO")

    assert (summary()["MaxRecordSizeInKiB"], summary()["RecordDistributionStrategy"]) == (2_048, "AUTO")


def test_warm_throughput_needs_a_stream_on_demand_and_a_commitment(call, stream, summary, refusal):
    asked = {"StreamName": stream, "WarmThroughputMiBps": 100}
    assert refusal("UpdateStreamWarmThroughput", **asked)[0] == "InvalidArgumentException"
    call("UpdateStreamMode", StreamARN=ARN, StreamModeDetails=ON_DEMAND)
    assert refusal("UpdateStreamWarmThroughput", **asked)[0] == "ValidationException"

    call("UpdateAccountSettings", MinimumThroughputBillingCommitment={"Status": "ENABLED"})
    answer = call("UpdateStreamWarmThroughput", **asked)

    assert answer["WarmThroughput"] == {"TargetMiBps": 100, "CurrentMiBps": 100} == summary()["WarmThroughput"]


def test_commitment_lasts_for_a_day_at_least(world, call):
    def status(wanted: str) -> str:
        answer = call("UpdateAccountSettings", MinimumThroughputBillingCommitment={"Status": wanted})
        return str(answer["MinimumThroughputBillingCommitment"]["Status"])

    assert call("DescribeAccountSettings") == {"MinimumThroughputBillingCommitment": {"Status": "DISABLED"}}
    assert status("ENABLED") == "ENABLED"
    assert status("DISABLED") == "ENABLED_UNTIL_EARLIEST_ALLOWED_END"
    assert status("ENABLED") == "ENABLED"
    assert status("DISABLED") == "ENABLED_UNTIL_EARLIEST_ALLOWED_END"
    world.advance(hours=24)
    assert call("DescribeAccountSettings")["MinimumThroughputBillingCommitment"]["Status"] == "DISABLED"

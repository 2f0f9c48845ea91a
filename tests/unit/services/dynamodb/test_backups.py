"""Backups on demand and point-in-time recovery: copies of tables, and new tables made of them."""

from __future__ import annotations

import pytest

from tests.unit.services.dynamodb.conftest import key

DAY_MS = 86_400_000


@pytest.fixture
def backup(call, orders):
    """Make a backup of the orders; returns its ARN."""

    def backup(name="nightly"):
        return call("CreateBackup", TableName=orders, BackupName=name)["BackupDetails"]["BackupArn"]

    return backup


@pytest.fixture
def numbers(call):
    """The order numbers that a table has."""
    return lambda table: sorted(int(item["order_no"]["N"]) for item in call("Scan", TableName=table)["Items"])


def test_backup_is_made_of_the_items_as_they_are(call, put, backup, numbers):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html"""
    put("ann", 1)
    put("ann", 2)
    arn = backup()
    put("ann", 3)
    call("DeleteItem", TableName="orders", Key=key("ann", 1))

    restored = call("RestoreTableFromBackup", TargetTableName="again", BackupArn=arn)["TableDescription"]

    assert restored["TableStatus"] == "CREATING"
    assert restored["RestoreSummary"]["SourceBackupArn"] == arn
    assert restored["RestoreSummary"]["RestoreInProgress"] is True
    assert (numbers("again"), numbers("orders")) == ([1, 2], [2, 3])
    assert call("DescribeTable", TableName="again")["Table"]["KeySchema"] == restored["KeySchema"]


def test_backup_outlives_its_table_and_items_that_expire(world, call, put, backup, numbers):
    """Time to live is not restored, and nothing in a backup expires.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CreateBackup.html
    """
    spec = {"AttributeName": "until", "Enabled": True}
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=spec)
    put("ann", 1, until={"N": str(world.now // 1000 + 60)})
    arn = backup()
    call("DeleteTable", TableName="orders")
    world.advance(days=2)

    call("RestoreTableFromBackup", TargetTableName="orders", BackupArn=arn)
    world.advance(days=2)

    assert numbers("orders") == [1]
    shown = call("DescribeTimeToLive", TableName="orders")["TimeToLiveDescription"]
    assert shown["TimeToLiveStatus"] == "DISABLED"


def test_backup_is_described_with_the_table_as_it_was(world, call, put, backup):
    put("ann", 1)
    arn = backup()
    put("ann", 2)

    described = call("DescribeBackup", BackupArn=arn)["BackupDescription"]

    assert arn.startswith("arn:aws:dynamodb:us-east-1:000000000000:table/orders/backup/")
    assert described["BackupDetails"] == {
        "BackupArn": arn, "BackupName": "nightly", "BackupStatus": "AVAILABLE", "BackupType": "USER",
        "BackupSizeBytes": described["SourceTableDetails"]["TableSizeBytes"], "BackupCreationDateTime": world.now,
    }  # fmt: skip
    assert described["SourceTableDetails"]["ItemCount"] == 1
    assert described["SourceTableDetails"]["BillingMode"] == "PAY_PER_REQUEST"


def test_deleted_backup_is_gone_with_its_items(call, put, backup, refusal, world):
    put("ann", 1)
    arn = backup()

    deleted = call("DeleteBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]

    assert deleted["BackupStatus"] == "DELETED"
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert refusal(operation, BackupArn=arn) == ("BackupNotFoundException", f"Backup not found: {arn}")
    assert world.store.connection.execute("SELECT count(*) FROM items").fetchone()[0] == 1


def test_backups_are_listed_by_table_and_time(world, call, backup):
    arns = []
    for name in ("one", "two", "three"):
        arns.append(backup(name))
        world.advance(minutes=1)

    def listed(**params: object) -> tuple[list[str], str | None]:
        answer = call("ListBackups", **params)
        return [each["BackupName"] for each in answer["BackupSummaries"]], answer.get("LastEvaluatedBackupArn")

    assert listed() == (["one", "two", "three"], None)
    assert listed(Limit=2) == (["one", "two"], arns[1])
    assert listed(ExclusiveStartBackupArn=arns[1]) == (["three"], None)
    assert listed(TableName="nothing") == ([], None)
    assert listed(BackupType="SYSTEM") == ([], None)
    assert listed(TimeRangeLowerBound=world.now - 120_000) == (["two", "three"], None)
    assert listed(TimeRangeUpperBound=world.now - 60_000) == (["one", "two"], None)


def test_restored_table_may_have_other_settings(call, backup, refusal):
    arn = backup()
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}

    call("RestoreTableFromBackup", TargetTableName="again", BackupArn=arn, BillingModeOverride="PROVISIONED",
         ProvisionedThroughputOverride=units, GlobalSecondaryIndexOverride=[])  # fmt: skip

    shown = call("DescribeTable", TableName="again")["Table"]["ProvisionedThroughput"]
    assert {name: shown[name] for name in units} == units
    assert refusal("RestoreTableFromBackup", TargetTableName="again", BackupArn=arn) == (
        "TableAlreadyExistsException", "Table already exists: again",
    )  # fmt: skip


def test_backup_of_a_missing_table_is_refused(refusal):
    assert refusal("CreateBackup", TableName="nothing", BackupName="one") == (
        "TableNotFoundException", "Table not found: nothing",
    )  # fmt: skip


def test_recovery_is_described(world, call, orders, refusal):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html"""
    off = call("DescribeContinuousBackups", TableName=orders)["ContinuousBackupsDescription"]
    enabled_at = world.now
    spec = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 2}
    call("UpdateContinuousBackups", TableName=orders, PointInTimeRecoverySpecification=spec)
    first = call("DescribeContinuousBackups", TableName=orders)["ContinuousBackupsDescription"]
    world.advance(days=5)
    later = call("DescribeContinuousBackups", TableName=orders)["ContinuousBackupsDescription"]

    assert off == {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }
    assert first["PointInTimeRecoveryDescription"] == {
        "PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 2, "EarliestRestorableDateTime": enabled_at,
        "LatestRestorableDateTime": enabled_at,
    }  # fmt: skip
    assert later["PointInTimeRecoveryDescription"]["EarliestRestorableDateTime"] == world.now - 2 * DAY_MS
    assert refusal("DescribeContinuousBackups", TableName="nothing")[0] == "TableNotFoundException"


def test_table_is_recovered_as_it_was_at_an_instant(world, call, orders, put, numbers, refusal):
    put("ann", 1)
    params = {"SourceTableName": orders, "TargetTableName": "again"}
    off = refusal("RestoreTableToPointInTime", **params, UseLatestRestorableTime=True)
    spec = {"PointInTimeRecoveryEnabled": True}
    call("UpdateContinuousBackups", TableName=orders, PointInTimeRecoverySpecification=spec)
    enabled_at = world.now
    world.advance(hours=1)
    put("ann", 2)

    before = refusal("RestoreTableToPointInTime", **params, RestoreDateTime=enabled_at - DAY_MS)
    later = refusal("RestoreTableToPointInTime", **params, RestoreDateTime=world.now + 1)
    call("RestoreTableToPointInTime", **params, RestoreDateTime=world.now - 1)
    call("RestoreTableToPointInTime", **{**params, "TargetTableName": "third"}, UseLatestRestorableTime=True)

    assert off[0] == "PointInTimeRecoveryUnavailableException"
    assert before[0] == later[0] == "InvalidRestoreTimeException"
    assert (numbers("again"), numbers("third")) == ([1], [1, 2])


def test_settings_end_with_their_table(call, orders):
    spec = {"PointInTimeRecoveryEnabled": True}
    call("UpdateContinuousBackups", TableName=orders, PointInTimeRecoverySpecification=spec)
    call("UpdateContributorInsights", TableName=orders, ContributorInsightsAction="ENABLE", IndexName="someindex")
    description = call("DescribeTable", TableName=orders)["Table"]
    call("DeleteTable", TableName=orders)
    call(
        "CreateTable", TableName=orders, KeySchema=description["KeySchema"], BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=description["AttributeDefinitions"],
    )  # fmt: skip

    shown = call("DescribeContinuousBackups", TableName=orders)["ContinuousBackupsDescription"]
    assert shown["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert call("ListContributorInsights") == {"ContributorInsightsSummaries": []}


def test_list_of_insights_has_at_least_one_result(refusal, orders):
    assert refusal("ListContributorInsights", MaxResults=0)[0] == "ValidationException"


def test_insights_are_kept_and_shown(world, call, orders):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html"""
    at_first = call("DescribeContributorInsights", TableName=orders)
    update = call("UpdateContributorInsights", TableName=orders, ContributorInsightsAction="ENABLE",
                  ContributorInsightsMode="THROTTLED_KEYS")  # fmt: skip
    shown = call("DescribeContributorInsights", TableName=orders)
    call("UpdateContributorInsights", TableName=orders, ContributorInsightsAction="DISABLE")

    assert at_first == {"TableName": orders, "ContributorInsightsStatus": "DISABLED"}
    assert update["ContributorInsightsStatus"] == "ENABLING"
    assert (shown["ContributorInsightsStatus"], shown["LastUpdateDateTime"]) == ("ENABLED", world.now)
    assert len(shown["ContributorInsightsRuleList"]) == 2
    assert call("ListContributorInsights", TableName=orders)["ContributorInsightsSummaries"] == [
        {"TableName": orders, "ContributorInsightsStatus": "DISABLED", "ContributorInsightsMode": "THROTTLED_KEYS"}
    ]


def test_there_are_no_global_tables_of_2017(call):
    assert call("ListGlobalTables") == {"GlobalTables": []}


def test_deleted_table_with_recovery_leaves_a_backup_for_35_days(world, call, orders, put):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/pointintimerecovery_beforeyoubegin.html"""
    recovery = {"PointInTimeRecoveryEnabled": True}
    ttl = {"Enabled": True, "AttributeName": "until"}
    put("ann", 1, until={"N": str(world.now // 1_000 + 600)})
    call("UpdateTimeToLive", TableName=orders, TimeToLiveSpecification=ttl)
    call("UpdateContinuousBackups", TableName=orders, PointInTimeRecoverySpecification=recovery)
    call("DeleteTable", TableName=orders)
    world.advance(days=34)

    (backup,) = call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    call("RestoreTableFromBackup", TargetTableName="again", BackupArn=backup["BackupArn"])
    world.advance(days=2)

    assert (backup["BackupName"], backup["BackupType"]) == ("orders$DeletedTableBackup", "SYSTEM")
    assert backup["BackupExpiryDateTime"] == backup["BackupCreationDateTime"] + 35 * 86_400_000
    assert call("Scan", TableName="again")["Count"] == 1
    assert call("ListBackups")["BackupSummaries"] == []
    assert world.store.run(lambda tx: tx.items.totals(backup["TableId"])) == (0, 0)


def test_restored_table_shows_what_it_was_restored_from(call, orders):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreSummary.html"""
    arn = call("CreateBackup", TableName=orders, BackupName="mine")["BackupDetails"]["BackupArn"]
    call("RestoreTableFromBackup", TargetTableName="again", BackupArn=arn)

    summary = call("DescribeTable", TableName="again")["Table"]["RestoreSummary"]

    assert (summary["SourceBackupArn"], summary["RestoreInProgress"]) == (arn, False)
    assert summary["SourceTableArn"].endswith(":table/orders")
    assert "RestoreSummary" not in call("DescribeTable", TableName=orders)["Table"]


def test_deleted_table_without_recovery_leaves_no_backup(call, orders):
    call("DeleteTable", TableName=orders)

    assert call("ListBackups")["BackupSummaries"] == []

"""Quotas and defaults of DynamoDB."""

from __future__ import annotations

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
TABLE_NAME_LENGTH_MIN = 3
TABLE_NAME_LENGTH_MAX = 255

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html
LIST_TABLES_MAX = 100

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
KEY_ELEMENTS_MAX = 2

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
ACCOUNT_CAPACITY_UNITS_MAX = 80_000
TABLE_CAPACITY_UNITS_MAX = 40_000

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
TAGS_MAX = 50

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
GLOBAL_INDEXES_MAX = 20
LOCAL_INDEXES_MAX = 5
INCLUDED_ATTRIBUTES_MAX = 100

# A global index's hash key, and its range key, consist of up to four attributes each. Source:
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html
INDEX_KEY_ATTRIBUTES_MAX = 4

# The unit in which sizes of item collections are shown.
GIGABYTE = 1_073_741_824

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
ITEM_COLLECTION_BYTES_MAX = 10 * GIGABYTE

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
PAGE_BYTES_MAX = 1_048_576

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
BATCH_WRITES_MAX = 25

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
BATCH_GETS_MAX = 100
BATCH_GET_BYTES_MAX = 16 * 1_048_576

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
TRANSACTION_BYTES_MAX = 4 * 1_048_576
TRANSACTION_TOKEN_MS = 10 * MINUTE_MS
TRANSACTION_UNITS_FACTOR = 2

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
READ_UNIT_BYTES = 4_096
WRITE_UNIT_BYTES = 1_024

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
EXPIRY_AGE_MS_MAX = 5 * 365 * DAY_MS

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
TIME_TO_LIVE_CHANGE_INTERVAL_MS = HOUR_MS

# These limits are ours; docs/semantics/dynamodb.md gives the reasons.
EXPIRY_DELAY_MS = MINUTE_MS
EXPIRED_ITEMS_PER_STEP_MAX = 500
ITEMS_FILLED_AT_ONCE_MAX = 200
EXPIRY_S_MAX = 253_402_300_799  # The last second of the year 9999.
THROUGHPUT_UNITS_MAX = 1_000_000_000_000
ENDPOINT_CACHE_MINUTES = 1_440

# The initial throughput of an on-demand table, and the throughput of one partition. Sources:
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html and
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
WARM_READ_UNITS = 12_000
WARM_WRITE_UNITS = 4_000
PARTITION_READ_UNITS = 3_000
PARTITION_WRITE_UNITS = 1_000

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PointInTimeRecoverySpecification.html
RECOVERY_PERIOD_DAYS = 35

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBackups.html
LIST_BACKUPS_MAX = 100

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html
LIST_TRANSFERS_MAX = 25

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExportTableToPointInTime.html
TRANSFER_TOKEN_MS = 8 * HOUR_MS

# Ours: how much of an export or an import one transaction does.
EXPORT_ITEMS_PER_FILE = 10_000
EXPORT_BYTES_PER_FILE = 4 * 1024 * 1024
IMPORT_ITEMS_PER_STEP = 2_000

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BackupDetails.html
SYSTEM_BACKUP_MS = 35 * DAY_MS
LIST_INSIGHTS_MAX = 100

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContributorInsights.html
INSIGHTS_MODES = ("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS")

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutResourcePolicy.html
POLICY_BYTES_MAX = 20 * 1_024

# Streams. Sources: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html and the operations'
# pages at https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB_Streams.html
STREAM_RETENTION_MS = DAY_MS
ITERATOR_MS = 15 * MINUTE_MS
LIST_STREAMS_MAX = 100
DESCRIBE_SHARDS_MAX = 100
GET_RECORDS_MAX = 1_000
GET_RECORDS_BYTES_MAX = 1_048_576

# These limits are ours; docs/semantics/dynamodb-streams.md gives the reasons.
SHARD_MS = 4 * HOUR_MS
STREAM_PARTITIONS_MAX = 4
CLOSING_MS = MINUTE_MS

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
BURST_MS = 300 * SECOND_MS

# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
REPLICA_SOURCE_MS = DAY_MS

METRICS_NAMESPACE = "AWS/DynamoDB"

# Records that a Kinesis destination has throttled. Source:
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/kds_using-shards-and-metrics.html
UNSENT_MS = DAY_MS
# How long to wait between two attempts is ours; only the age ends them.
UNSENT_WAIT_MS_MAX = MINUTE_MS
UNSENT_RETRIES_MAX = 1_000_000

# Up to this many items are counted at each DescribeTable; the number of more items is remembered. Ours, where AWS
# updates its counts every six hours: counting a million items takes about a second.
TOTALS_FRESH_ITEMS_MAX = 100_000
TOTALS_AGE_MS_MAX = 5 * MINUTE_MS

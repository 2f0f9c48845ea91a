"""Quotas and defaults of SQS, each with its unit in the name and its AWS page beside it."""

from __future__ import annotations

from redrive.core.clock import HOUR_MS, MINUTE_MS

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MESSAGE_BYTES_MIN = 1_024
MESSAGE_BYTES_MAX = 1_048_576
BATCH_BYTES_MAX = 1_048_576
BATCH_ENTRIES_MAX = 10
BATCH_ID_LENGTH_MAX = 80
DELAY_S_MAX = 900
VISIBILITY_TIMEOUT_S_DEFAULT = 30
VISIBILITY_TIMEOUT_S_MAX = 43_200
RETENTION_S_DEFAULT = 345_600
RETENTION_S_MIN = 60
RETENTION_S_MAX = 1_209_600
MESSAGE_ATTRIBUTES_MAX = 10

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html
ATTRIBUTE_NAME_LENGTH_MAX = 256
ATTRIBUTE_TYPE_LENGTH_MAX = 256

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
RECEIVE_MESSAGES_MAX = 10
WAIT_S_MAX = 20
RECEIVE_REPLAY_MS = 5 * MINUTE_MS

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
MESSAGE_ID_LENGTH_MAX = 128
DEDUPLICATION_MS = 5 * MINUTE_MS

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
IN_FLIGHT_MAX = 120_000
QUEUE_NAME_LENGTH_MAX = 80
TAG_KEY_LENGTH_MAX = 128
TAG_VALUE_LENGTH_MAX = 256

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
RECEIVE_COUNT_MAX_DEFAULT = 10
RECEIVE_COUNT_MAX_MAX = 1_000
REDRIVE_SOURCES_MAX = 10
KMS_KEY_REUSE_S_DEFAULT = 300
KMS_KEY_REUSE_S_MIN = 60
KMS_KEY_REUSE_S_MAX = 86_400

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ListQueues.html
LIST_RESULTS_MAX = 1_000

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_PurgeQueue.html
PURGE_INTERVAL_MS = MINUTE_MS

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html
LABEL_LENGTH_MAX = 80

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html
STATEMENT_ACTIONS_MAX = 7
POLICY_STATEMENTS_MAX = 20
POLICY_BYTES_MAX = 8_192
POLICY_PRINCIPALS_MAX = 50
POLICY_CONDITIONS_MAX = 10

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html
TASK_RATE_MAX = 500
TASKS_LISTED_MAX = 10

# Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html
TASK_MS_MAX = 36 * HOUR_MS
ACTIVE_TASKS_MAX = 100

# These limits are ours; docs/semantics/sqs.md gives the reasons.
REDRIVE_ROUNDS_MAX = 100
OVER_LIMIT_RETRY_MS = 1_000
FAIR_IN_FLIGHT_COUNTED_MAX = 1_000
FAIR_GROUPS_MAX = 500
NOISY_IN_FLIGHT_MIN = 10
NOISY_SHARE = 0.1
MOVED_PER_STEP_MAX = 100
MOVE_INTERVAL_MS = 100
TASKS_PER_CLAIM_MAX = 10

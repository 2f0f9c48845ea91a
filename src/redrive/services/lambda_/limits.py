"""Quotas and defaults of Lambda, each with AWS's page."""

from __future__ import annotations

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS

# Functions. Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
FUNCTION_NAME_CHARS_MAX = 64
TIMEOUT_S_DEFAULT = 3
TIMEOUT_S_MAX = 900
MEMORY_MB_DEFAULT = 128
MEMORY_MB_MAX = 10_240
EPHEMERAL_MB_DEFAULT = 512
EPHEMERAL_MB_MAX = 10_240
ENVIRONMENT_BYTES_MAX = 4 * 1024
ZIP_BYTES_MAX = 50 * 1024 * 1024
UNZIPPED_BYTES_MAX = 262_144_000
POLICY_BYTES_MAX = 20_480
LAYERS_MAX = 5
PASSAGE_MS = 200  # Ours: how long a function is Pending, or its update InProgress. AWS takes a second or more.
TAGS_MAX = 50  # https://docs.aws.amazon.com/lambda/latest/dg/configuration-tags.html

# Only the runtime sets variables with these names.
RESERVED_VARIABLES = frozenset(
    {
        "_HANDLER", "_X_AMZN_TRACE_ID", "AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY",
        "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT",
    }
)  # fmt: skip

# Runtimes. Source: https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html
RUNTIMES = (
    "nodejs26.x", "nodejs24.x", "nodejs22.x", "nodejs20.x", "nodejs18.x", "nodejs16.x", "python3.15", "python3.14",
    "python3.13", "python3.12", "python3.11", "python3.10", "python3.9", "python3.8", "provided.al2023",
    "provided.al2", "java25", "java21", "java17", "java11", "java8.al2", "java17.al2023", "java11.al2023",
    "java8.al2023", "dotnet10", "dotnet8", "dotnet6", "ruby4.0", "ruby3.4", "ruby3.3", "ruby3.2",
)  # fmt: skip
RUNTIMES_SERVED = ("python", "nodejs", "provided")
RUNTIMES_RETIRED = frozenset(
    {
        "nodejs", "nodejs4.3", "nodejs6.10", "nodejs8.10", "nodejs10.x", "nodejs12.x", "nodejs14.x", "python2.7",
        "python3.6", "python3.7", "java8", "dotnetcore1.0", "dotnetcore2.0", "dotnetcore2.1", "dotnetcore3.1", "go1.x",
        "ruby2.5", "ruby2.7", "provided",
    }
)  # fmt: skip

# Concurrency. Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
CONCURRENCY_MAX = 1_000
CONCURRENCY_UNRESERVED_MIN = 100

# Code signing. Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-codesigning.html
SIGNING_ID_CHARS = 17

URL_ID_CHARS = 32  # https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html

# Recursive loops. Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
RECURSIVE_RUNS_MAX = 16
LINEAGE_FUNCTIONS_MAX = 16  # Ours: how many functions of a chain a trace header names.

# Payloads. Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
SYNC_PAYLOAD_BYTES_MAX = 6_291_456
EVENT_PAYLOAD_BYTES_MAX = 1_048_576
INVOKE_ASYNC_BYTES_MAX = 262_144  # https://docs.aws.amazon.com/lambda/latest/api/API_InvokeAsync.html
LOG_TAIL_BYTES = 4 * 1024  # https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html

# Asynchronous events. Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
EVENT_RETRIES_MAX = 2
EVENT_AGE_S_MAX = 21_600
ERROR_WAITS_MS = (1 * MINUTE_MS, 2 * MINUTE_MS)
THROTTLE_WAIT_FIRST_MS = 1 * SECOND_MS
THROTTLE_WAIT_MAX_MS = 5 * MINUTE_MS
ERROR_MESSAGE_BYTES_MAX = 1_024  # https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
RUN_MARGIN_MS = 1 * MINUTE_MS  # Ours: the extra time for starting a process, after which its node is considered dead.
EVENT_LEASE_MS = TIMEOUT_S_MAX * SECOND_MS + RUN_MARGIN_MS

# Pages of lists. Source: https://docs.aws.amazon.com/lambda/latest/api/API_ListFunctions.html
PAGE_ITEMS_MAX = 50
MAPPING_PAGE_ITEMS_MAX = 100  # https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html

# Mappings from SQS. Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
BATCH_SIZE_DEFAULT = 10
BATCH_SIZE_WITHOUT_WINDOW_MAX = 10
MAPPING_CONCURRENCY = 5  # At the start: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
MAPPING_CONCURRENCY_MIN = 2
MAPPING_CONCURRENCY_MAX = 1_250
MAPPING_GROWTH_PER_MINUTE = 300
BATCHES_PER_POLLER = 10  # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html#sqs-provisioned-mode
POLLER_GROWTH_PER_MINUTE = 1_000
POLLERS_MIN = 2  # https://docs.aws.amazon.com/lambda/latest/api/API_ProvisionedPollerConfig.html
POLLERS_MAX_DEFAULT = 200
WINDOW_VISIBILITY_MARGIN_S = 30
RECEIVE_MESSAGES_MAX = (
    10  # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
)
PROBLEM_PAUSE_MS = 1 * MINUTE_MS  # Ours: the pause before the next poll, if a queue refused a poll.
HELD_FIRST_MS = (
    1 * SECOND_MS
)  # Ours: until a throttled batch is tried again; twice as long each time. AWS names no curve.
HELD_MAX_MS = 1 * MINUTE_MS
HELD_BATCHES_PER_CLAIM_MAX = 100
EMPTY_POLL_PAUSE_MS = 1 * SECOND_MS  # Ours: the pause before a queue that was due but returned nothing is polled again.
EXPIRED_BATCHES_PER_CLAIM_MAX = 100
MAPPINGS_PER_CLAIM_MAX = 200  # Ours: how many mappings one transaction processes.

# Mappings from streams. Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-parameters.html
STREAM_BATCH_SIZE_DEFAULT = 100
RECORD_AGE_S_MIN = 60
STREAM_BACKOFF_FIRST_MS = (
    250  # Ours: AWS publishes no curve. Eight attempts fit into a minute, as AWS was seen to make.
)
STREAM_BACKOFF_MAX_MS = 1 * MINUTE_MS
WINDOW_STATE_BYTES_MAX = 1024 * 1024  # https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-windows.html
WINDOW_WAIT_MS = 2 * MINUTE_MS  # For more records of a window that is over: as above.
SHARD_RECORDS_PER_LOOK_MAX = 10_000  # Ours: how many records of a shard one look reads, if filters leave few of them.

# Filters. Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
FILTERS_MAX = 5

# PutLogEvents. Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
LOG_EVENTS_PER_PUT_MAX = 10_000
LOG_BYTES_PER_PUT_MAX = 1_048_576
LOG_EVENT_OVERHEAD_BYTES = 26
LOG_EVENT_BYTES_MAX = 256 * 1024 - LOG_EVENT_OVERHEAD_BYTES
LOG_SPAN_MS_MAX = 24 * HOUR_MS

# Source: https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCodeLocation.html
CODE_URL_MS = 10 * 60_000

# GetAccountSettings. Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
CODE_BYTES_IN_ALL_MAX = 75 * 1024**3

# Ours: how long a trace header may be that reaches a function. X-Ray's have less than 200 characters.
TRACE_HEADER_CHARACTERS_MAX = 1_024

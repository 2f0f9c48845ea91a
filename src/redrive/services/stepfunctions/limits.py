"""Quotas and defaults of Step Functions.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
"""

from __future__ import annotations

from redrive.core.clock import DAY_MS, MINUTE_MS, SECOND_MS

MACHINES_MAX = 100_000
ACTIVITIES_MAX = 100_000
VERSIONS_MAX = 1_000
ALIASES_MAX = 100
TAGS_MAX = 50
NAME_CHARACTERS_MAX = 80

PAYLOAD_BYTES_MAX = 262_144
"""The size of an input, a result and an output, as UTF-8."""
EVENTS_MAX = 25_000
REDRIVABLE_EVENTS_MAX = 24_999
"""An execution with as many events cannot be redriven."""
EXECUTION_MS_MAX = 365 * DAY_MS
EXPRESS_MS_MAX = 5 * MINUTE_MS
SYNC_MARGIN_MS = 10 * SECOND_MS
"""How long after the longest duration of an execution StartSyncExecution waits for its end."""
BILLED_STEP_MS = 100
BILLED_MEMORY_MB = 64
TASK_TIMEOUT_S_DEFAULT = 99_999_999

CLOSED_KEPT_MS = 90 * DAY_MS
"""How long executions and their names are kept after their end."""
REDRIVABLE_MS = 14 * DAY_MS
"""How long after its end an execution can be redriven."""
REDRIVE_TOKENS_KEPT = 10
REDRIVE_TOKEN_MS = 15 * MINUTE_MS
REDRIVES_LAUNCHED_AT = 1_700_006_400_000
"""2023-11-15: executions that were started earlier cannot be redriven."""
MAP_RUN_REDRIVES_MAX = 1_000

PAGE_DEFAULT = 100
POLL_MS = 60 * SECOND_MS
"""How long GetActivityTask waits for a task."""

TRANSITIONS_PER_STEP = 200
"""How many transitions of one execution share a transaction. The next transaction goes on with the execution."""
EXECUTIONS_PER_CLAIM = 50
"""How many executions one claim goes on with."""
CHILDREN_PER_CLAIM = 100
"""How many children of a map run one claim starts."""
READ_BYTES_MAX = 64 * 1024 * 1024
"""How large a file of items may be here; AWS reads up to 10 GB."""

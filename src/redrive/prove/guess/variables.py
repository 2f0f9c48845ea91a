"""Values for environment variables that a handler reads and nobody has set, by their names."""

from __future__ import annotations

import re

ACCOUNT = "000000000000"
REGION = "us-east-1"
BUCKET = "sample-bucket"
_DESTINATION = re.compile("TARGET|DEST|OUTPUT|RESULT|PROCESSED|CONVERTED|TRANSFORMED|RESIZED|THUMB|ARCHIVE|BACKUP")

_OF_AWS = re.compile(
    r"AWS_((ACCESS_KEY_ID|SECRET_ACCESS_KEY|(DEFAULT_)?(PROFILE|REGION|OUTPUT)|ACCOUNT_ID|ACCOUNT_ID_ENDPOINT_MODE"
    r"|CA_BUNDLE|CONFIG_FILE|SHARED_CREDENTIALS_FILE|CREDENTIAL_(FILE|EXPIRATION)|DATA_PATH|DEFAULTS_MODE"
    r"|EXECUTION_ENV|MAX_ATTEMPTS|RETRY_MODE|NODEJS_CONNECTION_REUSE_ENABLED|PAGER|SIGNATURE_EXPIRATION)$"
    r"|(SESSION|SECURITY|BEARER|WEB_IDENTITY)_TOKEN|ENDPOINT_URL|IGNORE_CONFIGURED_|ROLE_(ARN|SESSION_NAME)$|CONTAINER_"
    r"|EC2_METADATA_|METADATA_SERVICE_|LAMBDA_|XRAY_|STS_REGIONAL_|USE_(DUALSTACK|FIPS)_|S3_(US_EAST_1|DISABLE|USE)_"
    r"|SDK_|CLI_|REQUEST_|RESPONSE_|DISABLE_|SIGV4A_|CSM_|IMDS)"
)
"""Variables of AWS's clients and of Lambda. Sources:
https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html and
https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
"""

_RULES: tuple[tuple[str, str], ...] = (
    (r"TOPIC", f"arn:aws:sns:{REGION}:{ACCOUNT}:sample-topic"),
    (r"STATE_?MACHINE|SFN.*ARN|STEP_?FUNCTION", f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:sample-machine"),
    (r"QUEUE.*ARN", f"arn:aws:sqs:{REGION}:{ACCOUNT}:sample-queue"),
    (r"QUEUE.*NAME", "sample-queue"),
    (r"QUEUE|SQS", f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/sample-queue"),
    (r"TABLE.*ARN", f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/sample-table"),
    (r"TABLE|DYNAMO", "sample-table"),
    (r"BUCKET", BUCKET),
    (r"FUNCTION.*ARN|LAMBDA.*ARN", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:sample-function"),
    (r"EVENT_?BUS|BUS_?NAME", "default"),
    (r"ROLE.*ARN|ROLE$", f"arn:aws:iam::{ACCOUNT}:role/sample-role"),
    (r"SECRET.*ARN", f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:sample-secret-AbCdEf"),
    (r"ARN$", f"arn:aws:sample:{REGION}:{ACCOUNT}:sample"),
    (r"REGION", REGION),
    (r"ACCOUNT", ACCOUNT),
    (r"LOG_?LEVEL", "INFO"),
    (r"EMAIL|SENDER|RECIPIENT|MAIL", "someone@example.com"),
    (r"URL|ENDPOINT|WEBHOOK", "https://example.com/sample"),
    (r"TTL|TIMEOUT|SECONDS|MINUTES|HOURS|DAYS|MAX|MIN|LIMIT|COUNT|SIZE|PORT|THRESHOLD|RETR|INTERVAL|NUMBER", "10"),
    (r"ENABLED?|DRY_?RUN|DEBUG|FLAG|^IS_|^USE_", "false"),
)
"""The first pattern that is found in a name decides."""


def guessed_value(name: str) -> str:
    """A value for a variable: `ORDERS_TABLE` names a table, `ALERT_TOPIC_ARN` a topic."""
    for pattern, value in _RULES:
        if re.search(pattern, name.upper()):
            return value
    return f"sample-{name.lower().replace('_', '-')}"


def is_of_aws(name: str) -> bool:
    """Whether a variable is one that AWS's clients or Lambda read: a user's own may begin with AWS_ as well."""
    return _OF_AWS.match(name) is not None


def of_destination(name: str, value: str) -> str:
    """The value, or for a bucket that results are written to, one of its own: a copy onto itself is refused."""
    found = _DESTINATION.search(name.upper())
    return f"sample-{found[0].lower()}-bucket" if found and value == BUCKET else value

"""Members' names as keyword arguments."""

from __future__ import annotations

import keyword

import pytest

from redrive.wire.model.files import Models
from redrive.wire.model.names import snake_case
from redrive.wire.services import SERVICES


@pytest.mark.parametrize(
    ("member", "argument"),
    [
        ("Id", "id"),
        ("QueueUrl", "queue_url"),
        ("MaximumBatchingWindowInSeconds", "maximum_batching_window_in_seconds"),
        ("KMSKeyArn", "kms_key_arn"),
        ("SSESpecification", "sse_specification"),
        ("QueueOwnerAWSAccountId", "queue_owner_aws_account_id"),
        ("AWSAccountIds", "aws_account_ids"),
        ("NotificationARNs", "notification_arns"),
        ("RoleARN", "role_arn"),
        ("S3Bucket", "s3_bucket"),
        ("UUID", "uuid"),
        ("logGroupName", "log_group_name"),
        ("from", "from_"),
    ],
)
def test_a_member_becomes_the_argument_a_reader_expects(member: str, argument: str) -> None:
    """A run of capitals is one word, and a word of Python gets an underscore."""
    assert snake_case(member) == argument


@pytest.mark.parametrize("service", [spec.name for spec in SERVICES])
def test_no_two_members_of_an_input_share_an_argument(models: Models, service: str) -> None:
    """The spelling is injective within each operation, and always a usable name."""
    for operation in models.service(service).operations.values():
        members = list(operation.input.members) if operation.input is not None else []

        arguments = {snake_case(member) for member in members}

        assert (operation.name, len(arguments)) == (operation.name, len(members))
        assert all(argument.isidentifier() and not keyword.iskeyword(argument) for argument in arguments)

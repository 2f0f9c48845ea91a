"""`redrive fault add`: what is refused before a server is asked."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from redrive.cli.main import main

QUEUE = "arn:aws:sqs:*:*:orders"


@pytest.mark.parametrize(
    ("given", "next_step"),
    [
        ("--error Throttling", "redrive fault add --target 'arn:aws:sqs:*:*:orders' --error Throttling --times 3"),
        ("--latency 90s", "redrive fault add --target 'arn:aws:sqs:*:*:orders' --latency 90s --times 3"),
        (
            "--error Throttling --times 1 --rate 0.5",
            "redrive fault add --target 'arn:aws:sqs:*:*:orders' --error Throttling --times 3",
        ),
        (
            "--times 1",
            "redrive fault add --target 'arn:aws:sqs:*:*:orders' --error ThrottlingException --times 3",
        ),
        ("--s3-reorder 10s", "redrive fault add --target 'arn:aws:sqs:*:*:orders' --s3-reorder 10s --times 3"),
        (
            "--s3-duplicate 0s --s3-delay 5s --rate 1",
            "redrive fault add --target 'arn:aws:sqs:*:*:orders' --s3-duplicate 0s --times 3",
        ),
        (
            "--s3-delay 5s --latency 5s --rate 1",
            "redrive fault add --target 'arn:aws:sqs:*:*:orders' --s3-delay 5s --times 3",
        ),
    ],
)
def test_fault_without_effect_or_bound_names_the_command_to_give(given: str, next_step: str) -> None:
    outcome = CliRunner().invoke(main, ["fault", "add", "--target", QUEUE, *shlex.split(given)])

    assert next_step in outcome.stderr.replace("\n", " ")
    assert outcome.exit_code == 2


def test_help_says_how_universal_targets_are_struck() -> None:
    told = CliRunner().invoke(main, ["fault", "add", "--help"]).output

    assert "arn:aws:scheduler:::aws-sdk:sqs:sendMessage" in told

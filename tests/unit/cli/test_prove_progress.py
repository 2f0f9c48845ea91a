"""What a proof tells while it runs."""

from __future__ import annotations

from redrive.cli.prove_progress import progress_told_by


def test_progress_names_resources_by_their_logical_ids() -> None:
    lines: list[str] = []
    tell = progress_told_by(lines.append, 0)

    tell(1, 1, 3, "crash-after dynamodb:PutItem stack-OrdersTable-VV4HZ7QK2M1CD")
    tell(2, 1_240, 3, "lost sqs:SendMessage orders")

    assert [line.partition("/s · ")[2] for line in lines] == [
        "crash-after dynamodb:PutItem OrdersTable …",
        "lost sqs:SendMessage orders …",
    ]

"""Celery on SQS: tasks that are retried, and tasks that wait.

    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python celery_tasks.py

Sends three tasks, and starts a worker that works them off: one succeeds at once, one only at its third try, one is not
to start for two seconds. Celery keeps a task in its queue, invisible, until the task is acknowledged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from celery import Celery

ENDPOINT_URL = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
DONE = Path(os.environ.setdefault("DONE_FILE", str(Path(tempfile.mkdtemp()) / "done.jsonl")))
"""Where tasks write what they have done: worker and script are two processes."""
TASKS, DEADLINE_S = 3, 60

app = Celery("celery_tasks", broker="sqs://")
app.conf.update(
    broker_transport_options={
        "region": os.environ.get("AWS_DEFAULT_REGION", "us-east-1"),
        "endpoint_url": ENDPOINT_URL,
        "is_secure": ENDPOINT_URL.startswith("https"),
        "polling_interval": 0.1,
        "wait_time_seconds": 1,
    },
    task_default_queue=os.environ.get("QUEUE", "celery-tasks"),
    task_acks_late=True,
    worker_enable_remote_control=False,
)


@app.task(name="charge", bind=True, max_retries=5, default_retry_delay=0.1)
def charge(task: Any, order: str, failures: int = 0) -> None:
    """Charge an order; the first `failures` tries fail."""
    if task.request.retries < failures:
        raise task.retry(exc=ConnectionError("the bank does not answer"))
    with DONE.open("a") as file:
        file.write(json.dumps({"order": order, "tries": task.request.retries + 1}) + "\n")


def main() -> None:
    """Send the tasks, have a worker work them off, and print what was done."""
    charge.delay("at-once")
    charge.delay("at-the-third-try", failures=2)
    charge.apply_async(["in-two-seconds"], countdown=2)
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "celery_tasks",
        "worker",
        "--pool",
        "solo",
        "--loglevel",
        "WARNING",
    ]
    worker = subprocess.Popen([*command, "--without-gossip", "--without-mingle"], cwd=Path(__file__).parent)
    try:
        deadline = time.monotonic() + DEADLINE_S
        while len(done()) < TASKS and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        worker.terminate()
        worker.wait()
    for line in sorted(done(), key=lambda line: line["order"]):
        print(f"{line['order']}: done at try {line['tries']}")
    if len(done()) < TASKS:
        sys.exit(f"{TASKS - len(done())} tasks were not done within {DEADLINE_S} s")


def done() -> list[dict[str, Any]]:
    """What tasks have done so far."""
    return [json.loads(line) for line in DONE.read_text().splitlines()] if DONE.exists() else []


if __name__ == "__main__":
    main()

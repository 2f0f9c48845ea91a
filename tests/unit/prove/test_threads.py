"""Threads and coroutines of a handler run one after another; those that cannot are named, and nobody is accused."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import itertools
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from redrive.core.errors import UserError
from redrive.handler.effects import effect
from redrive.handler.idempotency import idempotent
from redrive.handler.ledgers.dynamodb import DynamoDBLedger
from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover

ORDER = ('{"id": "o-1"}',)


def order_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["id"])


def put(key: str) -> None:
    boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": key}})


def in_a_pool(event: Any, context: Any) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in as_completed([pool.submit(put, order_of(event) + part) for part in "abc"]):
            future.result()


def in_threads(event: Any, context: Any) -> None:
    done: list[str] = []

    def work(key: str) -> None:
        with contextlib.suppress(ClientError, BotoCoreError):
            put(key)
            done.append(key)

    threads = [threading.Thread(target=work, args=(order_of(event) + part,)) for part in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(done) < len(threads):
        raise RuntimeError("not all were written")


def in_coroutines(event: Any, context: Any) -> None:
    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(put, order_of(event) + part) for part in "abc"))

    asyncio.run(main())


@pytest.mark.parametrize("handler", [in_a_pool, in_threads, in_coroutines])
def test_concurrent_writes_under_keys_are_no_counterexample(proved: Prover, handler: Any) -> None:
    first, second = (proved(handler, bodies=ORDER, faults=2) for _ in range(2))

    assert first.effects == {"item in reports": 3}
    assert first.counterexample is None
    assert first.as_json() == second.as_json()


def test_effect_in_a_thread_is_seen_and_its_repetition_found(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        with ThreadPoolExecutor(2) as pool:
            send = boto3.client("sqs").send_message
            url = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"
            pool.submit(send, QueueUrl=url, MessageBody="done").result()

    verdict = proved(handler, bodies=ORDER)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE


def test_coroutine_that_sleeps_lets_virtual_time_pass(proved: Prover) -> None:
    waited: list[float] = []

    async def wait(order: str) -> None:
        before = time.time()
        await asyncio.sleep(20)
        waited.append(time.time() - before)
        put(order)

    proved(lambda event, _: asyncio.run(wait(order_of(event))), bodies=ORDER, faults=0)

    assert set(waited) == {20.0}


def test_coroutine_that_sleeps_past_the_timeout_is_ended(proved: Prover) -> None:
    with pytest.raises(UserError, match="timed out"):
        proved(lambda *_: asyncio.run(asyncio.sleep(31)), bodies=ORDER)


def test_event_that_nobody_sets_is_waited_for_in_virtual_time(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        threading.Event().wait(20)
        put(order_of(event))

    assert proved(handler, bodies=ORDER).counterexample is None


def test_handler_whose_threads_wait_for_each_other_is_refused(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        ready = threading.Event()
        with ThreadPoolExecutor(2) as pool:
            pool.submit(ready.wait)
            ready.set()
        put(order_of(event))

    with pytest.raises(UserError, match="come in no order of their own"):
        proved(handler, bodies=ORDER)


def test_run_that_has_died_waits_for_nothing_on_its_way_out(proved: Prover) -> None:
    """As a transfer of boto3 does, whose parts would have ended the wait."""

    def handler(event: Any, context: Any) -> None:
        try:
            put(order_of(event))
        except Exception:
            raise
        except BaseException:
            threading.Event().wait()
            raise

    assert proved(handler, bodies=ORDER).counterexample is None


def test_call_of_a_thread_that_goes_on_by_itself_is_refused(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        thread = threading.Thread(target=put, args=(order_of(event),), daemon=True)
        thread.start()
        thread.join()

    with pytest.raises(UserError, match="a thread that goes on by itself calls dynamodb PutItem on reports"):
        proved(handler, bodies=ORDER)


def test_effect_of_a_coroutine_that_is_refused_does_not_happen(proved: Prover) -> None:
    log: list[str] = []

    @effect("charge", key_memory=None)
    async def charge(key: str, order: str) -> None:
        log.append("charged")

    def handler(event: Any, context: Any) -> None:
        ledger = DynamoDBLedger("executions", client=boto3.client("dynamodb"))

        @idempotent(key=lambda order: order, ledger=ledger)
        async def run(order: str) -> None:
            log.append("begun")
            try:
                await charge(order)
            except ConnectionError as error:
                log.append(str(error))
                raise

        asyncio.run(run(order_of(event)))

    proved(handler, bodies=ORDER, faults=1)

    refused = [before for before, entry in itertools.pairwise(log) if entry.endswith("does not answer")]
    assert set(refused) == {"begun"}


def by_a_library(event: Any, context: Any) -> None:
    done = threading.Event()

    def work() -> None:
        threading.Event().wait(0.05)
        done.set()

    _thread.start_new_thread(work, ())
    done.wait()
    put(order_of(event))


def test_thread_that_a_library_starts_by_itself_is_waited_for(proved: Prover) -> None:
    assert proved(by_a_library, bodies=ORDER, faults=1).counterexample is None

"""The operations on map runs."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.pages import encode_token
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.stepfunctions.limits import PAGE_DEFAULT
from redrive.services.stepfunctions.map_runs import MAP_RUN_TIMER, scope_of, the_map_run
from redrive.services.stepfunctions.model.arns import EXECUTION, MAP_RUN, read_arn
from redrive.services.stepfunctions.model.map_run import MapRun, listed_map_run, shown_map_run
from redrive.services.stepfunctions.model.requests import invalid, no_resource, read_page
from redrive.services.stepfunctions.operations.executions import the_row
from redrive.store.api import Transaction


@operation("DescribeMapRun")
def describe_map_run(tx: Transaction, caller: Caller, *, map_run_arn: str) -> Document:
    """Show a map run with the counts of its executions and items.

    Errors: InvalidArn; ResourceNotFound.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeMapRun.html
    """
    return shown_map_run(_the_run(tx, caller, map_run_arn, "states:DescribeMapRun"))


@operation("ListMapRuns")
def list_map_runs(
    tx: Transaction, caller: Caller, *, execution_arn: str, max_results: int | None = None,
    next_token: str | None = None,
) -> Document:  # fmt: skip
    """List the map runs of an execution.

    Errors: InvalidArn; ExecutionDoesNotExist; InvalidToken.
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListMapRuns.html
    """
    tx.services.authorize(tx, caller, "states:ListMapRuns", execution_arn)
    the_row(tx, execution_arn)
    arn = read_arn(execution_arn, EXECUTION)
    after, limit = read_page(next_token, "ListMapRuns", execution_arn), max_results or PAGE_DEFAULT
    prefix = f"arn:aws:states:{arn.scope.region}:{arn.scope.account}:{MAP_RUN}:{arn.name}/"
    found = [one for one in tx.resources.list(MapRun, arn.scope, prefix=prefix) if one.execution == execution_arn]
    found = [one for one in found if one.name > after]
    answer: Document = {"mapRuns": [listed_map_run(one) for one in found[:limit]]}
    if len(found) > limit:
        answer["nextToken"] = encode_token(found[limit - 1].name, "ListMapRuns", execution_arn)
    return answer


@operation("UpdateMapRun")
def update_map_run(
    tx: Transaction, caller: Caller, *, map_run_arn: str, max_concurrency: int | None = None,
    tolerated_failure_percentage: float | None = None, tolerated_failure_count: int | None = None,
) -> Document:  # fmt: skip
    """Change how many children of a map run may run at once, and how many items may fail.

    Errors: InvalidArn; ResourceNotFound; ValidationException (the run has ended).
    Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_UpdateMapRun.html
    """
    run = _the_run(tx, caller, map_run_arn, "states:UpdateMapRun")
    if run.stopped_at is not None:
        raise invalid("A map run that has ended cannot be updated.", "CANNOT_UPDATE_COMPLETED_MAP_RUN")
    changed = replace(
        run,
        concurrency=run.concurrency if max_concurrency is None else max_concurrency or run.concurrency,
        tolerated_count=run.tolerated_count if tolerated_failure_count is None else tolerated_failure_count,
        tolerated_percentage=(
            run.tolerated_percentage if tolerated_failure_percentage is None else tolerated_failure_percentage
        ),
    )
    tx.resources.put(scope_of(run.name), changed)
    tx.timers.set(MAP_RUN_TIMER, run.name, tx.now)
    tx.notify("due")
    return {}


def _the_run(tx: Transaction, caller: Caller, text: str, action: str) -> MapRun:
    read_arn(text, MAP_RUN)
    tx.services.authorize(tx, caller, action, text)
    run = the_map_run(tx, text)
    if run is None:
        raise no_resource(text)
    return run

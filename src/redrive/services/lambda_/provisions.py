"""Which environments provisioned concurrency keeps ready, and when that changes.

Source: https://docs.aws.amazon.com/lambda/latest/dg/provisioned-concurrency.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redrive.core.scope import Scope
from redrive.delivery.outside.invocation import PROVISIONS, Provision
from redrive.services.lambda_.model.function import function_invocation
from redrive.services.lambda_.model.provisioned import ProvisionedConcurrency
from redrive.services.lambda_.versions import find_alias, find_version
from redrive.store.api import Transaction


def tell_of_change(tx: Transaction) -> None:
    """Tell those who keep environments ready to look again."""
    tx.notify(PROVISIONS)


def provisions(tx: Transaction) -> Sequence[Provision]:
    """Return the environments that are to be kept ready, of all accounts."""
    return [one for scope, config in tx.resources.everywhere(ProvisionedConcurrency) for one in _of(tx, scope, config)]


def _of(tx: Transaction, scope: Scope, config: ProvisionedConcurrency) -> Iterator[Provision]:
    """The environments of one configuration. Those of an alias with weights are shared among its versions."""
    name = config.name.partition(":")[0]
    alias = find_alias(tx, scope, name, config.qualifier)
    weights = {} if alias is None else alias.weights
    shares = {version: round(config.requested * weight) for version, weight in weights.items()}
    primary = config.qualifier if alias is None else alias.version
    shares[primary] = config.requested - sum(shares.values())
    for version, share in shares.items():
        function = find_version(tx, scope, name, version)
        if function is not None and share > 0:
            function_arn = f"{config.function_arn}:{config.qualifier}"
            yield Provision(function_invocation(function, "", b"", function_arn=function_arn), share)

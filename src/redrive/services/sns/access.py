"""Who may do what with a topic, in the words of SNS."""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.iam import Context, resource_tags
from redrive.services.sns.model.requests import no_such_topic
from redrive.services.sns.model.topic import Topic, read_arn, topic_arn
from redrive.store.api import NO_CONTEXT, Transaction

_UNLOCKING = frozenset({"sns:GetTopicAttributes", "sns:SetTopicAttributes", "sns:DeleteTopic"})
"""What a topic's own account may always do, so that a policy cannot lock the account out."""


_OWNED = frozenset({"cloudwatch.amazonaws.com"})
"""The services whose requests say the account that they act for: alarms may publish by a topic's first policy."""


def authorize(
    tx: Transaction, caller: Caller, action: str, resource: str, *, context: Context = NO_CONTEXT, policy: str = ""
) -> None:
    """Refuse a forbidden action. Errors: AuthorizationErrorException.

    A topic's first policy lets those do most things whose account, `AWS:SourceOwner`, is the topic's.
    """
    says_owner = not caller.service or caller.service in _OWNED
    owner = {"aws:SourceOwner": (caller.account,)} if says_owner else {}
    try:
        tx.services.authorize(tx, caller, action, resource, context={**owner, **context}, policy=policy)
    except ServiceError as error:
        if error.code != "AccessDeniedException":
            raise
        raise ServiceError("AuthorizationErrorException", error.message) from None


def existing_topic(
    tx: Transaction, caller: Caller, arn: str, action: str, *, parameter: str = "TopicArn",
    context: Context = NO_CONTEXT,
) -> Topic:  # fmt: skip
    """The topic with an ARN, if the caller may do `action` with it.

    Errors: InvalidParameterException; AuthorizationErrorException; NotFoundException.
    """
    scope, name = read_arn(arn, parameter, caller.region)
    topic = tx.resources.get(Topic, scope, name)
    if topic is None:
        authorize(tx, caller, action, topic_arn(scope, name), context=context)
        raise no_such_topic()
    if topic.tags:
        context = {**resource_tags(topic.tags), **context}
    # What the first policy allows to the account itself, the account may do anyway.
    is_open = caller.is_account and caller.account == scope.account and (not topic.policy or action in _UNLOCKING)
    authorize(tx, caller, action, topic.arn, context=context, policy="" if is_open else topic.shown_policy)
    return topic

"""Delivery policies: which tries follow on a failed one, and when.

AWS publishes the phases and their numbers, and no formula of a curve. The curves here begin at the minimum, end at the
maximum, and have the shape that their name says. Waits have no random part, so that virtual time shows the phases.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.retry import Backoff, RetryPolicy
from redrive.services.sns import limits
from redrive.services.sns.model.requests import invalid

DEFAULT_HEALTHY: Mapping[str, object] = MappingProxyType(
    {
        "minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3, "numMaxDelayRetries": 0, "numNoDelayRetries": 0,
        "numMinDelayRetries": 0, "backoffFunction": "linear",
    }
)  # fmt: skip
DEFAULT_REQUEST: Mapping[str, object] = MappingProxyType({"headerContentType": "text/plain; charset=UTF-8"})

_RATE = "maxReceivesPerSecond"
_COUNTS = ("numRetries", "numMaxDelayRetries", "numNoDelayRetries", "numMinDelayRetries")
_SHAPES: Mapping[str, Callable[[float, float, int, int], float]] = MappingProxyType(
    {
        # From low to high in `last` steps, at the step with this number.
        "linear": lambda low, high, number, last: low + (high - low) * number / last,
        "arithmetic": lambda low, high, number, last: low + (high - low) * number * (number + 1) / (last * (last + 1)),
        "geometric": lambda low, high, number, last: low * (high / low) ** (number / last),
        "exponential": lambda low, high, number, last: low + (high - low) * (2**number - 1) / (2**last - 1),
    }
)


def curve_ms(low_s: float, high_s: float, count: int, shape: str) -> tuple[int, ...]:
    """`count` waits from `low_s` to `high_s`. Geometric, 1 s to 20 s in 10 waits: 1 s, 1.395 s, 1.946 s … 20 s."""
    if count == 1:
        return (round(low_s * SECOND_MS),)
    form = _SHAPES[shape]
    return tuple(round(form(low_s, high_s, number, count - 1) * SECOND_MS) for number in range(count))


def _inside() -> RetryPolicy:
    """Queues and functions: 3 tries without a delay, 2 at 1 s, 10 from 1 s to 20 s, and 100,000 at 20 s.

    The first try is one of the three.
    """
    steps = (0, 0, SECOND_MS, SECOND_MS, *curve_ms(1, 20, 10, "geometric"), 20 * SECOND_MS)
    return RetryPolicy(limits.INSIDE_TRIES_MAX - 1, limits.RETRY_AGE_MS_MAX, Backoff(jitter=0.0, steps_ms=steps))


def _customers() -> RetryPolicy:
    """E-mail, text messages and push: 2 tries at 10 s, 10 from 10 s to 600 s, and 38 at 600 s."""
    steps = (10 * SECOND_MS, 10 * SECOND_MS, *curve_ms(10, 600, 10, "geometric"), 600 * SECOND_MS)
    return RetryPolicy(limits.CUSTOMER_TRIES_MAX, limits.RETRY_AGE_MS_MAX, Backoff(jitter=0.0, steps_ms=steps))


INSIDE_POLICY = _inside()
CUSTOMER_POLICY = _customers()


@functools.lru_cache(maxsize=1_024)
def http_policy(topic_policy: str, subscription_policy: str) -> RetryPolicy:
    """The retries of an HTTP endpoint, from the policies of its topic and of its subscription; texts may be empty."""
    healthy = effective(topic_policy, subscription_policy)["healthyRetryPolicy"]
    low, high = float(healthy["minDelayTarget"]), float(healthy["maxDelayTarget"])
    retries, without, at_low, at_high = (
        int(healthy[name]) for name in ("numRetries", "numNoDelayRetries", "numMinDelayRetries", "numMaxDelayRetries")
    )
    between = retries - without - at_low - at_high
    curve = curve_ms(low, high, between, str(healthy["backoffFunction"])) if between else ()
    steps = (0,) * without + (round(low * SECOND_MS),) * at_low + curve + (round(high * SECOND_MS),) * at_high
    return RetryPolicy(retries, limits.RETRY_AGE_MS_MAX, Backoff(jitter=0.0, steps_ms=steps or (0,)))


def effective(topic_policy: str, subscription_policy: str) -> Document:
    """The policy that applies to an HTTP subscription, with all defaults."""
    topic = (load_json(topic_policy) if topic_policy else {}).get("http") or {}
    own = load_json(subscription_policy) if subscription_policy else {}
    if topic.get("disableSubscriptionOverrides"):
        own = {}
    healthy = own.get("healthyRetryPolicy") or topic.get("defaultHealthyRetryPolicy") or {}
    shown: Document = {"healthyRetryPolicy": {**DEFAULT_HEALTHY, **healthy}}
    throttle = own.get("throttlePolicy") or topic.get("defaultThrottlePolicy")
    if throttle:
        shown["throttlePolicy"] = throttle
    shown["sicklyRetryPolicy"] = None
    shown["requestPolicy"] = {
        **DEFAULT_REQUEST, **(topic.get("defaultRequestPolicy") or {}), **(own.get("requestPolicy") or {})
    }  # fmt: skip
    shown["guaranteed"] = False
    return shown


def receives_per_s(shown: Document) -> int:
    """How many messages an endpoint with this effective policy gets in a second; 0: no limit."""
    return int((shown.get("throttlePolicy") or {}).get(_RATE) or 0)


def effective_topic_policy(text: str) -> str:
    """The EffectiveDeliveryPolicy of a topic."""
    given = (load_json(text) if text else {}).get("http") or {}
    http = {
        "defaultHealthyRetryPolicy": {**DEFAULT_HEALTHY, **(given.get("defaultHealthyRetryPolicy") or {})},
        "disableSubscriptionOverrides": bool(given.get("disableSubscriptionOverrides", False)),
        "defaultRequestPolicy": {**DEFAULT_REQUEST, **(given.get("defaultRequestPolicy") or {})},
    }
    if given.get("defaultThrottlePolicy"):
        http["defaultThrottlePolicy"] = given["defaultThrottlePolicy"]
    return dump_json({"http": http})


def check_topic_policy(text: str, where: str) -> None:
    """Refuse a text that is no delivery policy of a topic. Errors: InvalidParameterException."""
    http = _object(_object(text, where).get("http", {}), where)
    if "defaultHealthyRetryPolicy" in http:
        _check_healthy(_object(http["defaultHealthyRetryPolicy"], where), where)
    if http.get("defaultThrottlePolicy") is not None:
        _check_throttle(_object(http["defaultThrottlePolicy"], where), where)


def check_subscription_policy(text: str, where: str) -> None:
    """Refuse a text that is no delivery policy of a subscription. Errors: InvalidParameterException."""
    policy = _object(text, where)
    if policy.get("healthyRetryPolicy") is not None:
        _check_healthy(_object(policy["healthyRetryPolicy"], where), where)
    if policy.get("throttlePolicy") is not None:
        _check_throttle(_object(policy["throttlePolicy"], where), where)
    if policy.get("requestPolicy") is not None:
        _object(policy["requestPolicy"], where)


def _object(value: object, where: str) -> Document:
    if isinstance(value, str):
        try:
            value = load_json(value)
        except ValueError as error:
            raise invalid(f"{where}: failed to parse JSON. {error}") from None
    if not isinstance(value, dict):
        raise invalid(f"{where}: it is not a JSON object")
    return value


def _check_throttle(throttle: Document, where: str) -> None:
    value = throttle.get(_RATE)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise invalid(f"{where}: throttlePolicy.{_RATE} must be a whole number of at least 1")


def _check_healthy(healthy: Document, where: str) -> None:
    unknown = healthy.keys() - DEFAULT_HEALTHY.keys()
    if unknown:
        raise invalid(f"{where}: healthyRetryPolicy.{min(unknown)} is unknown")
    given: Document = {**DEFAULT_HEALTHY, **healthy}
    low, high = given["minDelayTarget"], given["maxDelayTarget"]
    for name in ("minDelayTarget", "maxDelayTarget", *_COUNTS):
        value = given[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise invalid(f"{where}: healthyRetryPolicy.{name} must be a whole number that is not negative")
    if not 1 <= low <= high <= limits.DELAY_S_MAX:
        raise invalid(f"{where}: delays must be between 1 and {limits.DELAY_S_MAX}, and the minimum below the maximum")
    if given["numRetries"] > limits.RETRIES_MAX:
        raise invalid(f"{where}: healthyRetryPolicy.numRetries must be between 0 and {limits.RETRIES_MAX}")
    if sum(given[name] for name in _COUNTS[1:]) > given["numRetries"]:
        raise invalid(f"{where}: healthyRetryPolicy.numRetries must be at least the sum of the retries of all phases")
    if given["backoffFunction"] not in _SHAPES:
        raise invalid(f"{where}: healthyRetryPolicy.backoffFunction must be one of {', '.join(sorted(_SHAPES))}")

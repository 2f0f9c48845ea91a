"""The events of an execution as sentences for people: subject, verb, object."""

from __future__ import annotations

from redrive.cli.surface import TimelineEvent

Event = TimelineEvent


def sentence(event: Event) -> str:
    """The event as a sentence in one line."""
    return _TOLD[event["event"]](event)


def _began(event: Event) -> str:
    match event["kind"]:
        case "scheduler":
            return f"{_name(event['source'])} fired for {_name(event['target'])}"
        case "batch":
            return f"{_name(event['target'])} began batch {event['delivery_id']} from {_name(event['source'])}"
        case _:
            followed = f", because of {event['cause']}" if event.get("cause") else ""
            return f"{_name(event['target'])} accepted event {event['delivery_id']}{followed}"


def _attempted(event: Event) -> str:
    if event["state"] == "missed":
        return f"{_name(event['source'])} did not fire: {event.get('why', '')}"
    who = f"batch {event['delivery_id']}" if event["kind"] == "batch" else f"attempt {event.get('attempt', 0)}"
    what = f"{who} {_verb(event)}"
    if event.get("log_stream"):
        what += f"; its lines are in log stream {event['log_stream']}"
    return what


def _verb(event: Event) -> str:
    failed = "failed" + (f" with {event['code']}" if event.get("code") else "")
    if event.get("message"):
        failed += f": {event['message']}"
    match event["state"]:
        case "delivered":
            done = f" with {event['why']}" if event.get("why") else ""
            return f"succeeded{done}{_sent(event)}"
        case "retrying":
            return f"{failed}; the next attempt is at {event['next']}"
        case "dead-lettered":
            return f"{failed}; dead letter {event.get('led_to', '')} went to {_name(event.get('arn', ''))}"
        case "dropped":
            return f"{failed}; the event was dropped: {event.get('why', '')}"
        case "returned":
            return f"ended: {event['why']}" if event.get("why") else f"{failed}; its messages went back"
        case _:
            return f"{failed}; nothing is tried any more"


def _sent(event: Event) -> str:
    """What an attempt has led to: a message, or an execution of a state machine."""
    led_to = event.get("led_to") or ""
    if ":execution:" in led_to:
        return f" and began execution {led_to.split(':', 6)[6].replace(':', '/')}"
    return f" and sent message {led_to}" if led_to else ""


def _received(event: Event) -> str:
    end = "and was done with it" if event["state"] == "delivered" else "and gave it back"
    return f"batch {event['delivery_id']} had message {event['led_to']} (receive {event['receive_count']}) {end}"


def _told(event: Event) -> str:
    if event.get("code"):
        return f"destination {_name(event['arn'])} was not told: {event['code']}: {event.get('message', '')}"
    return f"destination {_name(event['arn'])} was told by {event['led_to']}"


def _moved(event: Event) -> str:
    if event.get("plan"):
        return (
            f"dead letter {event['why']} was sent again from {_name(event['source'])} to {_name(event['target'])} "
            f"as {_as(event['led_to'])}, by {event['plan']}"
        )
    renamed = "" if event["why"] == event["led_to"] else f" as message {event['led_to']}"
    return (
        f"the {event['kind']} moved message {event['why']} from {_name(event['source'])} to {_name(event['target'])}"
        f"{renamed}"
    )


def _as(id: str) -> str:
    return _name(id) if id.startswith("arn:") else id


def _name(arn: str) -> str:
    """The service and the name in an ARN: `sqs orders`, `lambda work`, `schedule default/nightly`."""
    parts = arn.split(":")
    if len(parts) < 6:
        return arn
    if parts[2] == "lambda":
        return f"function {':'.join(parts[6:])}"
    if parts[2] == "sqs":
        return f"queue {parts[5]}"
    if parts[2] == "states" and len(parts) > 6:
        return f"{'execution' if parts[5] == 'execution' else 'state machine'} {'/'.join(parts[6:])}"
    return parts[5].replace("/", " ", 1) if parts[2] == "scheduler" else arn


_TOLD = {
    "began": _began, "received": _received, "attempted": _attempted, "told": _told, "moved": _moved,
}  # fmt: skip

"""`redrive deploy TEMPLATE`: what `sam deploy` and `aws cloudformation deploy` do, without S3 and their tools."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import click
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from redrive.cli.assets import bring_to
from redrive.cli.endpoint import ask, endpoint_option
from redrive.core.errors import UserError
from redrive.languages.template import TemplateError
from redrive.languages.template.places import keys_twice, line_of
from redrive.packaging.bundle import Bundler
from redrive.packaging.installer import cache_directory, interpreter_for
from redrive.packaging.samconfig import SamConfig, find_config, read_config
from redrive.packaging.template import packaged

CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
_RESOURCE_NAMED = re.compile(r"Resource with id \[(?P<id>\w+)\]")


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed first: a resource, or the stack itself before it came to any."""

    logical_id: str
    reason: str


@click.command()
@click.argument("template", type=click.Path(path_type=Path))
@click.option("--stack", help="The stack's name; otherwise samconfig.toml's, or that of the template's folder.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--role-arn", help="The role with whose rights the stack is made, now and later; otherwise yours.")
@click.option("--region", envvar="AWS_DEFAULT_REGION", help="The region; otherwise samconfig.toml's, or us-east-1.")
@click.option("--config-env", help="The environment in samconfig.toml whose settings are used.  [default: default]")
@click.option("--config-file", type=click.Path(path_type=Path), help="Another file than the project's samconfig.toml.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print the outputs.")
@endpoint_option
def command(
    template: Path, stack: str | None, parameters: tuple[str, ...], role_arn: str | None, region: str | None,
    config_env: str | None, config_file: Path | None, output: str, endpoint_url: str,
) -> None:  # fmt: skip
    """Deploy a SAM or CloudFormation template to a server, creating the stack or updating it.

    Local code that the template names is packed first: a directory with a requirements.txt gets what that asks for.
    Prints what happens to each resource, then the stack's outputs.
    """
    text = _read(template)
    for key, line in keys_twice(text):
        click.echo(f"{template}, line {line}: {key} stands twice; this one counts.", err=True)
    config = read_config(find_config(template, config_file), config_env)
    name = stack or config.stack_name or _folder(template).name
    given = {**config.parameters, **_pairs(parameters)}
    ask(endpoint_url, "health")
    body = _packaged(template, text, given, endpoint_url)
    client = _client(endpoint_url, region or config.region or "us-east-1")
    try:
        status = _deploy(client, name, _settings(name, body, given, config, role_arn))
    except (ClientError, BotoCoreError) as error:
        message = error.response["Error"]["Message"] if isinstance(error, ClientError) else str(error)
        raise UserError(f"{template} was not deployed: {message}{_place(template, text, message)}", exit_code=1) from (
            error
        )
    made = client.describe_stacks(StackName=name)["Stacks"][0]
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise _failed(client, made, template, text)
    print_stack(made, output)


def _client(endpoint_url: str, region: str) -> Any:
    session = boto3.session.Session(
        os.environ.get("AWS_ACCESS_KEY_ID", "test"), os.environ.get("AWS_SECRET_ACCESS_KEY", "test"),
        os.environ.get("AWS_SESSION_TOKEN"), region_name=region,
    )  # fmt: skip
    config = Config(retries={"total_max_attempts": 1})
    return session.client("cloudformation", endpoint_url=endpoint_url, config=config)


def _settings(
    name: str, body: str, parameters: Mapping[str, str], config: SamConfig, role_arn: str | None
) -> dict[str, object]:
    settings: dict[str, object] = {
        "StackName": name,
        "TemplateBody": body,
        "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        "Capabilities": CAPABILITIES,
    }
    role = role_arn or config.role_arn
    if role:
        settings["RoleARN"] = role
    if config.tags:
        settings["Tags"] = [{"Key": key, "Value": value} for key, value in config.tags.items()]
    return settings


def _packaged(template: Path, text: str, parameters: Mapping[str, str], endpoint_url: str) -> str:
    """The template with its local code brought to the server."""
    bundler = Bundler(cache_directory(dict(os.environ)), interpreter_for, lambda line: click.echo(line, err=True))
    directory = template.resolve().parent
    try:
        return packaged(
            text, directory, bundler, bring_to(endpoint_url), parameters=parameters,
            is_built=directory.name == "build" and directory.parent.name == ".aws-sam",
        )  # fmt: skip
    except TemplateError:
        return text  # The server says what is wrong with it, in CloudFormation's words.


def _folder(template: Path) -> Path:
    """The folder of the project: not that in which `sam build` leaves what it has built."""
    folder = template.resolve().parent
    return folder.parent.parent if folder.name == "build" and folder.parent.name == ".aws-sam" else folder


def _deploy(client: Any, name: str, settings: Mapping[str, object]) -> str:
    """Create or update the stack and follow it to its end; answers its status."""
    seen = {event["EventId"] for event in _events(client, name)}
    try:
        if seen:
            client.update_stack(**settings)
        else:
            client.create_stack(**settings)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            click.echo(f"The stack {name} is up to date.", err=True)
            return "UPDATE_COMPLETE"
        raise
    while True:
        # While a stack is under way, the server holds this answer until something changes.
        status: str = client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        for event in reversed(_events(client, name)):
            if event["EventId"] not in seen:
                seen.add(event["EventId"])
                reason = event.get("ResourceStatusReason", "")
                click.echo(f"{event['ResourceStatus']:<20} {event['LogicalResourceId']}  {reason}".rstrip(), err=True)
        if not status.endswith("_IN_PROGRESS"):
            return status


def _events(client: Any, name: str) -> list[Any]:
    """The stack's events, newest first; none if there is no such stack."""
    try:
        pages = client.get_paginator("describe_stack_events").paginate(StackName=name)
        return [event for page in pages for event in page["StackEvents"]]
    except ClientError:
        return []


def _failed(client: Any, stack: Any, template: Path, text: str) -> UserError:
    """What failed first, and why; then how the stack ended."""
    name, status = stack["StackName"], stack["StackStatus"]
    failure = first_failure(_events(client, name), name)
    if failure is None:
        what = f"The stack {name} ended as {status}."
    else:
        subject = "The template" if failure.logical_id == name else failure.logical_id
        place = _place(template, text, failure.reason, failure.logical_id)
        what = f"{subject} failed: {failure.reason}{place}\n  The stack {name} ended as {status}."
    is_gone = status in ("ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED")
    delete = f"Delete it before you deploy anew: aws cloudformation delete-stack --stack-name {name}"
    return UserError(what, next_step=delete if is_gone else "", exit_code=1)


def first_failure(events: list[Any], name: str) -> Failure | None:
    """What failed first in the operation that was last, from a stack's events, the newest first."""
    begun = ("CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS")
    last = []
    for event in events:
        last.append(event)
        if event["LogicalResourceId"] == name and event["ResourceStatus"] in begun:
            break
    for event in reversed(last):
        status, reason = event["ResourceStatus"], event.get("ResourceStatusReason", "")
        turned = event["LogicalResourceId"] == name and "ROLLBACK_IN_PROGRESS" in status
        if (status.endswith("_FAILED") or turned) and reason:
            return Failure(event["LogicalResourceId"], reason)
    return None


def _place(template: Path, text: str, message: str, logical_id: str = "") -> str:
    """The file and line of the resource that a message is about; empty if it is about none."""
    named = _RESOURCE_NAMED.search(message)
    line = line_of(text, "Resources", named["id"] if named else logical_id)
    return "" if line is None else f" ({template}, line {line})"


def _read(template: Path) -> str:
    try:
        return template.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The template {template} cannot be read: {error}.", exit_code=2) from error


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise UserError(f"--parameter {key!r} is not KEY=VALUE.", exit_code=2)
    return {key: value for key, _, value in pairs}


def print_stack(stack: Any, output: str) -> None:
    """Print a stack and its outputs: a table on a terminal, whole values in a pipe, or JSON."""
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    title = f"{stack['StackName']}: {stack['StackStatus']}"
    if output == "json":
        click.echo(
            json.dumps({"stack": stack["StackName"], "status": stack["StackStatus"], "outputs": outputs}, indent=2)
        )
        return
    console = Console()
    if not console.is_terminal:
        # A pipe has no width: each value stands whole on its line.
        width = max(map(len, outputs), default=0)
        click.echo("\n".join([title, *(f"{key:<{width}}  {value}" for key, value in outputs.items())]))
        return
    if not outputs:
        console.print(title)
        return
    table = Table(title=title, title_justify="left")
    table.add_column("output")
    table.add_column("value", overflow="fold")
    for key, value in outputs.items():
        table.add_row(key, value)
    console.print(table)

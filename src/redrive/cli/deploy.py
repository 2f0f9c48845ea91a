"""`redrive deploy`: deploys a SAM or CloudFormation template, or a synthesized CDK app, and follows it to its end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import click
from botocore.config import Config

from redrive.cli.assembly import is_assembly, read_files, read_stacks, upload_files
from redrive.cli.assets import bring_to, template_url
from redrive.cli.deployment import deploy_stack
from redrive.cli.endpoint import ask, endpoint_option
from redrive.core.errors import UserError
from redrive.core.leniency import OnUnknown
from redrive.invoke.keeping import cache_directory
from redrive.invoke.runtime.npm import Npm
from redrive.languages.template import TemplateError
from redrive.languages.template.places import keys_twice
from redrive.packaging.bundle import Bundler
from redrive.packaging.installer import interpreter_for
from redrive.packaging.samconfig import find_config, read_config
from redrive.packaging.template import TEMPLATE_BYTES_MAX, packaged

CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


@click.command()
@click.argument("template", type=click.Path(path_type=Path))
@click.option("--stack", help="The stack's name; otherwise samconfig.toml's, or that of the template's folder.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--role-arn", help="The role with whose rights the stack is made, now and later; otherwise yours.")
@click.option("--region", envvar="AWS_DEFAULT_REGION", help="The region; otherwise samconfig.toml's, or us-east-1.")
@click.option("--config-env", help="The environment in samconfig.toml whose settings are used.  [default: default]")
@click.option("--config-file", type=click.Path(path_type=Path), help="Another file than the project's samconfig.toml.")
@click.option(
    "--on-unknown", type=click.Choice([one.value for one in OnUnknown]),
    help="What becomes of what AWS has and redrive does not serve; otherwise the server's setting holds.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print the outputs.")
@endpoint_option
def command(
    template: Path, stack: str | None, parameters: tuple[str, ...], role_arn: str | None, region: str | None,
    config_env: str | None, config_file: Path | None, on_unknown: str | None, output: str, endpoint_url: str,
) -> None:  # fmt: skip
    """Deploy a SAM or CloudFormation template to a server, creating the stack or updating it.

    Local code that the template names is packed first: a directory with a requirements.txt gets what that asks for.
    TEMPLATE may be a cdk.out, too: all stacks of the app are deployed, or the one that --stack names, with their files.
    Prints what happens to each resource, then the stack's outputs.
    """
    config = read_config(find_config(template, config_file), config_env)
    ask(endpoint_url, "health")
    session = _session(region or config.region or "us-east-1")
    client = session.client(
        "cloudformation", endpoint_url=endpoint_url, config=Config(retries={"total_max_attempts": 1})
    )
    given = {**config.parameters, **_pairs(parameters)}
    role = role_arn or config.role_arn
    more: dict[str, Any] = {"Capabilities": CAPABILITIES} | ({"RoleARN": role} if role else {})
    tags = {} if on_unknown is None else {"redrive:on-unknown": on_unknown}
    if is_assembly(template):
        for each in _of_assembly(template, stack, session, endpoint_url):
            name, file, text, own_tags, settings = each
            chosen = settings | ({"Parameters": _parameters(given)} if given else {})
            deploy_stack(client, file, text, {"StackName": name} | chosen | more | _tagged(own_tags | tags), output)
        return
    text = _read(template)
    for key, line in keys_twice(text):
        click.echo(f"{template}, line {line}: {key} stands twice; this one counts.", err=True)
    name = stack or config.stack_name or _folder(template).name
    body = _packaged(template, text, given, endpoint_url)
    settings = {"StackName": name, "Parameters": _parameters(given)} | _given(body, "", endpoint_url)
    deploy_stack(client, template, text, settings | more | _tagged(dict(config.tags) | tags), output)


def _session(region: str) -> Any:
    return boto3.session.Session(
        os.environ.get("AWS_ACCESS_KEY_ID", "test"), os.environ.get("AWS_SECRET_ACCESS_KEY", "test"),
        os.environ.get("AWS_SESSION_TOKEN"), region_name=region,
    )  # fmt: skip


def _of_assembly(
    assembly: Path, only: str | None, session: Any, endpoint_url: str
) -> Iterator[tuple[str, Path, str, dict[str, str], dict[str, Any]]]:
    """The stacks of an app, after its files are uploaded: name, file and text of the template, tags, settings.

    Errors: UserError.
    """
    account = session.client("sts", endpoint_url=endpoint_url).get_caller_identity()["Account"]
    region = session.region_name
    stacks = read_stacks(assembly, account=account, region=region)
    chosen = [each for each in stacks if only in (None, each.name)]
    if not chosen:
        known = ", ".join(each.name for each in stacks)
        raise UserError(f"{assembly} has no stack {only}.", next_step=f"There is: {known}.", exit_code=2)
    count = upload_files(
        read_files(assembly, account=account, region=region), endpoint_url, account,
        Npm(("npm",), cache_directory(os.environ, Path.home()), _say),
    )  # fmt: skip
    click.echo(f"{count} files of {assembly} are uploaded.", err=True)
    for each in chosen:
        text = _read(each.template)
        settings = {"Parameters": _parameters(each.parameters)} | _given(text, each.template_url, endpoint_url)
        yield each.name, each.template, text, dict(each.tags), settings


def _given(body: str, url: str, endpoint_url: str) -> dict[str, Any]:
    """The request's parameter for a template: its text, or the URL of the uploaded template if it is long."""
    if len(body.encode()) <= TEMPLATE_BYTES_MAX:
        return {"TemplateBody": body}
    return {"TemplateURL": url or template_url(endpoint_url, body)}


def _tagged(tags: Mapping[str, str]) -> dict[str, Any]:
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]} if tags else {}


def _parameters(given: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()]


def _say(line: str) -> None:
    click.echo(line, err=True)


def _packaged(template: Path, text: str, parameters: Mapping[str, str], endpoint_url: str) -> str:
    """The template after its local code is uploaded to the server."""
    bundler = Bundler(cache_directory(os.environ, Path.home()), interpreter_for, _say)
    directory = template.resolve().parent
    try:
        return packaged(
            text, directory, bundler, bring_to(endpoint_url), parameters=parameters,
            is_built=directory.name == "build" and directory.parent.name == ".aws-sam",
        )  # fmt: skip
    except TemplateError:
        return text  # The server reports the error in CloudFormation's words.


def _folder(template: Path) -> Path:
    """The folder of the project, not the folder with the output of `sam build`."""
    folder = template.resolve().parent
    return folder.parent.parent if folder.name == "build" and folder.parent.name == ".aws-sam" else folder


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

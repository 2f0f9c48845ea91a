"""Where a project has its template."""

from __future__ import annotations

import json

from redrive.prove.project.finding import HandlerFile, find_handlers, find_templates, hint_for
from tests.unit.prove.project.conftest import Project

TEMPLATE = "AWSTemplateFormatVersion: '2010-09-09'\nResources: {}\n"
MANIFEST = json.dumps({"artifacts": {
    "Shop": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Shop.template.json"}},
    "Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}},
}})  # fmt: skip


def test_template_of_samconfig_comes_first(project: Project) -> None:
    directory = project({
        "samconfig.toml": '[default.build.parameters]\ntemplate_file = "infra/sam.yaml"\n', "infra/sam.yaml": TEMPLATE,
        "template.yaml": TEMPLATE,
    })  # fmt: skip

    assert find_templates(directory) == [directory / "infra" / "sam.yaml"]


def test_what_sam_has_built_is_not_taken(project: Project) -> None:
    directory = project({"template.yml": TEMPLATE, ".aws-sam/build/template.yaml": TEMPLATE})

    assert find_templates(directory) == [directory / "template.yml"]


def test_other_files_are_templates_by_what_they_say(project: Project) -> None:
    directory = project({"stack.yaml": TEMPLATE, "openapi.yaml": "openapi: 3.0.0\n", "packaged.yaml": TEMPLATE})

    assert find_templates(directory) == [directory / "stack.yaml"]


def test_stacks_of_the_cdk_are_those_of_its_manifest(project: Project) -> None:
    directory = project({
        "cdk.json": "{}", "cdk.out/manifest.json": MANIFEST, "cdk.out/Shop.template.json": "{}",
        "cdk.out/ShopInner.nested.template.json": "{}",
    })  # fmt: skip

    assert find_templates(directory) == [directory / "cdk.out" / "Shop.template.json"]


def test_plan_of_terraform_is_found_by_what_it_says(project: Project) -> None:
    directory = project({"plan.json": '{"planned_values": {}}', "floor-plan.json": "{}", "main.tf": ""})

    assert find_templates(directory) == [directory / "plan.json"]


def test_templates_of_several_services_are_found_below(project: Project) -> None:
    directory = project({
        "shop/template.yaml": TEMPLATE, "mail/template.yaml": TEMPLATE, "node_modules/x/template.yaml": TEMPLATE,
    })  # fmt: skip

    assert find_templates(directory) == [directory / "mail" / "template.yaml", directory / "shop" / "template.yaml"]


def test_handlers_are_functions_of_an_event_and_a_context(project: Project) -> None:
    named = ("def handler(event, context)", "def helper(a, b)", "async def other(event, _)", "def main(event)")
    code = "".join(f"{one}: ...\n" for one in named)
    directory = project({"src/app.py": code, "src/test_app.py": code, "venv/app.py": code})

    found = find_handlers(directory)

    assert found == [HandlerFile(directory / "src/app.py", "handler"), HandlerFile(directory / "src/app.py", "other")]


def test_hint_is_the_step_that_makes_a_template(project: Project) -> None:
    directory = project({"cdk.json": "{}"})

    assert "cdk synth" in hint_for(directory)

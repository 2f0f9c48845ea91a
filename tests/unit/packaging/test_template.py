"""Local code in templates: which is packed, for which runtime, and how the template names it afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redrive.core.errors import UserError
from redrive.packaging.bundle import Bundler
from redrive.packaging.template import packaged

SAM = "AWS::Serverless::Function"
PLACE = {"Bucket": "redrive-assets", "Key": "key1"}
PLAIN_PLACE = {"S3Bucket": "redrive-assets", "S3Key": "key1"}


class Recorder(Bundler):
    """Records what was to be bundled."""

    def __init__(self) -> None:
        super().__init__(Path(), lambda _: pytest.fail("nothing is installed"), lambda _: None)
        object.__setattr__(self, "asked", [])
        object.__setattr__(self, "built", [])

    def bundle(
        self, source: Path, runtime: str, *, below: str = "", is_built: bool = False, esbuild: Any = None
    ) -> bytes:
        self.built.append(esbuild)  # type: ignore[attr-defined]
        self.asked.append((source.name, runtime, below, is_built))  # type: ignore[attr-defined]
        return f"{source}".encode()


def package(resources: dict[str, Any], *, is_built: bool = False, **sections: Any) -> tuple[dict[str, Any], list[Any]]:
    """The resources afterwards, and what was bundled: (directory, runtime, folder below, whether it is built)."""
    recorder, keys = Recorder(), iter(f"key{number}" for number in range(1, 9))
    text = json.dumps({"Resources": resources, **sections})
    made = packaged(
        text, Path("/at"), recorder, lambda _: next(keys), parameters={"Given": "python3.13"}, is_built=is_built
    )
    return json.loads(made)["Resources"], recorder.asked  # type: ignore[attr-defined]


def function(kind: str = SAM, **properties: Any) -> dict[str, Any]:
    return {"F": {"Type": kind, "Properties": properties}}


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        (SAM, "CodeUri", PLACE),
        ("AWS::Lambda::Function", "Code", PLAIN_PLACE),
        ("AWS::Serverless::LayerVersion", "ContentUri", PLACE),
        ("AWS::Lambda::LayerVersion", "Content", PLAIN_PLACE),
    ],
)
def test_local_code_is_named_as_it_is_after_it_was_brought(kind: str, name: str, place: dict[str, str]) -> None:
    made, asked = package(function(kind, **{name: "src/"}))

    assert made["F"]["Properties"][name] == place
    assert [source for source, *_ in asked] == ["src"]


@pytest.mark.parametrize("source", ["s3://bucket/key", {"Bucket": "b", "Key": "k"}, {"Ref": "P"}])
def test_code_that_is_not_local_stays_as_it_is(source: Any) -> None:
    made, asked = package(function(CodeUri=source))

    assert (made["F"]["Properties"], asked) == ({"CodeUri": source}, [])


@pytest.mark.parametrize("properties", [{"InlineCode": "x"}, {"PackageType": "Image", "ImageUri": "i"}])
def test_function_with_inline_code_or_an_image_has_no_local_code(properties: dict[str, Any]) -> None:
    _, asked = package(function(**properties), Globals={"Function": {"Runtime": "python3.12"}})

    assert asked == []


def test_globals_say_where_code_lies_and_for_which_runtime() -> None:
    made, asked = package(function(), Globals={"Function": {"CodeUri": "all/", "Runtime": "python3.12"}})

    assert made["F"]["Properties"]["CodeUri"] == PLACE
    assert asked == [("all", "python3.12", "", False)]


def test_function_that_names_no_code_is_the_templates_directory() -> None:
    _, asked = package(function(Runtime="python3.12"))

    assert asked == [("at", "python3.12", "", False)]


@pytest.mark.parametrize(("name", "runtime"), [("Given", "python3.13"), ("Other", "python3.11"), ("None", "")])
def test_runtime_may_be_a_parameter(name: str, runtime: str) -> None:
    parameters = {"Given": {"Type": "String"}, "Other": {"Type": "String", "Default": "python3.11"}}

    _, asked = package(function(CodeUri="src", Runtime={"Ref": name}), Parameters=parameters)

    assert asked == [("src", runtime, "", False)]


def test_code_that_several_functions_share_is_brought_once() -> None:
    made, asked = package({name: function(CodeUri="src", Runtime="python3.12")["F"] for name in "AB"})

    assert made["A"] == made["B"]
    assert len(asked) == 1


def test_functions_in_loops_have_local_code_too() -> None:
    made, asked = package({"Fn::ForEach::L": ["N", ["a", "b"], {"F${N}": function(CodeUri="src")["F"]}]})

    assert made["Fn::ForEach::L"][2]["F${N}"]["Properties"]["CodeUri"] == PLACE
    assert len(asked) == 1


def test_layer_that_is_to_be_built_gets_dependencies_in_its_folder() -> None:
    layer = function("AWS::Serverless::LayerVersion", ContentUri="deps") | {}
    layer["F"]["Metadata"] = {"BuildMethod": "python3.12"}

    _, asked = package(layer)

    assert asked == [("deps", "python3.12", "python/", False)]


def test_what_sam_build_has_written_is_packed_as_it_is() -> None:
    _, asked = package(function(CodeUri="F", Runtime="python3.12"), is_built=True)

    assert asked == [("F", "python3.12", "", True)]


def test_layer_of_node_js_that_is_to_be_built_lies_in_its_folder() -> None:
    layer = function("AWS::Serverless::LayerVersion", ContentUri="deps")
    layer["F"]["Metadata"] = {"BuildMethod": "nodejs22.x"}

    _, asked = package(layer)

    assert asked == [("deps", "nodejs22.x", "nodejs/", False)]


def test_function_that_esbuild_builds_is_built_with_its_properties_once_for_each() -> None:
    template = {name: function(CodeUri="src", Runtime="nodejs22.x")["F"] for name in "ABC"}
    for name, entry in (("A", "a.ts"), ("B", "b.ts"), ("C", "a.ts")):
        template[name]["Metadata"] = {"BuildMethod": "esbuild", "BuildProperties": {"EntryPoints": [entry]}}
    recorder = Recorder()

    packaged(json.dumps({"Resources": template}), Path("/at"), recorder, str, parameters={})

    assert recorder.built == [{"EntryPoints": ["a.ts"]}, {"EntryPoints": ["b.ts"]}]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "name"), [("AWS::CloudFormation::Stack", "TemplateURL"), ("AWS::Serverless::Application", "Location")]
)
def test_local_template_of_a_nested_stack_is_brought_with_what_it_names(tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "child.json").write_text(json.dumps({"Resources": function(CodeUri="src")}))
    parent = {"Resources": {"N": {"Type": kind, "Properties": {name: "below/child.json"}}}}
    recorder, brought = Recorder(), []

    def bring(content: bytes) -> str:
        brought.append(content)
        return f"key{len(brought)}"

    made = packaged(json.dumps(parent), tmp_path, recorder, bring, parameters={})

    assert brought[0] == str(tmp_path / "below" / "src").encode()
    assert json.loads(brought[1])["Resources"]["F"]["Properties"]["CodeUri"] == PLACE
    place = json.loads(made)["Resources"]["N"]["Properties"][name]
    assert place == "https://s3.amazonaws.com/redrive-assets/key2"


@pytest.mark.parametrize("place", ["https://s3.amazonaws.com/b/k", {"Ref": "Url"}])
def test_template_of_a_nested_stack_that_is_not_local_stays_as_it_is(place: Any) -> None:
    made, _ = package({"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": place}}})

    assert made["N"]["Properties"]["TemplateURL"] == place


def test_template_that_nests_itself_is_refused(tmp_path: Path) -> None:
    text = json.dumps({"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "t"}}}})
    (tmp_path / "t").write_text(text)

    with pytest.raises(UserError, match=r"^N nests .*/t, which nests this template"):
        packaged(text, tmp_path, Recorder(), str, parameters={})


def test_template_of_a_nested_stack_that_is_not_there_is_refused_by_its_resource(tmp_path: Path) -> None:
    text = json.dumps({"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "t"}}}})

    with pytest.raises(UserError, match="The template of N cannot be read"):
        packaged(text, tmp_path, Recorder(), str, parameters={})


def test_function_that_another_tool_builds_is_refused_with_the_way_out() -> None:
    template = function(CodeUri="src")
    template["F"]["Metadata"] = {"BuildMethod": "makefile"}

    with pytest.raises(UserError) as caught:
        package(template)

    assert caught.value.what == "F is to be built by makefile, which redrive does not do."
    assert "sam build" in caught.value.next_step


def test_local_definition_of_a_state_machine_is_taken_into_the_template(tmp_path: Path) -> None:
    (tmp_path / "machine.asl.json").write_text('{"StartAt": "A"}')
    machine = {"Type": "AWS::Serverless::StateMachine", "Properties": {"DefinitionUri": "machine.asl.json"}}

    made = packaged(json.dumps({"Resources": {"M": machine}}), tmp_path, Recorder(), str, parameters={})

    assert json.loads(made)["Resources"]["M"]["Properties"] == {"Definition": {"StartAt": "A"}}


def test_template_without_local_code_stays_the_text_that_it_is() -> None:
    text = "Resources: {Q: {Type: 'AWS::SQS::Queue'}}  # as it was written"

    assert packaged(text, Path("/at"), Recorder(), str, parameters={}) == text

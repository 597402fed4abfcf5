"""``ottla registry``: subjects, versions, differences, compatibility and registration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from ottla.testing import MockRegistry, RegistryFault
from tests.support.command import CommandResult, ottla_here
from tests.support.command_schemas import check_document

SUBJECT = "orders-value"


def order(*fields: str) -> str:
    """An Avro schema, on one line."""
    return json.dumps(
        {
            "type": "record",
            "name": "Order",
            "fields": [{"name": each, "type": "int", "default": 0} for each in fields],
        }
    )


@pytest.fixture
def registered() -> Iterator[MockRegistry]:
    """A registry with three versions of a subject, the second one deleted, and another subject."""
    with MockRegistry() as registry:
        for fields in (["id"], ["id", "gone"], ["id", "amount"]):
            registry.register(SUBJECT, order(*fields))
        registry.delete_version(SUBJECT, 2)
        registry.register(
            "views-key", 'syntax = "proto3"; message Key { int32 id = 1; }', "PROTOBUF"
        )
        yield registry


def run(registry: MockRegistry, *arguments: str) -> CommandResult:
    return ottla_here("registry", *arguments, "--schema-registry", registry.url)


def run_well(registry: MockRegistry, *arguments: str) -> str:
    done = run(registry, *arguments)
    assert (done.code, done.err) == (0, "")
    return done.text


def test_subjects_and_versions(registered: MockRegistry) -> None:
    assert run_well(registered, "subjects").split() == [
        "subject",
        SUBJECT,
        "views-key",
        "2",
        "subjects",
    ]
    found = json.loads(run_well(registered, "subjects", "--match", "^views", "--json"))
    assert found == [{"subject": "views-key"}]
    _, header, *rows, total = run_well(registered, "versions", SUBJECT).splitlines()
    assert header.split() == ["version", "id", "type", "references"]
    assert [row.split() for row in rows] == [["3", "3", "AVRO"], ["1", "1", "AVRO"]]
    assert total == "2 versions"
    found = json.loads(run_well(registered, "versions", SUBJECT, "--json"))
    assert [(each["version"], each["type"], each["schema"]) for each in found] == [
        (3, "AVRO", order("id", "amount")),
        (1, "AVRO", order("id")),
    ]
    limited = run_well(registered, "versions", SUBJECT, "--limit", "1").splitlines()
    assert limited[-2:] == ["1 version", "older ones than the newest 1 are left out: --limit"]
    done = run(registered, "versions", "nosuch")
    assert (done.code, done.out) == (1, b"")
    assert "nosuch" in done.err


def test_a_schema_is_shown(registered: MockRegistry) -> None:
    title, *lines = run_well(registered, "show", SUBJECT).splitlines()
    assert title == f"{SUBJECT} version 3, id 3, AVRO"
    assert json.loads("\n".join(lines)) == json.loads(order("id", "amount"))
    assert len(lines) > 5
    assert run_well(registered, "show", SUBJECT, "1", "--raw") == order("id")
    found = json.loads(run_well(registered, "show", "--id", "4", "--json"))
    assert (found["id"], found["type"]) == (4, "PROTOBUF")
    assert run_well(registered, "show", "--id", "4").startswith("id 4, PROTOBUF\n")
    assert run_well(registered, "show", "views-key").splitlines()[1].startswith("syntax")
    for wrong in ((), (SUBJECT, "--id", "1"), (SUBJECT, "0"), (SUBJECT, "--raw", "--json")):
        assert run(registered, "show", *wrong).code == 2


def test_versions_are_compared(registered: MockRegistry) -> None:
    """The second version is gone, so that the first is the one before the third."""
    done = run(registered, "diff", SUBJECT)
    assert (done.code, done.err) == (1, "")
    first, second, *lines = done.text.splitlines()
    assert (first, second) == (f"--- {SUBJECT} version 1", f"+++ {SUBJECT} version 3")
    assert '+      "name": "amount",' in lines
    backwards = run(registered, "diff", SUBJECT, "3", "1", "--json")
    assert backwards.code == 1
    found = json.loads(backwards.text)
    assert (found["versions"], found["is_equal"]) == ([3, 1], False)
    assert '-      "name": "amount",' in found["diff"]
    assert (
        run_well(registered, "diff", SUBJECT, "3", "latest") == "versions 3 and 3 do not differ\n"
    )
    for arguments in ((SUBJECT, "2"), ("views-key",), ("nosuch",)):
        done = run(registered, "diff", *arguments)
        assert (done.code, done.out) == (2, b"")


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (
            "JSON",
            '{"type": "object", "properties": {"id": {"type": "integer"}}}',
            '{"type": "object", "properties": {"id": {"type": "string"}}}',
            ("TYPE_CHANGED", "#/properties/id"),
        ),
        (
            "PROTOBUF",
            'syntax = "proto3"; message Order { int64 id = 1; }',
            'syntax = "proto3"; message Order { string id = 1; }',
            ("FIELD_SCALAR_KIND_CHANGED", "#/Order/1"),
        ),
    ],
)
def test_json_schemas_and_protobuf_are_checked(
    mock_registry: MockRegistry,
    tmp_path: Path,
    kind: Literal["JSON", "PROTOBUF"],
    old: str,
    new: str,
    expected: tuple[str, str],
) -> None:
    """The command shows what differs and where; an incompatible file is not registered."""
    mock_registry.register("s", old, kind)
    file = tmp_path / f"order.{'proto' if kind == 'PROTOBUF' else 'json'}"
    file.write_text(new, encoding="utf-8")
    for command in (("compatibility", "s"), ("register", "--yes", "s")):
        done = run(mock_registry, *command, str(file))
        assert done.code == 1
        assert all(part in done.text + done.err for part in expected)
    file.write_text(old, encoding="utf-8")
    assert run_well(mock_registry, "compatibility", "s", str(file)).startswith("s: compatible\n")
    posted = [each.path for each in mock_registry.requests() if each.method == "POST"]
    assert "/subjects/s/versions" not in posted


def test_a_file_is_checked_against_a_subject(registered: MockRegistry, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(order("id", "amount", "note"), encoding="utf-8")
    check = ("compatibility", SUBJECT, str(file))
    assert run_well(registered, *check).startswith(f"{SUBJECT}: compatible\n")
    file.write_text(order("id").replace(', "default": 0', "").replace("id", "key"))
    done = run(registered, *check)
    assert done.code == 1
    assert done.text.startswith(f"{SUBJECT}: incompatible\n")
    assert 'the writer lacks the field "key"' in done.text
    found = json.loads(run(registered, *check, "--version", "1", "--json").text)
    assert found["is_compatible"] is False
    registered.set_compatibility("NONE", SUBJECT)
    assert run(registered, *check).code == 0
    # A new subject takes every schema.
    assert "first version" in run_well(registered, "compatibility", "new-value", str(file))
    assert run(registered, "compatibility", "new-value", str(file), "--version", "1").code == 2
    assert run(registered, "compatibility", SUBJECT, str(tmp_path / "none.avsc")).code == 2
    other = tmp_path / "order.txt"
    other.write_text(order("id"))
    assert "--type" in run(registered, "compatibility", SUBJECT, str(other)).err
    assert run(registered, "compatibility", SUBJECT, str(other), "--type", "avro").code == 0


def test_a_schema_is_registered_with_yes_only(registered: MockRegistry, tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(order("id", "amount"), encoding="utf-8")
    register = ("register", SUBJECT, str(file))
    existing = run_well(registered, *register)
    assert existing == f"registered already: {SUBJECT} version 3, id 3, AVRO\n"

    file.write_text(order("id", "amount", "note"), encoding="utf-8")
    plan = f"register schema in subject {SUBJECT}: AVRO, compatible (version 3 -> a new version)\n"
    done = run(registered, *register, "--dry-run")
    assert (done.code, done.text) == (0, plan)
    done = run(registered, *register)
    assert (done.code, done.text) == (1, plan)
    assert "repeat with --yes" in done.err
    assert "version 3" in run_well(registered, "show", SUBJECT)
    done = run(registered, *register, "--yes")
    assert done.code == 0
    assert done.text.startswith(f"registered {SUBJECT} version 4, id ")
    assert "note" in run_well(registered, "show", SUBJECT, "4")

    # The subject would refuse it: it is not even tried.
    file.write_text(order("id").replace(', "default": 0', "").replace("id", "key"))

    def registrations() -> int:
        return sum(each.path == f"/subjects/{SUBJECT}/versions" for each in registered.requests())

    assert registrations() == 1
    done = run(registered, *register, "--yes")
    assert done.code == 1
    assert "incompatible" in done.text
    assert 'the writer lacks the field "key"' in done.err
    assert registrations() == 1

    done = run(registered, "register", "new-value", str(file), "--yes")
    assert done.code == 0
    assert done.text.startswith("registered new-value version 1, id ")


def test_references_are_named(registered: MockRegistry, tmp_path: Path) -> None:
    file = tmp_path / "line.avsc"
    fields = '"fields": [{"name": "order", "type": "Order"}]'
    file.write_text(f'{{"type": "record", "name": "Line", {fields}}}', encoding="utf-8")
    register = ("register", "lines-value", str(file), "--yes")
    assert run(registered, *register).code == 1
    assert run(registered, *register, "--reference", "Order").code == 2
    assert run(registered, *register, "--reference", f"Order={SUBJECT}:3").code == 0
    shown = run_well(registered, "show", "lines-value")
    assert f"references: Order={SUBJECT}:3" in shown
    assert f"Order={SUBJECT}:3" in run_well(registered, "versions", "lines-value")


def test_the_credentials_of_a_profile_are_used_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = tmp_path / "profiles.ini"
    monkeypatch.setenv("OTTLA_PROFILES", str(profiles))
    with MockRegistry(user_info="alice:s3cret") as registry:
        registry.register(SUBJECT, order("id"))

        def subjects(password: str) -> CommandResult:
            profiles.write_text(
                "[prod]\nbootstrap.servers = kafka:9092\n"
                f"schema.registry.url = {registry.url}\n"
                f"schema.registry.basic.auth.user.info = alice:{password}\n"
            )
            profiles.chmod(0o600)
            return ottla_here("--profile", "prod", "registry", "subjects")

        assert SUBJECT in subjects("s3cret").text
        refused = subjects("wr0ng")
        assert (refused.code, refused.out) == (1, b"")
        assert "wr0ng" not in refused.err
        assert refused.err.startswith("ottla: ")
        # The profile's password goes to no other registry.
        done = ottla_here("registry", "subjects", "--schema-registry", registry.url)
        assert done.code == 1
        in_url = registry.url.replace("://", "://alice:wr0ng@")
        done = ottla_here("registry", "subjects", "--schema-registry", in_url)
        assert done.code == 1
        assert "wr0ng" not in done.err


def test_options_without_effect_are_refused(registered: MockRegistry) -> None:
    for wrong in (("-b", "kafka:9092"), ("-X", "linger.ms=5"), ("-X", "schema.registry.typo=5")):
        done = run(registered, "subjects", *wrong)
        assert (done.code, done.out) == (2, b"")
    done = ottla_here("registry", "subjects", "--profile", "nosuch")
    assert done.code == 2
    registered.inject(RegistryFault.status(500, code=50001), path="/subjects", times=1)
    assert run(registered, "subjects").code == 0


def test_a_subject_is_deleted_with_yes_only(registered: MockRegistry) -> None:
    delete = ("delete", SUBJECT)
    plan = f"delete subject {SUBJECT}: 2 versions (exists -> deleted softly)\n"
    done = run(registered, *delete)
    assert (done.code, done.text) == (1, plan)
    assert "repeat with --yes" in done.err
    assert run_well(registered, *delete, "--dry-run") == plan
    assert "DELETE" not in {each.method for each in registered.requests()}
    done = run(registered, *delete, "--version", "7", "--yes")
    assert done.code == 1
    assert "does not have version 7: it has 1, 3" in done.err
    assert run(registered, *delete, "--version", "0").code == 2

    one = f"version 1 of {SUBJECT}"
    assert run_well(registered, *delete, "--version", "1", "--yes") == f"deleted {one}\n"
    assert run_well(registered, *delete, "--yes") == f"deleted subject {SUBJECT}\n"
    assert json.loads(run_well(registered, "subjects", "--json")) == [{"subject": "views-key"}]
    assert run(registered, *delete, "--yes").code == 1
    found = run_well(registered, "subjects", "--deleted", "--prefix", "orders", "--json")
    assert json.loads(found) == [{"subject": SUBJECT}]
    done = run(registered, *delete, "--permanent", "--yes", "--json")
    document = check_document("registry delete", done.text)
    assert (document["applied"], document["results"][0]["outcome"]) == (True, "done")
    assert SUBJECT not in run_well(registered, "subjects", "--deleted")


def test_deleted_versions_are_listed_if_asked(registered: MockRegistry) -> None:
    def versions(*arguments: str) -> list[int]:
        text = run_well(registered, "versions", SUBJECT, "--json", *arguments)
        return [each["version"] for each in json.loads(text)]

    assert versions() == [3, 1]
    assert versions("--deleted") == [3, 2, 1]
    assert versions("--deleted", "--limit", "2") == [3, 2]


def test_levels_are_shown_set_and_reset(registered: MockRegistry) -> None:
    def level(*arguments: str) -> tuple[str, bool]:
        found = check_document(
            "registry level", run_well(registered, "level", *arguments, "--json")
        )
        return found["level"], found["is_global"]

    assert level() == ("BACKWARD", True)
    text = run_well(registered, "level", SUBJECT)
    assert text == f"{SUBJECT}: BACKWARD (that of the registry)\n"
    plan = f"set compatibility level of {SUBJECT} (that of the registry -> FULL)\n"
    assert run_well(registered, "set-level", "full", SUBJECT, "--dry-run") == plan
    done = run(registered, "set-level", "full", SUBJECT)
    assert (done.code, done.text) == (1, plan)
    assert level(SUBJECT) == ("BACKWARD", True)
    done = run(registered, "set-level", "full", SUBJECT, "--yes", "--json")
    assert check_document("registry set-level", done.text)["applied"] is True
    assert level(SUBJECT) == ("FULL", False)
    assert run(registered, "set-level", "some", SUBJECT).code == 2

    assert run(registered, "reset-level", SUBJECT).code == 1
    assert level(SUBJECT) == ("FULL", False)
    text = run_well(registered, "reset-level", SUBJECT, "--yes")
    assert text == f"reset the level of {SUBJECT}\n"
    assert level(SUBJECT) == ("BACKWARD", True)
    done = run(registered, "reset-level", SUBJECT, "--yes", "--json")
    document = check_document("registry reset-level", done.text)
    assert (done.code, document["results"][0]["outcome"]) == (0, "unchanged")
    assert run(registered, "set-level", "NONE", "--yes").code == 0
    assert level() == ("NONE", True)


def test_modes_are_shown_set_and_reset(registered: MockRegistry) -> None:
    def mode(*arguments: str) -> tuple[str, bool]:
        found = check_document("registry mode", run_well(registered, "mode", *arguments, "--json"))
        return found["mode"], found["is_global"]

    assert mode() == ("READWRITE", True)
    assert run_well(registered, "mode", SUBJECT) == f"{SUBJECT}: READWRITE (that of the registry)\n"
    plan = f"set mode of {SUBJECT} (that of the registry -> READONLY)\n"
    assert run_well(registered, "set-mode", "readonly", SUBJECT, "--dry-run") == plan
    done = run(registered, "set-mode", "readonly", SUBJECT)
    assert (done.code, done.text) == (1, plan)
    assert mode(SUBJECT) == ("READWRITE", True)
    text = run_well(registered, "set-mode", "readonly", SUBJECT, "--yes")
    assert text == f"set the mode of {SUBJECT}\n"
    assert mode(SUBJECT) == ("READONLY", False)

    assert run(registered, "reset-mode", SUBJECT).code == 1
    text = run_well(registered, "reset-mode", SUBJECT, "--yes")
    assert text == f"reset the mode of {SUBJECT}\n"
    assert mode(SUBJECT) == ("READWRITE", True)
    text = run_well(registered, "reset-mode", SUBJECT, "--yes")
    assert text == f"there is no own mode of {SUBJECT}\n"
    assert run(registered, "reset-mode").code == 2
    done = run(registered, "set-mode", "readonly", "--force", "--yes")
    assert (done.code, "--force has no effect on READONLY" in done.err) == (2, True)
    assert mode() == ("READWRITE", True)


def test_a_read_only_subject_names_the_command_that_shows_its_mode(
    registered: MockRegistry, tmp_path: Path
) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(order("id", "amount", "note"))
    run_well(registered, "set-mode", "readonly", SUBJECT, "--yes")
    done = run(registered, "register", SUBJECT, str(file), "--yes")
    assert done.code == 1
    assert "check it by `ottla registry mode`" in done.err
    assert "mode()" not in done.err


def test_a_normalized_schema_is_no_new_version(registered: MockRegistry, tmp_path: Path) -> None:
    file = tmp_path / "event.proto"
    message = 'syntax = "proto3";\nmessage Event { int64 id = 1; }\n'
    command = ("register", "events-value", str(file), "--yes")
    file.write_text(message)
    assert run(registered, *command).text.startswith("registered events-value version 1")
    file.write_text(f"// the same\n{message}")
    assert run_well(registered, *command, "--normalize").startswith("registered already:")
    assert run_well(registered, *command).startswith("registered events-value version 2")

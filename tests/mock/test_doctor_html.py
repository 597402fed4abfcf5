"""``ottla doctor --html``: the file, its errors, and the exit codes, which stay the diagnosis's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ottla as client
from ottla.testing import MockCluster
from tests.support.command import ottla
from tests.support.html_document import parse
from tests.support.ports import free_ports


def test_the_report_is_written_and_also_printed(
    mock_cluster: MockCluster, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    done = ottla(
        "doctor", mock_cluster.bootstrap, "-t", topic, "-g", "billing", "--html", str(file)
    )
    assert done.code == 0
    assert "verdict" in done.text
    found = parse(file.read_text(encoding="utf-8"))
    assert "Clients can use the cluster." in found.text
    assert f"{topic}-0" in found.text
    assert "Coordinator of group billing" in found.text


def test_the_exit_code_stays_that_of_the_diagnosis(tmp_path: Path) -> None:
    [closed] = free_ports(1)
    file = tmp_path / "report.html"
    file.write_text("an old report")
    done = ottla("doctor", f"127.0.0.1:{closed}", "--html", str(file), "--json")
    assert done.code == json.loads(done.text)["exit_code"] == 4
    text = parse(file.read_text(encoding="utf-8")).text
    assert "the diagnosis ends here" in text
    assert "Clients fail at TCP" in text


def test_standard_output_gets_the_document_and_nothing_else(mock_cluster: MockCluster) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, "--html", "-")
    assert done.code == 0
    assert done.out.startswith(b"<!doctype html>\n")
    assert done.out.endswith(b"</html>\n")
    parse(done.out.decode())


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("", "this is a directory, expected the name of a file"),
        ("missing/report.html", "does not exist"),
        ("a" * 300, "File name too long"),
        # It can be opened; only writing fails.
        ("/dev/full", "No space left on device"),
    ],
)
def test_a_file_that_cannot_be_written(
    mock_cluster: MockCluster, tmp_path: Path, file: str, message: str
) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, "--html", str(tmp_path / file))
    assert done.code == 2
    assert done.err.startswith("ottla: --html ")
    assert message in done.err
    assert "Traceback" not in done.err
    # What is known to fail, fails before the checks; a failure to write loses no report.
    assert ("verdict" in done.text) == (file == "/dev/full")


def test_one_output_has_one_format(mock_cluster: MockCluster) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, "--html", "-", "--json")
    assert (done.code, done.out) == (2, b"")
    assert "exclude each other" in done.err


def test_no_secret_is_in_the_report() -> None:
    with MockCluster(users={"ann": "hunter2"}) as cluster:
        for password in ("wrong-secret", "hunter2"):
            report = client.diagnose(
                cluster.bootstrap,
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="PLAIN",
                sasl_username="ann",
                sasl_password=password,
            )
            assert report.ok == (password == "hunter2")
            assert password not in report.to_html()

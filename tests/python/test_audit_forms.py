"""The audit for CI and for people: schemas, baselines, explanations, caches, what torch.load refuses."""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest

from conftest import ROOT
from test_audit import CALL, SAMPLES, torch_archive

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = json.loads((ROOT / "docs" / "audit-json.schema.json").read_text())
CORPORA = [ROOT / "tests" / "data" / "files", ROOT / "fuzz" / "corpus", SAMPLES]


def folders() -> list[pathlib.Path]:
    return [folder for folder in CORPORA if folder.is_dir()]


@pytest.fixture
def mixed(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with one file of each verdict, under awkward names."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "danger #1%.pt").write_bytes(torch_archive(b"\x80\x02" + CALL))
    (folder / "harmless.pkl").write_bytes(pickle.dumps([1, 2]))
    (folder / "suspicious.pkl").write_bytes(b"cnobody.knows\nthis\n)R.")
    (folder / "broken.gguf").write_bytes(b"GGUF\3\0\0\0" + b"\xff" * 16)
    (folder / "unknown.txt").write_bytes(b"hello, world")
    return folder


# ---- schemas ----

def test_json_fits_its_schema(pellucid, mixed):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    baseline = mixed.parent / "known.json"
    pellucid("audit", mixed, "--write-baseline", baseline)
    for extra in ([], ["--baseline", baseline]):
        for folder in [mixed, *folders()]:
            lines = [json.loads(line) for line in pellucid("audit", "--json", folder, *extra).out.splitlines()]
            assert lines and "summary" in lines[-1]
            for line in lines:
                validator.validate(line)


def check_sarif(made: Any, folder: pathlib.Path) -> None:
    """What SARIF 2.1.0 requires of the objects that are here, by its text: no package that was found has the schema."""
    assert made["version"] == "2.1.0" and len(made["runs"]) == 1
    run = made["runs"][0]
    assert set(run) <= {"tool", "columnKind", "artifacts", "results"} and run["columnKind"] == "unicodeCodePoints"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["tool"]["driver"]["name"] and len(set(rules)) == len(rules)
    for rule in run["tool"]["driver"]["rules"]:
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(run["artifacts"]) == len(files), "nothing is passed over"
    for artifact in run["artifacts"]:
        assert not set(artifact["location"]["uri"]) & set(" #<>\"{}|\\^`")
        assert re.fullmatch("[0-9a-f]{64}", artifact["hashes"]["sha-256"])
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"] and result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        artifact = run["artifacts"][place["artifactLocation"]["index"]]
        assert artifact["location"]["uri"] == place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] == 1 and place["region"]["byteOffset"] >= 0
        assert place["region"]["startColumn"] >= 1


def test_sarif(pellucid, mixed):
    done = pellucid("audit", "--sarif", mixed)
    made = json.loads(done.out)
    assert done.code == 4
    check_sarif(made, mixed)
    found = {result["ruleId"]: result["level"] for result in made["runs"][0]["results"]}
    assert found["calls"] == "error" and found["unknown-format"] == "warning"


def test_sarif_of_all_samples(pellucid):
    for folder in folders():
        made = json.loads(pellucid("audit", "--sarif", folder, timeout=120).out)
        results = made["runs"][0]["results"]
        assert all("ruleIndex" in result for result in results)


def test_cyclonedx(pellucid, mixed):
    made = json.loads(pellucid("audit", "--cyclonedx", mixed, SAMPLES / "net.safetensors").out)
    assert made["bomFormat"] == "CycloneDX" and made["specVersion"] == "1.6"
    assert len(made["components"]) == 6
    kinds = {row["name"]: row["type"] for row in made["components"]}
    assert kinds["unknown.txt"] == "file"
    if (SAMPLES / "net.safetensors").exists():
        assert kinds["net.safetensors"] == "machine-learning-model"


def test_cyclonedx_fits_its_schema(pellucid, mixed):
    spec = importlib.util.find_spec("cyclonedx")
    if not spec or not spec.origin:
        pytest.skip("cyclonedx-python-lib is not installed: it has the schema")
    found = sorted((pathlib.Path(spec.origin).parent / "schema" / "_res").glob("bom-1.6*.schema.json"))
    if not found:
        pytest.skip("this cyclonedx-python-lib has no schema of 1.6")
    from cyclonedx.schema import SchemaVersion  # type: ignore[import-not-found]
    from cyclonedx.validation.json import JsonStrictValidator  # type: ignore[import-not-found]
    for folder in [mixed, *folders()]:
        text = pellucid("audit", "--cyclonedx", folder, timeout=120).out
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


# ---- rules ----

def kinds_in_source() -> set[str]:
    found: set[str] = set()
    for path in [*(ROOT / "src" / "io").glob("*.c"), *(ROOT / "src" / "load").glob("*.c")]:
        text = path.read_text() if path.name != "audit_report.c" else ""
        found |= set(re.findall(r'(?:PEL_(?:DANGER|SUSPECT|UNREAD|NOTE)),\s*"([a-z0-9-]+)",', text))
        found |= set(re.findall(r'\b(?:suspect|danger)\("([a-z0-9-]+)"', text))
        found |= set(re.findall(r'\bjudge_(?:effect|made)\([^;"]*"([a-z0-9-]+)"', text))
        for chosen in re.findall(r'kind = ([^;]*);', text):
            found |= {kind for kind in re.findall(r'"([a-z0-9-]+)"', chosen)}
    return found - {""}


def test_every_rule_is_explained(pellucid):
    listed = {line.split(":")[0] for line in pellucid("audit", "--explain", "all").out.splitlines()}
    assert kinds_in_source() <= listed
    for folder in folders():
        for line in pellucid("audit", "--json", folder, timeout=120).out.splitlines():
            assert {finding["kind"] for finding in json.loads(line).get("findings", ())} <= listed
    for rule in listed:
        done = pellucid("audit", "--explain", rule)
        assert done.code == 0 and done.out.startswith(rule + ": ") and len(done.out.splitlines()) >= 3


def test_every_rule_is_used(pellucid):
    listed = {line.split(":")[0] for line in pellucid("audit", "--explain", "all").out.splitlines()}
    sources = [*(ROOT / "src").rglob("*.c"), *(ROOT / "src").rglob("*.h")]
    words = {word for path in sources for word in re.findall(r'"([a-z0-9-]+)"', path.read_text())}
    assert listed <= words, sorted(listed - words)


def test_an_unknown_rule_is_a_mistake(pellucid):
    done = pellucid("audit", "--explain", "cals")
    assert done.code == 1 and "'calls'" in done.err


# ---- baselines ----

def test_what_a_baseline_has_is_allowed(pellucid, mixed):
    baseline = mixed.parent / "known.json"
    assert pellucid("audit", mixed, "--write-baseline", baseline).code == 0
    done = pellucid("audit", "--json", mixed, "--baseline", baseline)
    assert done.code == 0 and not done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    verdicts = {row["verdict"] for row in rows if "summary" not in row}
    assert verdicts == {"dangerous", "suspicious", "broken", "unknown", "harmless"}, "verdicts stay"
    assert rows[-1]["summary"]["allowed"] == 4


def test_another_content_is_not_allowed(pellucid, mixed):
    """The same call with the same text, in a file that nobody has looked at."""
    baseline = mixed.parent / "known.json"
    pellucid("audit", mixed, "--write-baseline", baseline)
    target = mixed / "suspicious.pkl"
    target.write_bytes(target.read_bytes() + b"\n")
    done = pellucid("audit", mixed, "--baseline", baseline)
    assert done.code == 4 and "allowed nothing: 1" in done.err


def test_a_renamed_file_stays_allowed(pellucid, mixed):
    baseline = mixed.parent / "known.json"
    pellucid("audit", mixed, "--write-baseline", baseline)
    (mixed / "danger #1%.pt").rename(mixed / "other.pt")
    assert pellucid("audit", mixed, "--baseline", baseline).code == 0


@pytest.mark.parametrize("entry, code", [
    ({"file": "*.pkl", "rule": "calls-unknown"}, 0),
    ({"file": "*.pkl", "rule": "calls-unknown", "text": "calls nobody.*"}, 0),
    ({"file": "*.pkl", "rule": "calls-unknown", "text": "calls somebody.*"}, 4),
    ({"file": "*.pt", "rule": "calls-unknown"}, 4),
    ({"file": "*.pkl", "rule": "calls"}, 4),
    ({"file": "*", "rule": "all"}, 2),
    ({"rule": "calls-unknown"}, 2),
    ({"file": "", "rule": "calls-unknown"}, 2),
    ({"file": "*", "rule": "calls-unknown", "typo": "x"}, 2),
    ({"sha256": "12", "rule": "calls-unknown"}, 2),
    ("calls-unknown", 2),
])
def test_entries_that_people_write(pellucid, tmp_path, mixed, entry, code):
    baseline = tmp_path / "known.json"
    baseline.write_text(json.dumps({"baseline": 1, "allow": [entry]}))
    done = pellucid("audit", mixed / "suspicious.pkl", "--baseline", baseline)
    assert done.code == code
    assert code != 2 or "known.json:" in done.err


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"baseline": 2, "allow": []}', '{"baseline": 1}', "\x80\x02}."])
def test_what_is_no_baseline_is_refused(pellucid, tmp_path, mixed, text):
    baseline = tmp_path / "known.json"
    baseline.write_text(text)
    assert pellucid("audit", mixed / "suspicious.pkl", "--baseline", baseline).code == 2
    assert pellucid("audit", mixed / "suspicious.pkl", "--baseline", tmp_path / "none.json").code == 2


def test_findings_that_were_dropped_are_not_allowed(pellucid, tmp_path):
    calls = b"".join(b"cnobody.m%d\nf\n)R0" % i for i in range(1500))
    path = tmp_path / "many.pkl"
    path.write_bytes(b"\x80\x02" + calls + b"N.")
    baseline = tmp_path / "known.json"
    pellucid("audit", path, "--write-baseline", baseline)
    row = json.loads(pellucid("audit", "--json", path, "--baseline", baseline).out)
    assert row["dropped"] and "allowed" not in row
    assert pellucid("audit", path, "--baseline", baseline).code == 4


# ---- Hugging Face caches ----

def test_a_cache_counts_each_blob_once(pellucid, tmp_path):
    root = tmp_path / "models--someone--net"
    (root / "blobs").mkdir(parents=True)
    for snapshot in ("aaaa", "bbbb"):
        (root / "snapshots" / snapshot).mkdir(parents=True)
    blobs = {"1111": pickle.dumps([1]), "2222": torch_archive(b"\x80\x02" + CALL), "3333": b"left over"}
    for name, content in blobs.items():
        (root / "blobs" / name).write_bytes(content)
    (root / "snapshots" / "aaaa" / "data.pkl").symlink_to("../../blobs/1111")
    (root / "snapshots" / "aaaa" / "pytorch_model.bin").symlink_to("../../blobs/2222")
    (root / "snapshots" / "bbbb" / "pytorch_model.bin").symlink_to("../../blobs/2222")
    (root / "snapshots" / "bbbb" / "gone.bin").symlink_to("../../blobs/9999")
    (root / "snapshots" / "bbbb" / "passwd").symlink_to("/etc/passwd")
    done = pellucid("audit", "--json", root)
    rows = [json.loads(line) for line in done.out.splitlines()]
    files = {os.path.relpath(row["file"], root): row for row in rows if "file" in row}
    assert done.code == 4 and rows[-1]["summary"]["files"] == 5
    assert set(files) == {"blobs/3333", "snapshots/aaaa/data.pkl", "snapshots/aaaa/pytorch_model.bin",
                          "snapshots/bbbb/gone.bin", "snapshots/bbbb/passwd"}
    also = files["snapshots/aaaa/pytorch_model.bin"]["also"]
    assert {os.path.relpath(path, root) for path in also} == {"blobs/2222", "snapshots/bbbb/pytorch_model.bin"}
    assert files["snapshots/bbbb/passwd"]["verdict"] == files["snapshots/bbbb/gone.bin"]["verdict"] == "unknown"
    only = pellucid("audit", "--json", root / "snapshots" / "aaaa")
    assert only.code == 4 and json.loads(only.out.splitlines()[-1])["summary"]["files"] == 2


# ---- torch.load(weights_only=True) ----

def loads(path: pathlib.Path, before: str = "") -> bool:
    """In a child: the list of names is the process's."""
    code = f"{before or 'import torch'}\nimport sys\ntorch.load(sys.argv[1], weights_only=True)"
    return subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, timeout=120).returncode == 0


def harmless_checkpoints() -> dict[str, Any]:
    import numpy as np
    import torch
    return {
        "state": {"w": torch.ones(2)},
        "namespace": {"args": argparse.Namespace(lr=0.1), "w": torch.ones(2)},
        "numpy": {"best": np.float64(0.5), "history": np.arange(3.0)},
        "path": {"from": pathlib.PurePosixPath("/a"), "w": torch.ones(1)},
        "default": {"d": collections.defaultdict(list, a=[1])},
        "slice": {"s": slice(1, 2)},
    }


def test_the_line_that_helps_helps(pellucid, tmp_path):
    torch = pytest.importorskip("torch")
    helped = 0
    for name, made in harmless_checkpoints().items():
        path = tmp_path / f"{name}.pt"
        torch.save(made, path)
        row = json.loads(pellucid("audit", "--json", path).out)
        assert row["verdict"] == "harmless", name
        assert row["weights_only"]["loads"] == loads(path), name
        advice = row["weights_only"]["advice"]
        assert bool(advice) != row["weights_only"]["loads"] or name == "slice" or name == "default", name
        if advice.startswith("import "):
            assert loads(path, advice), (name, advice)
            helped += 1
    assert helped >= 3


def test_no_line_for_what_is_dangerous(pellucid, tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(torch_archive(b"\x80\x02" + CALL))
    done = pellucid("audit", "--json", path)
    weights = json.loads(done.out)["weights_only"]
    assert weights["refused"] == [{"name": "posix.system", "harmless": False}]
    assert "add_safe_globals" not in weights["advice"] and not weights["loads"]


def test_the_list_is_that_of_torch():
    pytest.importorskip("torch")
    from torch._weights_only_unpickler import _get_allowed_globals
    text = (ROOT / "src" / "load" / "audit" / "weights_only.c").read_text()
    listed = re.findall(r'"([\w.]+)"', text[text.index("allowed[] = {"):text.index("};")])
    assert listed == sorted(listed)
    assert set(listed) == set(_get_allowed_globals())


# ---- from Python ----

def test_forms_from_python(mixed, tmp_path):
    import pellucid
    made = pellucid.audit(mixed)
    check_sarif(made.sarif(), mixed)
    assert made.cyclonedx()["specVersion"] == "1.6"
    made.write_baseline(tmp_path / "known.json")
    assert pellucid.audit(mixed, baseline=tmp_path / "known.json").exit_code == 0
    assert made.explain("calls").startswith("calls: ")


# ---- trees ----

def test_the_tree_of_a_dangerous_file_says_so(pellucid, mixed, tmp_path):
    path = mixed / "danger #1%.pt"
    for arguments in ((), ("--table",), ("--json",), ("--html", tmp_path / "x.html")):
        assert pellucid("tree", path, *arguments).code == 4
    assert "audit: dangerous: calls posix.system" in pellucid("tree", path).out
    assert '"audit: dangerous: calls posix.system' in (tmp_path / "x.html").read_text()
    assert pellucid("tree", mixed / "harmless.pkl").code == 0

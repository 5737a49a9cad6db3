"""`pellucid serve`: what it answers, to whom, and what it refuses."""

from __future__ import annotations

import http.client
import io
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading
import urllib.parse
from typing import Any, Iterator

import pytest

from pellucid import _histogram
from pellucid._serve import Folder, Refused, Server
from test_audit import CALL, torch_archive

BROWSER = pathlib.Path(__file__).resolve().parent.parent / "browser"
ODD = "<img src=x onerror=alert(1)>.safetensors"


def safetensors(path: pathlib.Path, rows: dict[str, tuple[str, list[int], bytes]]) -> None:
    head, at = {}, 0
    for name, (dtype, shape, data) in rows.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in rows.values()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("served") / "models"
    (root / "inner").mkdir(parents=True)
    values = struct.pack("<6f", -1.0, 0.0, 0.5, 2.0, math.nan, math.inf)
    rows = {"w": ("F32", [2, 3], values), "half": ("BF16", [2], b"\x80\x3f\x00\xc0"),
            "n": ("I64", [], b"\x07" + bytes(7)),
            "empty": ("F32", [0], b"")}
    safetensors(root / "net.safetensors", rows)
    safetensors(root / ODD, rows)
    (root / "inner" / "bad.pt").write_bytes(torch_archive(b"\x80\x02" + CALL))
    (root / "inner" / "notes.txt").write_text("no model\n")
    (root.parent / "secret.txt").write_text("secret")
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "in").symlink_to(root / "net.safetensors")
    return root


@pytest.fixture(scope="module")
def server(folder: pathlib.Path) -> Iterator[Server]:
    with Server(folder) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()


def get(server: Server, what: str = "", host: str = "", token: str | None = None, method: str = "GET",
        **asked: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    path = f"/{server.token if token is None else token}/{what}"
    path += "?" + urllib.parse.urlencode(asked) if asked else ""
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, {name.lower(): value for name, value in answer.getheaders()}


def answer(server: Server, what: str, **asked: str) -> Any:
    status, body, _ = get(server, what, **asked)
    assert status == 200, body
    return json.loads(body)


def test_a_folder(server: Server) -> None:
    listed = answer(server, "list", path="")
    rows = {row["name"]: row for row in listed["rows"]}
    assert rows["inner"]["kind"] == "folder" and rows["net.safetensors"]["size"] > 0 and rows["in"]["kind"] == "file"
    assert rows["out"]["kind"] == "other" and "leads out" in rows["out"]["why"]
    assert listed["rows"][0]["name"] == "inner"  # folders first


def test_tree_audit_tensors(server: Server) -> None:
    status, page, headers = get(server, "tree", path="net.safetensors")
    assert status == 200 and page.startswith(b"<!doctype html>") and "sandbox" in headers["content-security-policy"]
    assert b'id="audit">"audit: harmless"<' in page  # what heads the page, also where nothing was found
    assert answer(server, "audit", path="net.safetensors")["verdict"] == "harmless"
    assert answer(server, "audit", path="inner/bad.pt")["verdict"] == "dangerous"
    rows = {row["name"]: row for row in answer(server, "tensors", path="net.safetensors")}
    assert rows["w"]["shape"] == [2, 3] and rows["half"]["dtype"] == "bfloat16"
    status, body, _ = get(server, "tensors", path="inner/notes.txt")
    assert status == 422 and "error" in json.loads(body)


def test_values(server: Server) -> None:
    w = answer(server, "values", path="net.safetensors", name="w", dtype="float32")
    assert (w["min"], w["max"], w["nan"], w["inf"], w["zero"], w["count"]) == (-1.0, 2.0, 1, 1, 1, 6)
    assert w["first"][:4] == [-1.0, 0.0, 0.5, 2.0] and sum(w["counts"]) == 4
    half = answer(server, "values", path="net.safetensors", name="half", dtype="bfloat16")
    assert half["first"] == [1.0, -2.0]
    assert answer(server, "values", path="net.safetensors", name="n", dtype="int64")["first"] == [7]
    assert answer(server, "values", path="net.safetensors", name="empty", dtype="float32")["counts"] == []
    assert get(server, "values", path="net.safetensors", name="nobody", dtype="")[0] == 422


@pytest.mark.parametrize("descr, code, values", [
    ("<f4", "f", [1.5, -2.0, 3.25, 3.25, math.nan]), ("<f8", "d", [1e300, -1e300]), ("<i8", "q", [-5, 2**40]),
    ("|u1", "B", [0, 255, 3]), ("|b1", "B", [1, 0, 1]), ("<f2", "e", [0.5, 2.0]), ("<f4", "f", [7.0, 7.0]),
])
def test_with_and_without_numpy(monkeypatch: pytest.MonkeyPatch, descr: str, code: str, values: list[Any]) -> None:
    pytest.importorskip("numpy")
    data = struct.pack(f"<{len(values)}{code}", *values)
    with_numpy = _histogram._with_numpy(data, descr, False)
    by_hand = _histogram._by_hand(data, descr, False)
    assert by_hand["counts"] == with_numpy["counts"] and by_hand["nan"] == with_numpy["nan"]
    for name in ("min", "max", "mean", "std"):
        assert float(by_hand[name]) == pytest.approx(float(with_numpy[name]), rel=1e-9)
    json.dumps(by_hand, allow_nan=False), json.dumps(with_numpy, allow_nan=False)
    assert [float(v) for v in by_hand["first"]] == pytest.approx([float(v) for v in with_numpy["first"]], nan_ok=True)


def test_what_was_not_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_histogram, "MOST", 3)
    monkeypatch.setattr(_histogram, "MOST_BY_HAND", 3)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }".encode()
    stream = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<5f", 1, 2, 3, 4, 5)
    made = _histogram.summary(io.BytesIO(stream))
    assert (made["count"], made["looked_at"], made["max"]) == (5, 3, 3.0)
    with pytest.raises(_histogram.NotShown):
        _histogram.summary(io.BytesIO(stream[:-15]))
    with pytest.raises(_histogram.NotShown):
        _histogram.summary(io.BytesIO(b"not a .npy file"))


# ---- who may ask what ----

def test_only_who_knows_the_token(server: Server) -> None:
    for token in ("", "x", server.token[:-1], server.token + "x"):
        assert get(server, "list", token=token, path="")[0] == 403
    assert get(server)[0] == 200


def test_only_under_its_own_name(server: Server) -> None:
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"0.0.0.0:{server.port}"):
        assert get(server, "list", host=host, path="")[0] == 403
    assert get(server, "list", host=f"localhost:{server.port}", path="")[0] == 200


@pytest.mark.parametrize("path", ["..", "../secret.txt", "out", "/etc/passwd", "inner/../../secret.txt",
                                  "in/../../secret.txt"])
def test_nothing_outside(server: Server, path: str) -> None:
    for what in ("list", "tree", "audit", "tensors", "values"):
        status, body, _ = get(server, what, path=path, name="w")
        assert status in (400, 403, 404) and b"secret" not in body and b"root:" not in body


def test_it_reads_alone(server: Server, folder: pathlib.Path) -> None:
    before = sorted(folder.rglob("*"))
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert get(server, "list", method=method, path="")[0] == 501
    assert get(server, "list", path="\0")[0] == 400 and get(server, "nothing", path="")[0] == 404
    assert get(server, "tree")[0] == 400  # no path
    assert sorted(folder.rglob("*")) == before
    assert server.server_address[0] == "127.0.0.1"


def test_options_of_the_program_are_no_names(server: Server, folder: pathlib.Path) -> None:
    """A file may be called like an option: paths are whole."""
    (folder / "--help").write_bytes(b"x")
    try:
        assert answer(server, "audit", path="--help")["verdict"] == "unknown"
        assert get(server, "values", path="net.safetensors", name="--help", dtype="")[0] == 422
    finally:
        (folder / "--help").unlink()


def test_one_file(folder: pathlib.Path) -> None:
    served = Folder(folder / "net.safetensors")
    assert [row["name"] for row in served.entries("")["rows"]] == ["net.safetensors"]
    with pytest.raises(Refused):
        served.file("inner/bad.pt")
    with pytest.raises(FileNotFoundError):
        Folder(folder / "none")


def test_the_program(pellucid, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_PYTHON", sys.executable)
    assert pellucid("serve", folder / "none", "--no-open").code == 2
    assert pellucid("serve", folder, "--port", "70000").code == 1
    process = subprocess.Popen([os.environ["PELLUCID"], "serve", str(folder), "--no-open"], stdout=subprocess.PIPE,
                               text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:") and len(urllib.parse.urlsplit(url).path) > 30
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_in_a_browser(server: Server, tmp_path: pathlib.Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not shutil.which("node") or not (BROWSER / "node_modules" / "playwright-core").is_dir():
        pytest.skip("no Chromium, node or playwright-core (npm install --prefix tests/browser)")
    done = subprocess.run(["node", "serve.mjs", server.url, chromium, str(tmp_path / "serve.png"), ODD], cwd=BROWSER,
                          capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "serve.png").stat().st_size > 10_000

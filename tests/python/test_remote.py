"""Files that are somewhere else: the same answers as for a file on the disk, few bytes, and an error for every server
that gives something other than what it was asked for."""

from __future__ import annotations

import json
import pathlib
import struct
import sys
import time

import pytest

pytest.importorskip("requests", reason="requests is not installed: remote files can't be read")

from hub_server import Hub  # noqa: E402
from range_server import HOSTILE, Served  # noqa: E402
from test_audit import CALL, torch_archive  # noqa: E402

from pellucid._remote import HttpFile, Missing, Options, RemoteError, beside, shown  # noqa: E402


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "bad.pt").write_bytes(torch_archive(b"\x80\x02" + CALL))
    safetensors(folder / "net.safetensors", 40, 2 << 20)
    for part in "ab":
        safetensors(folder / f"{part}.safetensors", 2, 4096, part)
    (folder / "net.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {
        f"{part}.{i}": f"{part}.safetensors" for part in "ab" for i in range(2)}}))
    (folder / "empty.pt").write_bytes(b"")
    with Served(folder) as server:
        yield server, folder


def safetensors(path: pathlib.Path, tensors: int, size: int, name: str = "w") -> None:
    """A file of that many tensors, its content a hole in the disk."""
    rows = {f"{name}.{i}": {"dtype": "F32", "shape": [size // 4], "data_offsets": [i * size, (i + 1) * size]}
            for i in range(tensors)}
    head = json.dumps(rows).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + tensors * size)


@pytest.fixture
def remote(pellucid, monkeypatch):
    """The program, with this Python for what is remote."""
    monkeypatch.setenv("PELLUCID_PYTHON", sys.executable)
    return pellucid


@pytest.mark.parametrize("name", ["bad.pt", "net.safetensors", "net.safetensors.index.json", "empty.pt"])
@pytest.mark.parametrize("how", ["ok", "moved", "elsewhere", "flaky"])
def test_answers_are_those_of_the_file(remote, served, name, how):
    server, folder = served
    for command in ("tree", "audit"):
        here, there = remote(command, "--json", folder / name), remote(command, "--json", "--insecure",
                                                                      server.url(how, name))
        assert there.code == here.code, there.err
        mine, theirs = json.loads(here.out), json.loads(there.out)
        for row in (mine, theirs):
            row.pop("file", None)
            row.get("error", {}).pop("file", None)
        assert theirs == mine


def test_text_svg_and_page_too(remote, served, tmp_path):
    server, folder = served
    url = server.url("ok", "net.safetensors")
    assert remote("tree", "--insecure", url).out == remote("tree", folder / "net.safetensors").out
    assert "dangerous" in remote("audit", "--insecure", server.url("ok", "bad.pt")).out
    done = remote("tree", "--insecure", url, "--html", tmp_path / "page.html")
    assert done.code == 0 and (tmp_path / "page.html").stat().st_size > 10_000


def test_few_bytes_are_read(served):
    """A checkpoint of 80 MiB: its header, and its end, where the directory of an archive would be."""
    from pellucid import _pellucid
    server, folder = served
    before = len(server.seen)
    file = HttpFile(server.url("ok", "net.safetensors"), Options(insecure=True))
    _, n_bytes, _ = _pellucid.look(file.read_at, file.size)
    assert file.size > 80 << 20 and n_bytes <= 200 << 10 and len(server.seen) - before <= 3


def test_convert_extract_compare(remote, served, tmp_path):
    server, folder = served
    url = server.url("ok", "a.safetensors")
    assert remote("convert", "--insecure", url, "-o", tmp_path / "there").code == 0
    assert remote("convert", folder / "a.safetensors", "-o", tmp_path / "here").code == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert remote("extract", "--insecure", url, "a.1", "-o", tmp_path / "there.npy").code == 0
    assert remote("extract", folder / "a.safetensors", "a.1", "-o", tmp_path / "here.npy").code == 0
    assert (tmp_path / "there.npy").read_bytes() == (tmp_path / "here.npy").read_bytes()
    assert remote("compare", "--insecure", url, folder / "a.safetensors").code == 0
    assert remote("compare", "--insecure", url, folder / "b.safetensors").code == 4


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_servers(remote, served, how, tmp_path):
    """An error with words, no verdict that says more than was read, no half file, no hang."""
    server, _ = served
    options = Options(insecure=True, seconds=3, attempts=2)
    started = time.monotonic()
    with pytest.raises(RemoteError):
        file = HttpFile(server.url(how, "net.safetensors"), options)
        while True:  # a server may turn bad after its first answer
            file.read_at(1 << 20, 64 << 10)
    assert time.monotonic() - started < 10
    if how not in ("busy", "drip", "silent", "garbage", "truncated", "short", "headers"):  # these take their attempts
        for command in ("tree", "convert"):
            done = remote(command, "--insecure", server.url(how, "bad.pt" if command == "tree" else "net.safetensors"),
                          *(["-o", tmp_path / "out"] if command == "convert" else []))
            if how in ("changing", "growing") and command == "tree":
                continue  # one request was enough: there is nothing to compare with
            assert done.code == 2 and done.err.strip() and not (tmp_path / "out").exists(), (command, done)
        audited = remote("audit", "--insecure", "--allow", "unknown", server.url(how, "net.safetensors"))
        assert audited.code == 2 or how in ("changing", "growing"), audited


def test_a_server_without_ranges_may_send_a_small_file(served):
    server, folder = served
    file = HttpFile(server.url("norange", "bad.pt"), Options(insecure=True))
    assert file.read_at(0, file.size) == (folder / "bad.pt").read_bytes()
    with pytest.raises(RemoteError, match="no ranges"):
        HttpFile(server.url("norange", "net.safetensors"), Options(insecure=True))


def test_http_only_on_request(remote, served):
    server, _ = served
    done = remote("tree", server.url("ok", "bad.pt"))
    assert done.code == 2 and "--insecure" in done.err


def test_missing_is_not_the_same_as_broken(remote, served):
    server, folder = served
    with pytest.raises(Missing):
        HttpFile(server.url("ok", "no.pt"), Options(insecure=True))
    assert remote("audit", "--insecure", "--allow", "unknown", server.url("ok", "no.pt")).code == 2


def test_a_token_goes_to_its_host_alone(served, monkeypatch):
    server, _ = served
    before = len(server.seen)
    HttpFile(server.url("elsewhere", "bad.pt"), Options(insecure=True), token="s3cret")
    sent = {row[2]["Host"].partition(":")[0]: row[2].get("Authorization") for row in server.seen[before:]}
    assert sent == {"127.0.0.1": "Bearer s3cret", "localhost": None}


def test_messages_have_no_secrets(served):
    server, _ = served
    with pytest.raises(RemoteError) as raised:
        HttpFile(server.url("refused", "bad.pt") + "?X-Amz-Signature=s3cret", Options(insecure=True), token="t0ken")
    assert "s3cret" not in str(raised.value) and "t0ken" not in str(raised.value)
    assert shown("https://user:pass@host/a/b?token=1#x") == "https://host/a/b"


def test_beside():
    assert beside("https://host/a/b.json?x=1", "c d.safetensors") == "https://host/a/c%20d.safetensors?x=1"
    assert beside("hf://org/model@main/a/b.json", "c.safetensors") == "hf://org/model@main/a/c.safetensors"


def test_a_shard_that_cant_be_read_is_no_missing_shard(remote, served, tmp_path):
    """The index comes, its shards are refused: that is an error, not an index without shards."""
    server, folder = served
    for name in ("a.safetensors", "b.safetensors", "net.safetensors.index.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with Served(tmp_path) as other:
        handler = other.server.RequestHandlerClass
        other.server.RequestHandlerClass = type("Partly", (handler,), {
            "as_ok": lambda self, path: handler.as_refused(self, path) if path.suffix == ".safetensors"
            else handler.as_ok(self, path)})
        done = remote("tree", "--insecure", other.url("ok", "net.safetensors.index.json"))
    assert done.code == 2 and "403" in done.err


# ---- fsspec ----

def test_a_folder_of_fsspec(remote, served):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    _, folder = served
    uri = f"file://{folder}"
    there = remote("audit", "--json", uri)
    assert there.code == 4
    rows = [json.loads(line) for line in there.out.splitlines()]
    files = {row["file"].rpartition("/")[2]: row["verdict"] for row in rows if "file" in row}
    assert files["bad.pt"] == "dangerous" and set(files) == {path.name for path in folder.iterdir()}
    assert json.loads(remote("tree", "--json", f"{uri}/net.safetensors").out) == json.loads(
        remote("tree", "--json", folder / "net.safetensors").out)
    assert remote("tree", f"{uri}/no.pt").code == 2


def test_unknown_schemes(remote):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    done = remote("tree", "nothing://host/x.pt")
    assert done.code == 2 and "nothing" in done.err


# ---- an object store, and the hub, on loopback ----

def test_s3(remote, served, monkeypatch):
    server_of = pytest.importorskip("moto.server", reason="moto is not installed: there is no object store here")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    _, folder = served
    store = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    store.start()
    try:
        host, port = store.get_host_and_port()
        for name, value in {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "x",
                            "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_DEFAULT_REGION": "us-east-1"}.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="models")
        for name in ("bad.pt", "a.safetensors", "b.safetensors", "net.safetensors.index.json"):
            client.put_object(Bucket="models", Key=f"one/{name}", Body=(folder / name).read_bytes())
        for name in ("bad.pt", "net.safetensors.index.json"):
            here, there = (json.loads(remote("tree", "--json", place).out)
                           for place in (folder / name, f"s3://models/one/{name}"))
            assert here == there
        audited = remote("audit", "--json", "s3://models/one")
        rows = [json.loads(line) for line in audited.out.splitlines()]
        assert audited.code == 4 and {row["file"].rpartition("/")[2] for row in rows if "file" in row} == {
            "bad.pt", "a.safetensors", "b.safetensors", "net.safetensors.index.json"}
        missing = remote("tree", "s3://models/one/no.pt")
        assert missing.code == 2 and "s3cret" not in missing.err + missing.out
    finally:
        store.stop()


def test_the_hub(remote, served, monkeypatch):
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    _, folder = served
    with Hub(folder, {"org/model": {path.name: path for path in folder.iterdir()}}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
        done = remote("tree", "--json", "--insecure", "hf://org/model/net.safetensors")
        assert done.code == 0 and json.loads(done.out) == json.loads(
            remote("tree", "--json", folder / "net.safetensors").out), done.err
        audited = remote("audit", "--json", "--insecure", "hf://org/model")
        rows = [json.loads(line) for line in audited.out.splitlines()]
        assert audited.code == 4, audited.err
        assert {row["file"].rpartition("/")[2] for row in rows if "file" in row} == {p.name for p in folder.iterdir()}
        sent = [({name.lower(): value for name, value in headers.items()}, path) for _, path, headers in server.seen]
        for headers, path in sent:  # a token goes to its host alone
            own = headers["host"].startswith("127.0.0.1:")
            if not own or "org/model" in path:  # the library asks other things of its host, without a token
                assert headers.get("authorization") == ("Bearer hf_t0ken" if own else None), path
        assert {headers["host"].partition(":")[0] for headers, _ in sent} == {"127.0.0.1", "localhost"}
        refused = remote("tree", "hf://org/model/net.safetensors")
        assert refused.code == 2 and "--insecure" in refused.err and "s3cret" not in refused.err
        assert remote("tree", "--insecure", "hf://org").code == 2

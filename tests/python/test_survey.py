"""Many files: one row each, wherever they are; nothing is lost or doubled by interruptions."""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import urllib.parse
import zipfile

import pytest

from test_audit import CALL, torch_archive
from test_remote import safetensors

from pellucid import survey
from pellucid._survey import SurveyError
from pellucid._survey_row import Limits, architecture_of, fit, row_of

requests = pytest.importorskip("requests", reason="requests is not installed: remote files can't be read")

from hub_server import Hub  # noqa: E402
from range_server import HOSTILE, Served  # noqa: E402


def rows_of(path: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def models(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for i in range(6):
        safetensors(folder / f"net{i}.safetensors", 2 + i % 2, 4096, f"layers{i}")
    (folder / "bad.pt").write_bytes(torch_archive(b"\x80\x02" + CALL))
    (folder / "broken.pt").write_bytes(b"PK\x03\x04 no archive")
    (folder / "notes.txt").write_text("not a model")
    return folder


def test_a_folder(models, tmp_path):
    made = survey(models, output=tmp_path / "t.jsonl")
    rows = {os.path.basename(row["uri"]): row for row in rows_of(tmp_path / "t.jsonl")}
    assert made.rows == len(rows) == 9 and made.exit_code == 4 and not (tmp_path / "t.jsonl.journal").exists()
    assert rows["bad.pt"]["verdict"] == "dangerous" and rows["bad.pt"]["findings"]
    assert rows["broken.pt"]["verdict"] not in ("harmless", None)
    assert rows["notes.txt"]["verdict"] == "unknown"
    net = rows["net0.safetensors"]
    assert (net["verdict"], net["format"], net["parameters"], net["tensors"]) == ("harmless", "safetensors", 2048, 2)
    assert net["dtypes"] == {"float32": 2} and net["bytes"] == 8192 and net["bytes_read"] > 0 and net["requests"] >= 1


def test_rows_say_what_the_program_says(models, tmp_path, pellucid):
    for path in models.iterdir():
        row, said = row_of(str(path), Limits()), json.loads(pellucid("audit", "--json", path).out)
        assert (row["verdict"], row["format"]) == (said["verdict"], said["format"]) and row["n_findings"] == len(
            said["findings"]) + said["dropped"]


def test_far_and_near_are_one(models, tmp_path):
    near = {os.path.basename(row["uri"]): row for row in (row_of(str(path), Limits()) for path in models.iterdir())}
    with Served(models) as server:
        for name, row in near.items():
            far = row_of(server.url("ok", name), Limits(insecure=True))
            for column in ("uri", "etag", "seconds"):
                far.pop(column), row.pop(column)
            assert far == row


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_servers_give_rows_with_errors(models, how):
    safetensors(models / "large.safetensors", 2, 1 << 20)  # its end takes a second request
    with Served(models) as server:
        started = time.monotonic()
        row = row_of(server.url(how, "large.safetensors"), Limits(insecure=True, seconds=2))
        assert time.monotonic() - started < 10
    assert row["error"] and row["verdict"] is None and row["findings"] is None


def test_hostile_files_of_a_server(tmp_path):
    """A hundred files that run something when a loader opens them: none is harmless because it is far away, nothing is
    written beside the table, and each is a row."""
    import hostile_files
    hostile_files.write(tmp_path)
    folder = tmp_path / "files"
    names = random.Random(11).sample(sorted(set(hostile_files.HOSTILE) - set(hostile_files.EXPECT)), 100)
    (tmp_path / "out").mkdir()
    with Served(folder) as server:
        made = survey(*(server.url("ok", urllib.parse.quote(name)) for name in names),
                      output=tmp_path / "out" / "t.jsonl", insecure=True)
    rows = rows_of(tmp_path / "out" / "t.jsonl")
    passed = {row["uri"].rpartition("/")[2]: (row["verdict"], row["error"]) for row in rows
              if row["verdict"] not in ("dangerous", "suspicious")}
    assert passed == {} and len(rows) == 100 and made.exit_code == 4
    assert os.listdir(tmp_path / "out") == ["t.jsonl"]


def test_a_file_that_is_not_there(tmp_path):
    made = survey(tmp_path / "no.pt", output=tmp_path / "t.jsonl")
    assert made.rows == made.errors == 1 and made.exit_code == 2
    assert "FileNotFoundError" in rows_of(tmp_path / "t.jsonl")[0]["error"]


def test_nothing_is_not_fine(tmp_path):
    (tmp_path / "empty").mkdir()
    made = survey(tmp_path / "empty", output=tmp_path / "t.jsonl")
    assert made.rows == 0 and made.exit_code == 2


def test_a_list_and_a_pattern(models, tmp_path):
    (tmp_path / "list.txt").write_text(f"# models\n{models}\n\n{models}\n")
    made = survey(f"@{tmp_path / 'list.txt'}", output=tmp_path / "t.jsonl", match=["*.safetensors"])
    assert made.rows == 6 and made.exit_code == 0


def test_a_second_run_looks_only_at_what_changed(models, tmp_path):
    survey(models, output=tmp_path / "t.jsonl")
    before = {row["uri"]: row for row in rows_of(tmp_path / "t.jsonl")}
    changed = models / "net1.safetensors"
    safetensors(changed, 5, 4096, "other")
    made = survey(models, output=tmp_path / "t.jsonl")
    after = {row["uri"]: row for row in rows_of(tmp_path / "t.jsonl")}
    assert made.reused == 8 and made.rows == len(after) == 9
    assert {uri for uri in after if after[uri] != before[uri]} == {str(changed)}
    assert after[str(changed)]["tensors"] == 5


def test_tables_for_others(models, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    survey(models, output=tmp_path / "t.parquet", tensors=tmp_path / "tensors.parquet")
    survey(models, output=tmp_path / "t.jsonl")
    table = {row["uri"]: row for row in parquet.read_table(tmp_path / "t.parquet").to_pylist()}
    lines = {row["uri"]: row for row in rows_of(tmp_path / "t.jsonl")}
    assert table.keys() == lines.keys()
    for uri, row in table.items():
        row["dtypes"] = dict(row["dtypes"]) if row["dtypes"] is not None else None
        assert {**row, "seconds": 0} == {**lines[uri], "seconds": 0}
    assert parquet.read_table(tmp_path / "tensors.parquet").num_rows == sum(
        row["tensors"] or 0 for row in lines.values())
    made = survey(models, output=tmp_path / "t.parquet")
    assert made.reused == 9 and parquet.read_table(tmp_path / "t.parquet").num_rows == 9


def test_processes_give_the_same(models, tmp_path):
    survey(models, output=tmp_path / "one.jsonl")
    survey(models, output=tmp_path / "two.jsonl", processes=2)
    one, two = ({row["uri"]: {**row, "seconds": 0} for row in rows_of(tmp_path / name)}
                for name in ("one.jsonl", "two.jsonl"))
    assert one == two


def test_kills_lose_and_double_nothing(tmp_path):
    """kill -9 at random times, until a run comes to its end."""
    folder = tmp_path / "models"
    folder.mkdir()
    for i in range(300):
        safetensors(folder / f"{i}.safetensors", 3, 4096)
    code = "import sys, pellucid; pellucid.survey(sys.argv[1], output=sys.argv[2], workers=2)"
    chance, kills = random.Random(7), 0
    with Served(folder, delay=0.01) as server:
        (tmp_path / "list.txt").write_text("\n".join(server.url("ok", f"{i}.safetensors") for i in range(300)))
        code = code.replace("workers=2", "workers=2, insecure=True")
        while True:
            child = subprocess.Popen([sys.executable, "-c", code, f"@{tmp_path / 'list.txt'}", tmp_path / "t.jsonl"])
            try:
                assert child.wait(chance.uniform(0.3, 1.5) if kills < 10 else 120) == 0
                break
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
                kills += 1
    rows = rows_of(tmp_path / "t.jsonl")
    assert len(rows) == len({row["uri"] for row in rows}) == 300 and kills >= 1
    assert {row["verdict"] for row in rows} == {"harmless"}


def test_a_line_that_was_not_ended(models, tmp_path):
    survey(models, output=tmp_path / "t.jsonl")
    whole = (tmp_path / "t.jsonl").read_bytes()
    os.remove(tmp_path / "t.jsonl")
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        (tmp_path / "t.jsonl.journal").write_bytes(whole[:cut])
        assert survey(models, output=tmp_path / "t.jsonl").rows == 9
        assert len({row["uri"] for row in rows_of(tmp_path / "t.jsonl")}) == 9
        os.remove(tmp_path / "t.jsonl")


def test_ray(models, tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    survey(models, output=tmp_path / "local.jsonl")
    try:
        survey(models, output=tmp_path / "ray.jsonl", engine="ray", processes=2)
    finally:
        ray.shutdown()
    local, far = ({row["uri"]: {**row, "seconds": 0} for row in rows_of(tmp_path / name)}
                  for name in ("local.jsonl", "ray.jsonl"))
    assert local == far


def test_ray_replaces_workers_that_die(tmp_path):
    """The batch of a worker that was killed is done again, by another: no row is lost or doubled."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    folder = tmp_path / "models"
    folder.mkdir()
    for i in range(400):
        safetensors(folder / f"{i}.safetensors", 3, 4096)
    killed = []

    def kill_one(done: int) -> None:
        if done in (64, 192):
            found = subprocess.run(["pgrep", "-f", "ray::_batch"], capture_output=True, text=True).stdout.split()
            for process in found[:1]:
                os.kill(int(process), signal.SIGKILL)
                killed.append(process)

    with Served(folder, delay=0.02) as server:
        urls = [server.url("ok", f"{i}.safetensors") for i in range(400)]
        try:
            survey(*urls, output=tmp_path / "t.jsonl", engine="ray", processes=2, workers=4, insecure=True,
                   progress=kill_one)
        finally:
            ray.shutdown()
    rows = rows_of(tmp_path / "t.jsonl")
    assert len(rows) == len({row["uri"] for row in rows}) == 400 and killed
    assert {row["verdict"] for row in rows} == {"harmless"}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_a_cluster_gives_the_same_rows_for_two_thousand_models(tmp_path, engine):
    library = pytest.importorskip({"ray": "ray", "dask": "distributed"}[engine], reason=f"{engine} is not installed")
    folder = tmp_path / "models"
    folder.mkdir()
    for i in range(2000):
        safetensors(folder / f"{i}.safetensors", 1 + i % 7, 4096, f"part{i % 3}")
    (folder / "7.safetensors").write_bytes(torch_archive(b"\x80\x02" + CALL))
    survey(folder, output=tmp_path / "local.jsonl")
    try:
        survey(folder, output=tmp_path / "far.jsonl", engine=engine, processes=2, workers=4)
    finally:
        if engine == "ray":
            library.shutdown()
    local, far = ({row["uri"]: {**row, "seconds": 0} for row in rows_of(tmp_path / name)}
                  for name in ("local.jsonl", "far.jsonl"))
    assert len(far) == 2000 and local == far and sum(row["verdict"] == "dangerous" for row in far.values()) == 1


def test_the_queries_of_the_docs(models, tmp_path, monkeypatch):
    """docs/scale.md: copies and fine-tunes are found together, and what is not harmless is listed."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.chdir(tmp_path)
    survey(models, output=tmp_path / "models.parquet")
    text = (pathlib.Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    families, unsafe = text.partition("```sql\n")[2].partition("```")[0].split(";")[:2]
    found = [set(map(os.path.basename, row[-1])) for row in duckdb.sql(families).fetchall() if row[0]]
    assert not any("bad.pt" in group for group in found) and all(len(group) > 1 for group in found)
    listed = {os.path.basename(row[0]) for row in duckdb.sql(unsafe).fetchall()}
    assert listed == {"bad.pt", "broken.pt", "notes.txt"}


def test_dask(models, tmp_path):
    pytest.importorskip("distributed", reason="dask's distributed is not installed")
    survey(models, output=tmp_path / "local.jsonl")
    survey(models, output=tmp_path / "dask.jsonl", engine="dask", processes=2)
    local, far = ({row["uri"]: {**row, "seconds": 0} for row in rows_of(tmp_path / name)}
                  for name in ("local.jsonl", "dask.jsonl"))
    assert local == far


# ---- queries of the hub ----

@pytest.fixture
def hub(models, monkeypatch):
    """250 repositories, three pages of them; one in ten has a file that runs a command."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    repositories = {f"{'org' if i % 2 else 'other'}/net-{'tiny' if i % 5 else 'large'}-{i}": {
        "model.safetensors": models / f"net{i % 6}.safetensors",
        **({"old/weights.pt": models / "bad.pt"} if i % 10 == 0 else {})} for i in range(250)}
    with Hub(models, repositories) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
        import huggingface_hub.constants  # the endpoint is read when it is imported
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.endpoint)
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE",
                            server.endpoint + "/{repo_id}/resolve/{revision}/{filename}")
        yield server, repositories


@pytest.mark.parametrize("query, fits", [
    ("hf://org", lambda name: name.startswith("org/")),
    ("hf://?author=other&search=large", lambda name: name.startswith("other/") and "large" in name),
])
def test_a_query_of_the_hub(hub, tmp_path, query, fits):
    server, repositories = hub
    made = survey(query, output=tmp_path / "t.jsonl", insecure=True)
    wanted = {f"hf://{name}@{'c' * 40}/{file}" for name, files in repositories.items() if fits(name) for file in files}
    rows = rows_of(tmp_path / "t.jsonl")
    assert {row["uri"] for row in rows} == wanted and made.rows == len(wanted) and made.errors == 0
    for row in rows:
        assert row["verdict"] == ("dangerous" if row["uri"].endswith("weights.pt") else "harmless"), row
    for how, path, headers in server.seen:  # a token goes to its host alone
        assert "Authorization" not in headers or (how == "hub" and headers["Host"].startswith("127.0.0.1")), path


def test_a_query_with_a_limit(hub, tmp_path):
    assert survey("hf://?search=tiny&limit=7", output=tmp_path / "t.jsonl", insecure=True).rows == 7


@pytest.mark.parametrize("query, why", [("hf://?serach=x", "serach"), ("hf://?limit=many", "limit"),
                                        ("hf://?", "looks for"), ("hf://org?author=org", "once")])
def test_bad_queries_are_rows_with_an_error(hub, tmp_path, query, why):
    made = survey(query, output=tmp_path / "t.jsonl", insecure=True)
    (row,) = rows_of(tmp_path / "t.jsonl")
    assert made.errors == 1 and made.exit_code == 2 and why in row["error"]


def test_a_hub_that_fails_in_the_middle(hub, tmp_path):
    """What was listed before is looked at; that more is missing is a row, and no exit code hides it."""
    server, repositories = hub
    table = server.served.server.repositories
    server.served.server.repositories = Breaking(table)
    made = survey("hf://org", output=tmp_path / "t.jsonl", insecure=True)
    rows = rows_of(tmp_path / "t.jsonl")
    assert made.errors == 1 and [row["uri"] for row in rows if row["error"]] == ["hf://org"] and len(rows) > 50


class Breaking(dict):
    """Repositories of which the second page can't be listed."""

    def __iter__(self):
        self.times = getattr(self, "times", 0) + 1
        if self.times > 1:
            raise OSError("the hub's disk")
        return super().__iter__()


def test_bad_options(models, tmp_path):
    with pytest.raises(SurveyError, match="parquet or .jsonl"):
        survey(models, output=tmp_path / "t.csv")
    with pytest.raises(SurveyError, match="no folder"):
        survey(models, output=tmp_path / "no" / "t.jsonl")
    with pytest.raises(SurveyError, match="engine"):
        survey(models, output=tmp_path / "t.jsonl", engine="spark")


def test_the_program(models, tmp_path, pellucid, monkeypatch):
    monkeypatch.setenv("PELLUCID_PYTHON", sys.executable)
    done = pellucid("survey", models, "-o", tmp_path / "t.jsonl", "--json")
    assert done.code == 4 and json.loads(done.out)["rows"] == 9, done.err
    done = pellucid("survey", models, "-o", tmp_path / "t.csv")
    assert done.code == 1 and "parquet" in done.err


# ---- families ----

def network(*blocks, prefix="model"):
    def node(name, shapes, children=()):
        return {"name": name, "parameters": shapes, "buffers": {}, "children": list(children)}
    return [{"tree": [node("", {}, [node(prefix, {}, [node(str(i), block) for i, block in enumerate(blocks)])])]}]


def test_the_hash_of_an_architecture():
    wide, narrow = {"weight": [8, 8], "bias": [8]}, {"weight": [4, 4]}
    same = architecture_of(network(wide, wide))
    assert same == architecture_of(network(wide, wide, wide)), "repeats don't count"
    assert same == architecture_of(network(wide, wide, prefix="module")), "names don't count"
    assert same == architecture_of(network({"w": [8, 8], "b": [8]}, wide)), "names of tensors don't count"
    assert len({same, architecture_of(network(narrow, narrow)), architecture_of(network(wide, narrow)),
                architecture_of(network(wide, narrow, wide)), architecture_of(network({"weight": [8, 8]}))}) == 5


def test_fits():
    wanted = {"a.weight": [4, 2], "a.bias": [4], "b.weight": ["n", 4]}
    state = {"a.weight": [4, 2], "a.bias": [4], "b.weight": [10, 4]}
    assert fit(state, wanted) == "yes"
    assert fit({f"model.{name}": shape for name, shape in state.items()}, wanted) == "yes"
    assert fit({**state, "c": [1]}, wanted).startswith("no: 0 missing, 1 unexpected")
    assert fit({**state, "a.bias": [5]}, wanted) == "no: 0 missing, 0 unexpected, 1 of other shape"
    assert fit({}, wanted).startswith("no: 3 missing")


# ---- archives whose tensors' headers are left unread ----

def archive_of(path: pathlib.Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def state_of(keys: list[str], count: int) -> bytes:
    """The pickle of a dict of float32 tensors, as torch.save writes it."""
    out = b"\x80\x02}("
    for key in keys:
        name = f"w{key}".encode()
        out += b"X" + len(name).to_bytes(4, "little") + name + b"ctorch._utils\n_rebuild_tensor_v2\n(("
        out += b"X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        out += b"X" + len(key).to_bytes(4, "little") + key.encode()
        out += b"X\x03\x00\x00\x00cpuJ" + count.to_bytes(4, "little") + b"tQK\x00J" + count.to_bytes(4, "little")
        out += b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
    return out + b"u."


def test_headers_of_tensors_are_left_unread(tmp_path):
    keys = [str(i) for i in range(40)]
    archive_of(tmp_path / "net.pt", {"archive/data.pkl": state_of(keys, 50_000), "archive/version": b"3\n",
                                     **{f"archive/data/{key}": bytes(200_000) for key in keys}})
    with Served(tmp_path) as server:
        row = row_of(server.url("ok", "net.pt"), Limits(insecure=True))
        assert len(server.seen) <= 4
    assert (row["verdict"], row["tensors"], row["parameters"]) == ("harmless", 40, 2_000_000), row
    assert row["bytes_read"] < 300_000 and "40 tensors were not read" in " ".join(row["findings"])


@pytest.mark.parametrize("hidden", ["a member that no pickle reads", "the pickle's header", "two of one name"])
def test_what_is_left_unread_hides_nothing(tmp_path, hidden):
    keys, members = ["0", "1"], {"archive/data.pkl": state_of(["0", "1"], 50_000)}
    members |= {f"archive/data/{key}": bytes(200_000) for key in keys}
    if hidden == "a member that no pickle reads":
        members["archive/data/7"] = b"\x80\x02" + CALL
    archive_of(tmp_path / "net.pt", members)
    data = bytearray((tmp_path / "net.pt").read_bytes())
    if hidden == "the pickle's header":
        at = data.index(b"archive/data.pkl")  # in the local header, which comes first
        data[at:at + 16] = b"archive/Data.pkl"
    elif hidden == "two of one name":
        at = data.rindex(b"archive/data/1")
        data[at:at + 14] = b"archive/data/0"
    (tmp_path / "net.pt").write_bytes(data)
    with Served(tmp_path) as server:
        far = row_of(server.url("ok", "net.pt"), Limits(insecure=True))
    assert far["verdict"] in ("dangerous", "suspicious"), far

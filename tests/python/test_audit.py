"""Hostile files: nothing runs, nothing is written, the finding is named, within a second and 200 MB. And no false
alarms."""

from __future__ import annotations

import collections
import io
import json
import marshal
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import zipfile
from typing import Any, Callable

import pytest

from conftest import PROGRAM, ROOT

SAMPLES = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "files"

CALL = b"cposix\nsystem\n(S'touch MARKER'\ntR."


def archive(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def torch_archive(data: bytes, *more: tuple[str, bytes]) -> bytes:
    return archive(("archive/data.pkl", data), ("archive/version", b"3\n"), *more)


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new):]


def duplicate() -> bytes:
    return archive(("archive/data.pkl", b"\x80\x02" + CALL), ("archive/data.pkl", b"\x80\x02}."))


def other_case() -> bytes:
    return archive(("archive/data.pkl", b"\x80\x02}."), ("archive/DATA.PKL", b"\x80\x02" + CALL))


def bad_checksum() -> bytes:
    made = torch_archive(b"\x80\x02}q\x00X\x01\x00\x00\x00aK\x01s.")
    at = made.index(b"aK\x01s")
    return patched(made, at, b"b")


def encrypted_in_directory() -> bytes:
    made = torch_archive(b"\x80\x02}.")
    at = made.index(b"PK\x01\x02")
    return patched(made, at + 8, b"\x01\x00")


def other_local_name() -> bytes:
    made = torch_archive(b"\x80\x02}.")
    return patched(made, made.index(b"archive/data.pkl"), b"archive/date.pkl")


def second_directory() -> bytes:
    return torch_archive(b"\x80\x02" + CALL) + torch_archive(b"\x80\x02}.")


def laughs() -> bytes:
    data = b"\x80\x02]q\x00"
    for i in range(60):
        data += b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1])
    return data + b"."


def dotted(module: bytes, name: bytes) -> bytes:
    return b"\x80\x04\x8c" + bytes([len(module)]) + module + b"\x8c" + bytes(
        [len(name)]) + name + b"\x93\x8c\x02id\x85R."


def new(module: bytes, name: bytes, after: bytes = b"") -> bytes:
    """module.name.__new__(module.name), and what is done with it then."""
    head = b"\x80\x04\x8c" + bytes([len(module)]) + module + b"\x8c" + bytes([len(name)]) + name
    return head + b"\x93)\x81" + after + b"."


def nested(depth: int) -> bytes:
    data = b"\x80\x02" + CALL
    for _ in range(depth):
        data = b"\x80\x03c_pickle\nloads\nB" + struct.pack("<I", len(data)) + data + b"\x85R."
    return data


def marshalled() -> bytes:
    code = marshal.dumps(compile("import os\nos.system('touch MARKER')\n", "x", "exec"))
    return b"\x80\x03cbuiltins\nexec\ncmarshal\nloads\nB" + struct.pack("<I", len(code)) + code + b"\x85R\x85R."


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", b"\x80\x02}.")
        file.writestr("archive/data/0", bytes(200 << 20))
    return out.getvalue()


def bomb_pickle() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", b"\x80\x02" + b"N0" * (100 << 20) + b"}.")
    return out.getvalue()


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(begin: int, end: int, shape: list[int]) -> dict[str, Any]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}


# name: (bytes, exit code, a finding's kind or a part of its text)
HOSTILE: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "call": (lambda: torch_archive(b"\x80\x02" + CALL), 4, "posix.system('touch MARKER')"),
    "raw_pickle": (lambda: CALL, 4, "posix.system('touch MARKER')"),
    "inst": (lambda: b"(S'touch MARKER'\niposix\nsystem\n.", 4, "posix.system('touch MARKER')"),
    "obj": (lambda: b"(cposix\nsystem\nS'touch MARKER'\no.", 4, "posix.system('touch MARKER')"),
    "newobj_ex": (lambda: b"\x80\x04cposix\nsystem\n)}\x92.", 4, "posix.system"),
    "duplicate_member": (duplicate, 4, "duplicate-member"),
    "duplicate_member_runs": (duplicate, 4, "posix.system('touch MARKER')"),
    "other_case": (other_case, 4, "duplicate-member"),
    "checksum": (bad_checksum, 4, "checksum"),
    "encrypted": (encrypted_in_directory, 4, "encrypted"),
    "local_name": (other_local_name, 4, "headers-disagree"),
    "second_directory": (second_directory, 4, "several-directories"),
    "path": (lambda: torch_archive(b"\x80\x02}.", ("archive/../../x", b"")), 4, "path"),
    "bomb": (bomb, 4, "zip-bomb"),
    "bomb_pickle": (bomb_pickle, 4, "zip-bomb"),
    "laughs": (lambda: torch_archive(laughs()), 4, "exponential"),
    "memo_index": (lambda: torch_archive(b"\x80\x02}r\xff\xff\xff\xff."), 4, "memo-index"),
    "dotted": (lambda: torch_archive(dotted(b"torch.serialization", b"os.system")), 4, "torch.serialization.os.system"),
    "dotted_builtins": (lambda: dotted(b"collections", b"abc.sys.modules"), 4, "collections.abc.sys.modules"),
    "dotted_dunder": (lambda: dotted(b"__main__", b"Net.__init__.__globals__"), 4, "__globals__"),
    "unicode_escape": (lambda: b"\x80\x04V\\u0070osix\nVsyst\\u0065m\n\x93\x8c\x02id\x85R.", 4, "posix.system('id')"),
    "string_escape": (lambda: b"\x80\x04S'p\\x6fsix'\nS'syst\\145m'\n\x93\x8c\x02id\x85R.", 4, "posix.system('id')"),
    "computed_name": (lambda: b"\x80\x04cbuiltins\nstr\nC\x05posix\x8c\x05ascii\x86R\x8c\x06system\x93\x8c\x02id\x85R.",
                      4, "computed-name"),
    "before_fault": (lambda: torch_archive(b"\x80\x02" + CALL[:-1] + b"\xff"), 4, "posix.system('touch MARKER')"),
    "nested": (lambda: torch_archive(nested(2)), 4, "posix.system('touch MARKER')"),
    "nested_deep": (lambda: nested(50), 4, "nesting"),
    "marshalled": (marshalled, 4, 'os.system("touch MARKER")'),
    "timeit": (lambda: dotted(b"timeit", b"timeit"), 4, "timeit.timeit('id')"),
    "torch_load": (lambda: dotted(b"torch", b"load"), 4, "torch.load('id')"),
    "torch_hub": (lambda: dotted(b"torch.hub", b"load"), 4, "torch.hub.load('id')"),
    "graph_module": (lambda: dotted(b"torch.fx.graph_module", b"reduce_graph_module"), 4, "reduce_graph_module"),
    "numpy_load": (lambda: dotted(b"numpy", b"load"), 4, "numpy.load('id')"),
    "stdlib_function": (lambda: dotted(b"linecache", b"getlines"), 4, "linecache.getlines('id')"),
    "getattr": (lambda: b"\x80\x02cbuiltins\ngetattr\ncbuiltins\n__import__\nX\x02\x00\x00\x00os\x86R.", 4, "getattr"),
    "call_of_result": (lambda: b"\x80\x02cfunctools\npartial\ncposix\nsystem\n\x85R)R.", 4, "calls-result"),
    "reference": (lambda: b"\x80\x02cposix\nsystem\n.", 4, "imports"),
    "change_of_class": (lambda: b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00xK\x01sb.", 4, "changes"),
    "del_of_library_class": (lambda: new(b"numpy.lib._datasource", b"DataSource",
                                         b"}(X\x0b\x00\x00\x00_istmpdest\x88ub"), 4, "DataSource"),
    "setstate_of_library_class": (lambda: new(b"torch.utils.data.datapipes.datapipe",
                                              b"_IterDataPipeSerializationWrapper", b"C\x01.\x89\x86b"), 4, "state"),
    "setstate_that_runs_text": (lambda: new(b"scipy.stats._continuous_distns", b"norm_gen", b"}b"), 4, "norm_gen"),
    "new_that_evaluates": (lambda: new(b"sympy.series.order", b"Order"), 4, "sympy.series.order.Order"),
    "new_of_somebody": (lambda: new(b"somebody.models", b"Net", b"}b"), 4, "calls-unknown"),
    "capital_letter": (lambda: dotted(b"torch._C", b"PyTorchFileWriter"), 4, "calls-unknown"),
    "method_of_class": (lambda: dotted(b"torch._inductor.codecache", b"PyCodeCache.load"), 4, "PyCodeCache.load('id')"),
    "module_behind_module": (lambda: dotted(b"torch.fx.graph_module", b"Path.write_text"), 4, "Path.write_text('id')"),
    "sympify": (lambda: dotted(b"sympy", b"S"), 4, "sympy.S('id')"),
    "rebuild_calls_given": (lambda: b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch.hub\nload\n"
                            b"ctorch\nTensor\n)NtR.", 4, "_rebuild_from_type_v2"),
    "generator_calls_given": (lambda: b"\x80\x02cnumpy.random._pickle\n__generator_ctor\n(X\x01\x00\x00\x00x"
                              b"ctorch.hub\nload\ntR.", 4, "calls-given"),
    "factory": (lambda: b"\x80\x02ccollections\ndefaultdict\ncfunctools\npartial\nctorch.utils.collect_env\nrun\n"
                b"X\x02\x00\x00\x00id\x86R\x85R.", 4, "factory"),
    "type_with_namespace": (lambda: b"\x80\x02cbuiltins\ntype\nX\x01\x00\x00\x00X)}\x87R.", 4, "makes a class"),
    "state_shadows_setstate": (lambda: new(b"torch.nn.modules.linear", b"Identity", b"}X\x0c\x00\x00\x00__setstate__"
                                           b"ctorch.hub\nload\nsbX\x01\x00\x00\x00xb"), 4, "its state"),
    "state_shadows_method": (lambda: new(b"torch.optim.sgd", b"SGD", b"}X\x14\x00\x00\x00_patch_step_function"
                                         b"ctorch.hub\nload\nsb"), 4, "its state"),
    "field_is_no_dict": (lambda: new(b"torch.nn.modules.linear", b"Identity", b"}X\x0b\x00\x00\x00_parameters"
                                     b"ctorch.nn.modules.container\nModuleDict\n)\x81sb"), 4, "its state"),
    "appends_to_unknown": (lambda: new(b"somebody", b"List", b"(NNe"), 4, "items-unknown"),
    "changes_by_items": (lambda: b"\x80\x02ctorch.nn.modules.module\n_global_forward_hooks\nK\x01K\x01s.", 4,
                         "changes"),
    "key_of_somebody": (lambda: b"\x80\x04}" + new(b"somebody", b"Key")[2:-1] + b"K\x01s.", 4, "key-unknown"),
    "key_in_tuple": (lambda: b"\x80\x04\x8f(" + new(b"somebody", b"Key")[2:-1] + b"\x85\x90.", 4, "key-unknown"),
    "import_of_unknown": (lambda: b"\x80\x02csomebody\nNet\n.", 4, "imports-unknown"),
    "unknown_function": (lambda: dotted(b"somebody", b"function"), 4, "calls-unknown"),
    "polyglot": (lambda: b"\x80\x02}." + archive(("x", b"y")), 4, "polyglot"),
    "two_libraries": (lambda: torch_archive(b"\x80\x02}.", ("config.json", b"{}")), 4, "polyglot"),
    "inside_of_export": (lambda: archive(("x/models/model.json", b"{}"),
                                         ("x/data/sample_inputs/model.pt", torch_archive(b"\x80\x02" + CALL))), 4,
                         "posix.system('touch MARKER')"),
    "huge_length": (lambda: b"\x80\x04\x8d" + b"\xff" * 7 + b"\x0fabc.", 2, "truncated"),
    "cut_pickle": (lambda: pickle.dumps(list(range(1000)))[:500], 2, "truncated"),
    "cut_archive": (lambda: torch_archive(b"\x80\x02}.")[:90], 2, "truncated"),
    "empty": (lambda: b"", 2, "empty"),
    "deep": (lambda: b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".", 4, "deep"),
    "many_objects": (lambda: b"\x80\x02(" + b"]" * (30 << 20) + b"l.", 2, "memory"),
    "many_marks": (lambda: b"\x80\x02" + b"(" * (60 << 20) + b".", 2, "memory"),
    "many_steps": (lambda: b"\x80\x02" + b"N0" * (40 << 20) + b"N.", 2, "opcodes"),
    "header_length": (lambda: struct.pack("<Q", 1 << 62) + b"{}", 2, "does not fit"),
    "header_twice": (lambda: safetensors(b'{"a":1,"a":2}'), 2, "same key twice"),
    "header_deep": (lambda: safetensors(b'{"a":' + b"[" * 100000), 4, "deep"),
    "tensors_overlap": (lambda: safetensors({"a": tensor(0, 8, [2]), "b": tensor(4, 12, [2])}, bytes(12)), 2,
                        "overlaps"),
    "tensor_outside": (lambda: safetensors({"a": tensor(0, 8, [2])}, bytes(4)), 2, "outside"),
    "shape_overflow": (lambda: safetensors({"a": tensor(0, 0, [1 << 40, 1 << 40])}), 2, "overflow"),
    "hole": (lambda: safetensors({"a": tensor(4, 12, [2])}, bytes(12)), 4, "gap"),
}

HARMLESS: dict[str, Callable[[], bytes]] = {
    "plain": lambda: pickle.dumps({"a": [1, 2.5, None, True, "x", b"y", (1,), {2}, frozenset([3])], "b": 1 << 100}),
    "protocol_0": lambda: pickle.dumps({"a": [1, 2.5, None, True, "é\n\\", b"y"]}, protocol=0),
    "ordered": lambda: pickle.dumps(collections.OrderedDict(a=1)),
    "defaultdict": lambda: pickle.dumps(collections.defaultdict(list, a=[1])),
    "shared": lambda: pickle.dumps([[0] * 1000] * 1000),
    "path": lambda: pickle.dumps(pathlib.PurePosixPath("/x")),
    "safetensors": lambda: safetensors({"a": tensor(0, 8, [2]), "__metadata__": {"format": "pt"}}, bytes(8)),
    "module": lambda: new(b"torch.nn.modules.linear", b"Linear",
                          b"}(X\x0b\x00\x00\x00_parameters}X\x01\x00\x00\x00aK\x01ub"),
    "estimator": lambda: new(b"sklearn.linear_model._logistic", b"LogisticRegression",
                             b"}X\x10\x00\x00\x00_sklearn_versionX\x03\x00\x00\x001.9sb"),
    "whole_legacy_module": lambda: b"\x80\x02(X\x06\x00\x00\x00modulectorch.nn.modules.linear\nIdentity\nNNtQ)\x81}b.",
    "reference": lambda: b"\x80\x02}X\x01\x00\x00\x00actorch.nn.functional\nrelu\ns.",
    "partial": lambda: b"\x80\x02cfunctools\npartial\nctorch.nn.functional\nrelu\n\x85R.",
    "tuple_key": lambda: pickle.dumps({(1, "a"): 2, frozenset([3]): 4}),
}


# A small process in between: what the test itself has in memory would be counted as the program's own.
MEASURE = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
out = process.stdout.read().decode()
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


def audit(path: pathlib.Path, *options: str) -> tuple[int, str, float, int]:
    """Exit code, output, seconds of the processor and the most memory it had, in kB."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURE, PROGRAM, "audit", str(path), *options], cwd=path.parent,
                          stdout=subprocess.PIPE, check=True)
    return tuple(json.loads(done.stdout))


def check_hostile(folder: pathlib.Path, content: bytes, code: int, finding: str, is_sanitized: bool) -> None:
    path = folder / "hostile"
    path.write_bytes(content)
    got, out, seconds, memory = audit(path)
    assert (got, finding in out) == (code, True), out[:2000]
    assert [p.name for p in folder.iterdir()] == ["hostile"]
    if not is_sanitized:
        assert seconds < 1
        assert memory < 200 << 10


def check_harmless(folder: pathlib.Path, content: bytes) -> None:
    path = folder / "harmless"
    path.write_bytes(content)
    code, out, _, _ = audit(path)
    assert code == 0, out


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(tmp_path: pathlib.Path, is_sanitized: bool, name: str) -> None:
    make, code, finding = HOSTILE[name]
    check_hostile(tmp_path, make(), code, finding, is_sanitized)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_file(tmp_path: pathlib.Path, name: str) -> None:
    check_harmless(tmp_path, HARMLESS[name]())


def rows_of(out: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The verdict of each file by its names, and the summary."""
    rows = [json.loads(line) for line in out.splitlines()]
    verdicts = {pathlib.Path(name).name: row["verdict"]
                for row in rows[:-1] for name in (row["file"], *row.get("also", ()))}
    return verdicts, rows[-1]["summary"]


def test_folder_and_json(tmp_path: pathlib.Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "good.pt").write_bytes(torch_archive(b"\x80\x02}."))
    (tmp_path / "bad.pkl").write_bytes(CALL)
    (tmp_path / "notes.txt").write_text("no model")
    code, out, _, _ = audit(tmp_path)
    assert code == 4
    assert "3 files, 2 of them not harmless: 1 dangerous, 1 unknown" in out
    assert out.index("not understood:") < out.index("notes.txt: unknown")
    code, out, _, _ = audit(tmp_path, "--json")
    verdicts, summary = rows_of(out)
    assert verdicts == {"bad.pkl": "dangerous", "good.pt": "harmless", "notes.txt": "unknown"}
    assert [pathlib.Path(name).name for name in summary["not_understood"]] == ["notes.txt"]
    first = json.loads(out.splitlines()[0])
    assert first["calls"][0]["text"] == "posix.system('touch MARKER')"
    assert first["globals"] == [{"module": "posix", "name": "system"}]
    assert first["answer"]["answer"] == "wrong" and "posix.system" in first["answer"]["evidence"][0]["what"]
    code, out, _, _ = audit(tmp_path, "--quiet")
    assert "good.pt" not in out and "notes.txt" in out


LATTICE: dict[str, tuple[bytes, int]] = {  # the worst last
    "harmless": (torch_archive(b"\x80\x02}."), 0),
    "unknown": (b"just some words", 2),
    "broken": (torch_archive(b"\x80\x02}.")[:90], 2),
    "suspicious": (dotted(b"somebody", b"function"), 4),
    "dangerous": (CALL, 4),
}


def test_worst_file_decides(tmp_path: pathlib.Path) -> None:
    names = list(LATTICE)
    for name, (content, _) in LATTICE.items():
        (tmp_path / name).write_bytes(content)
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            done = subprocess.run([PROGRAM, "audit", "--json", tmp_path / first, tmp_path / second],
                                  stdout=subprocess.PIPE, check=False)
            worst = names[max(i, j)]
            verdicts, summary = rows_of(done.stdout.decode())
            assert verdicts == {first: first, second: second}
            assert summary["verdict"] == worst
            assert done.returncode == LATTICE[worst][1], (first, second)


def test_fault_hides_no_suspicion(tmp_path: pathlib.Path) -> None:
    (tmp_path / "cut").write_bytes(dotted(b"somebody", b"function")[:-1])
    code, out, _, _ = audit(tmp_path / "cut")
    assert code == 4 and "cut: suspicious" in out and "broken-pickle" in out


def test_unknown_is_allowed_only_if_asked(tmp_path: pathlib.Path) -> None:
    (tmp_path / "good.pt").write_bytes(LATTICE["harmless"][0])
    (tmp_path / "words").write_bytes(LATTICE["unknown"][0])
    assert audit(tmp_path)[0] == 2
    code, out, _, _ = audit(tmp_path, "--allow", "unknown")
    assert code == 0 and "words: unknown" in out
    (tmp_path / "cut").write_bytes(LATTICE["broken"][0])
    assert audit(tmp_path, "--allow", "unknown")[0] == 2
    assert audit(tmp_path / "not there", "--allow", "unknown")[0] == 2
    assert audit(tmp_path, "--allow", "everything")[0] == 1


def test_empty_folder_is_not_fine(tmp_path: pathlib.Path) -> None:
    (tmp_path / "inside").mkdir()
    assert audit(tmp_path)[0] == 2
    code, out, _, _ = audit(tmp_path, "--json")
    assert code == 2 and rows_of(out)[1]["verdict"] == "unknown"


def test_folder_passes_over_nothing(tmp_path: pathlib.Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "real").mkdir(parents=True)
    outside.mkdir()
    (outside / "evil").write_bytes(CALL)
    for name in ("real/UPPER.PT", "real/.hidden", "real/no_ending"):
        (folder / name).write_bytes(CALL)
    (folder / "link_to_file").symlink_to("real/UPPER.PT")
    (folder / "around").symlink_to("..")
    (folder / "real" / "back").symlink_to("../real")
    (folder / "away").symlink_to(outside)
    (folder / "away_file").symlink_to(outside / "evil")
    (folder / "nowhere").symlink_to("not there")
    os.mkfifo(folder / "pipe")
    verdicts, summary = rows_of(audit(folder, "--json")[1])
    assert verdicts == {
        "UPPER.PT": "dangerous", ".hidden": "dangerous", "no_ending": "dangerous", "link_to_file": "dangerous",
        "away": "unknown", "away_file": "unknown", "around": "unknown", "nowhere": "unknown", "pipe": "unknown"}
    assert len(summary["not_understood"]) == 5


def test_folder_of_linked_folders(tmp_path: pathlib.Path) -> None:
    """A link to a folder inside is followed, and one that leads around ends."""
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "evil.pt").write_bytes(CALL)
    (tmp_path / "a").symlink_to("z")
    for i in range(8):
        (tmp_path / "z" / f"loop{i}").symlink_to("..")
    verdicts, _ = rows_of(audit(tmp_path, "--json")[1])
    assert verdicts == {"evil.pt": "dangerous"}


def test_hugging_face_cache(tmp_path: pathlib.Path) -> None:
    blobs, snapshot = tmp_path / "models--x--y" / "blobs", tmp_path / "models--x--y" / "snapshots" / "1234"
    blobs.mkdir(parents=True)
    (snapshot / "deeper").mkdir(parents=True)
    (blobs / "abcd").write_bytes(CALL)
    (snapshot / "pytorch_model.bin").symlink_to("../../blobs/abcd")
    (snapshot / "deeper" / "more.bin").symlink_to("../../../blobs/abcd")
    (snapshot / "elsewhere.bin").symlink_to("../../../" + tmp_path.name)
    verdicts, _ = rows_of(audit(snapshot, "--json")[1])
    assert verdicts == {"pytorch_model.bin": "dangerous", "more.bin": "dangerous", "elsewhere.bin": "unknown"}


needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"no samples: {SAMPLES} is not there")


@needs_samples
def test_bad_samples(is_sanitized: bool) -> None:
    for path in sorted((SAMPLES / "bad").iterdir()):
        code, out, seconds, memory = audit(path)
        assert code in (2, 4), path
        assert "danger" in out or "suspect" in out or "unread" in out, path
        if not is_sanitized:
            assert seconds < 1 and memory < 200 << 10, path

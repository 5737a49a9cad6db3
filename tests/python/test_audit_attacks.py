"""Files that an attack on the audit found, format by format: what each would do must not pass for harmless."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import tarfile
import zipfile
import zlib
from typing import Any, Callable

import pytest
from test_audit_formats import tar

PROGRAM = os.environ.get("PELLUCID", "build/pellucid")
RUN = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."
TEMPLATE = "{% for c in [].__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}"


def verdict(path: pathlib.Path) -> tuple[str, list[str]]:
    made = subprocess.run([PROGRAM, "audit", "--json", str(path)], capture_output=True, text=True, timeout=60)
    order = ["harmless", "unknown", "broken", "suspicious", "dangerous"]
    rows = [row for row in map(json.loads, made.stdout.splitlines()) if "summary" not in row]
    worst = max((row["verdict"] for row in rows), key=order.index)
    return worst, [finding["text"] for row in rows for finding in row["findings"]]


def archive(*members: tuple[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members:
            made.writestr(name, content)
    return out.getvalue()


def npy(header: str, content: bytes = b"", version: int = 1) -> bytes:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text + content


def array(descr: str, content: bytes = b"", shape: str = "(1,)") -> bytes:
    return npy("{'descr': %s, 'fortran_order': False, 'shape': %s, }" % (descr, shape), content)


def script(*lines: str, before: str = "") -> bytes:
    code = before + "class M(Module):\n  __parameters__ = []\n  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
    code += "".join(f"    {line}\n" for line in lines)
    data = b"\x80\x02c__torch__\nM\nq\0)\x81}(X\x08\0\0\0trainingq\1\x88ubq\2."
    return archive(("m/data.pkl", data), ("m/code/__torch__.py", code), ("m/constants.pkl", b"\x80\x02)."))


def exported(node: dict[str, Any] | None = None, **more: Any) -> bytes:
    graph = {"inputs": [], "outputs": [], "nodes": [node] if node else [], "tensor_values": {}}
    return archive(("m/archive_format", "pt2"),
                   ("m/models/model.json", json.dumps({"graph_module": {"graph": graph | more}})))


def target(name: str) -> bytes:
    return exported({"target": name, "inputs": [], "outputs": [], "metadata": {}})


def device() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        info = tarfile.TarInfo("a")
        info.type = tarfile.CHRTYPE
        made.addfile(info)
    return out.getvalue()


def field(number: int, value: int | bytes) -> bytes:
    def varint(rest: int) -> bytes:
        out = bytearray()
        while True:
            out.append(rest & 127 | (128 if rest > 127 else 0))
            rest >>= 7
            if not rest:
                return bytes(out)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx(graph: bytes, *functions: bytes) -> bytes:
    return field(1, 8) + field(7, graph) + field(8, field(2, 20)) + b"".join(field(25, row) for row in functions)


def node(op: bytes, domain: bytes = b"") -> bytes:
    return field(1, field(2, b"y") + field(4, op) + field(7, domain))


def tensor(*parts: bytes, kind: int = 1) -> bytes:
    return field(5, field(2, kind) + field(8, b"c") + b"".join(parts))


def place(**words: str) -> bytes:
    return b"".join(field(13, field(1, key.encode()) + field(2, value.encode())) for key, value in words.items())


def keras(layer: dict[str, Any]) -> bytes:
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [layer]}}
    return archive(("metadata.json", json.dumps({"keras_version": "3.9.0"})), ("config.json", json.dumps(config)))


def core_ml(kind: bytes) -> bytes:
    return field(1, 5) + field(2, field(1, field(1, b"in")) + field(10, field(1, b"out"))) + kind


def safetensors(header: bytes, content: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + content


HOSTILE: dict[str, Callable[[], bytes]] = {
    # numpy
    "object_field.npy": lambda: array("[('a','<f4'),('b','|O')]", RUN),
    "object_in_field.npy": lambda: array("[('a', [('c', '|O')], (2,))]", RUN),
    "header_calls.npy": lambda: array("__import__('os').system('id')", b"1234"),
    "no_such_version.npy": lambda: npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", b"1234", 9),
    "sizes_overflow.npy": lambda: array("'<f4'", b"1234", "(99999999999, 99999999999)"),
    "elements_missing.npy": lambda: array("'<f4'", b"12"),
    "unknown_key.npy": lambda: npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1, }", b"1234"),
    "pickle_after.npy": lambda: array("'<f4'", b"1234") + RUN,
    "objects_after.npy": lambda: array("'<f4'", b"1234") + array("'|O'", RUN),
    # what follows the end
    "pickle_after.pkl.gz": lambda: gzip.compress(b"\x80\x04N.") + RUN,
    "padded.pkl": lambda: b"\x80\x04N." + bytes(512) + RUN,
    "after_nothing.safetensors": lambda: safetensors(b"{}", RUN),
    "metadata_of_objects.safetensors": lambda: safetensors(b'{"__metadata__":{"a":{"b":1}}}'),
    # TorchScript
    "script_alias.pt": lambda: script("f = torch.from_file", 'return f("/etc/passwd")'),
    "script_getattr.pt": lambda: script('return getattr(torch, "from_file")("/x")'),
    "script_image.pt": lambda: script('return ops.image.read_file("/etc/passwd")'),
    "script_library.pt": lambda: script("return ops.mylib.evil(x)"),
    "script_rpc.pt": lambda: script('return ops.prim.rpc_sync("w", x)'),
    "script_unknown.pt": lambda: script('return os.system("id")'),
    "script_imports.pt": lambda: script("return x", before="import os\n"),
    "script_class.pt": lambda: script("a = __torch__.torch.classes.my.Evil.__new__(x)", "return x"),
    "script_unreadable.pt": lambda: script("return ((("),
    # torch.export
    "from_file.pt2": lambda: target("torch.ops.aten.from_file.default"),
    "attribute.pt2": lambda: target("torch.os.system"),
    "library.pt2": lambda: target("torch.ops.mylib.evil.default"),
    "as_operator.pt2": lambda: exported({"target": "_operator.add", "outputs": [], "metadata": {},
                                         "inputs": [{"arg": {"as_operator": "torch.os.system"}}]}),
    "size.pt2": lambda: exported(sym_int_values={"s": {"as_expr": {"expr_str": "__import__('os').system('id')"}}}),
    "size_attribute.pt2": lambda: exported(sym_int_values={"s": {"as_expr": {"expr_str": "s0.func.__globals__"}}}),
    # ONNX
    "no_such_operator.onnx": lambda: onnx(node(b"SystemCall")),
    "shadowed.onnx": lambda: onnx(node(b"Relu"), field(1, b"Relu") + field(7, field(4, b"PyOp") + field(7, b"x"))),
    "calls_itself.onnx": lambda: onnx(node(b"F", b"my"), field(1, b"F") + field(10, b"my")
                                      + field(7, field(4, b"F") + field(7, b"my"))),
    "nowhere.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1), field(14, 1))),
    "no_number.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1), place(location="x.bin", offset="-1"))),
    "two_places.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1), place(location="ok.bin"),
                                                               place(location="../x"))),
    "overflow.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1 << 40), field(1, 1 << 40), field(9, b"abcd"))),
    "no_such_type.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1), field(9, b"abcd"), kind=99)),
    "numbers_twice.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 1), field(9, b"abcd"), field(5, 1), kind=6)),
    "no_numbers.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 4))),
    # archives
    "long_name.tar": lambda: tar(("a" * 120 + "/../../../etc/x", b"1")),
    "device.tar": device,
    "target.nemo": lambda: tar(("model_config.yaml", b'm: {"_tar\\x67et_": "os.system", "command": id}\n')),
    "word.nemo": lambda: tar(("model_config.yaml", b"target: os.system\n")),
    # Keras
    "own_module.keras": lambda: keras({"module": "evil.layers", "class_name": "L", "config": {}}),
    "named_lambda.keras": lambda: keras({"module": "keras.layers", "class_name": "Lambda",
                                         "config": {"name": "l", "function": "os.system"}}),
    # Core ML
    "layer.mlmodel": lambda: core_ml(field(500, field(1, field(1, b"l") + field(500, field(10, b"Evil"))))),
    "model.mlmodel": lambda: core_ml(field(555, field(10, b"Evil"))),
    "linked.mlmodel": lambda: core_ml(field(556, field(1, b"x"))),
    "pipeline.mlmodel": lambda: core_ml(field(202, field(1, core_ml(field(555, field(10, b"Evil")))))),
    # files of repositories
    "chat_template.jinja": lambda: TEMPLATE.encode(),
    "tokenizer_config.json": lambda: json.dumps({"chat_template": {"default": TEMPLATE}}).encode(),
    "modules.json": lambda: json.dumps([{"idx": 0, "name": "0", "path": "", "type": "custom_st.T"}]).encode(),
    "model_index.json": lambda: json.dumps({"_class_name": "P", "unet": ["my_unet", "U"]}).encode(),
    "custom_pipeline.json": lambda: json.dumps({"_class_name": "P", "_custom_pipeline": "evil/x"}).encode(),
    "adapter_config.json": lambda: json.dumps({"peft_type": "LORA", "auto_mapping": {
        "base_model_class": "X", "parent_library": "evil"}}).encode(),
    "config.json": lambda: json.dumps({"model_type": "x", "_attn_implementation": "evil/kernel"}).encode(),
    "component.json": lambda: json.dumps({"a": {"_component_": "os.system"}}).encode(),
    "hyperparams.yaml": lambda: b'a: !apply:os.system ["id"]\n',
    "new.yaml": lambda: b"a: !new:evil.Thing\n  args: [1]\n",
    "handle.yaml": lambda: b"%TAG !p! tag:yaml.org,2002:python/\n---\na: 1\n",
    "lightning.yaml": lambda: b"x:\n  class_path: evil.Thing\n",
    "evaluated.yaml": lambda: b'backbone:\n  - [-1, 1, __import__("os").system("id"), [64]]\n',
    "method.yaml": lambda: b"a: x.system('id')\nb: (1).system('id')\n",
    "special.yaml": lambda: b"a: ().__class__.__base__.__subclasses__()\n",
    "through.yaml": lambda: b"a: somebody.os.system\n",
    "module_of_torch.yaml": lambda: b"a: torch.os\n",
    "taken_out.yaml": lambda: b"a: getattr(somebody.os, 'system')('id')\n",
    "through.json": lambda: json.dumps({"model_type": "x", "a": "somebody.os.system"}).encode(),
    "quoted_hash.yaml": lambda: b'a: "x # y" # z\nb: "c # os.system"\n',
    "other_quotes.yaml": lambda: b"a: 'it''s # os.system'\n",
    "escaped_quote.yaml": lambda: b'a: "x \\" # os.system"\n',
    "quote_in_plain.yaml": lambda: b'a: [b "c, "d # os.system"]\n',
    "plain_goes_on.yaml": lambda: b'a: [b\n  "c, " # os.system"]\n',
    "lines_in_quotes.yaml": lambda: b'a: "b\n  # os.system"\n',
    "block_scalar.yaml": lambda: b"a: |\n  # os.system\n",
    "block_of_a_document.yaml": lambda: b"--- |\n# os.system\n",
    "no_space.yaml": lambda: b"a: b#os.system\n",
    "other_break.yaml": lambda: b"a: b # c\rd: os.system\n",
    "after_start.yaml": lambda: b'--- "b # os.system"\n',
    "comment_then_value.yaml": lambda: b"# a comment\na: os.system\n",
    "MLmodel": lambda: b"flavors:\n  python_function:\n    loader_module: evil\n",
    "start.pth": lambda: b'import os; os.system("id")\n',
    "native.so": lambda: b"\x7fELF" + bytes(60),
}

def tree_of_arguments() -> bytes:
    leaf = {"type": None, "context": None, "children_spec": []}
    default = {"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": [0, ["a"]]}
    kinds = [{"type": "builtins.dict", "context": json.dumps(["a", "b"]), "children_spec": [leaf, leaf]},
             {"type": "collections.defaultdict", "context": default, "children_spec": [leaf]}]
    tuples = {"type": "builtins.tuple", "context": "null", "children_spec": kinds}
    spec = json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": [tuples]}])
    call = [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": spec, "out_spec": spec}}]
    module = {"graph": {"inputs": [], "outputs": [], "nodes": []}, "module_call_graph": call}
    return archive(("m/archive_format", "pt2"), ("m/models/model.json", json.dumps({"graph_module": module})))


def zlib_of_window(bits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packer.compress(b"\x80\x04}.") + packer.flush()


HARMLESS: dict[str, Callable[[], bytes]] = {
    "tree.pt2": tree_of_arguments,
    "window.pkl": lambda: zlib_of_window(10),
    "checkpoint": lambda: b'model_checkpoint_path: "ckpt-1"\nall_model_checkpoint_paths: "ckpt-1"\n',
    "trees.json": lambda: b'{"learner":{"objective":{"name":"binary:logistic"}},"version":[3,2,0]}',
    "repository.zip": lambda: archive(("r/config.json", '{"model_type": "bert", "activation_function": "gelu_new"}'),
                                      ("r/model.safetensors", safetensors(b"{}"))),
    "activation.json": lambda: json.dumps({"model_type": "x", "activation_function": "torch.nn.modules.Tanh"}).encode(),
    "lora.json": lambda: json.dumps({"peft_type": "LORA", "megatron_core": "megatron.core"}).encode(),
    "fields.npy": lambda: array("[('a', '<f4'), ('b', '<i4', (2,))]", bytes(12)),
    "times.npy": lambda: array("'<M8[ns]'", bytes(8)),
    "texts.npy": lambda: array("'<U3'", bytes(12)),
    "nothing.npy": lambda: array("'<f4'", b"", "(0,)"),
    "two_arrays.npy": lambda: array("'<f4'", b"1234") + array("'<f4'", b"1234"),
    "script.pt": lambda: script("y = torch.relu(x)", "z = ops.prim.NumToTensor(1)",
                                "w = annotate(List[int], [torch.len(x)])", "return torch.add(y, z)"),
    "add.pt2": lambda: target("torch.ops.aten.add.Tensor"),
    "getitem.pt2": lambda: target("_operator.getitem"),
    "size.pt2": lambda: exported(sym_int_values={"s": {"as_expr": {
        "expr_str": "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))"}}}),
    "relu.onnx": lambda: onnx(node(b"Relu")),
    "int4.onnx": lambda: onnx(node(b"Identity") + tensor(field(1, 5), field(9, b"abc"), kind=22)),
    "half_one_by_one.onnx": lambda: onnx(node(b"Identity")
                                         + tensor(field(1, 2), field(5, 15360), field(5, 0), kind=10)),
    "chat_template.jinja": lambda: b"{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}",
    "modules.json": lambda: json.dumps([{"idx": 0, "name": "0", "path": "",
                                         "type": "sentence_transformers.models.Transformer"}]).encode(),
    "model_index.json": lambda: json.dumps({"_class_name": "P", "unet": ["diffusers", "UNet2DModel"],
                                            "safety": [None, None]}).encode(),
    "endings.yaml": lambda: b"a: .inf\nb: [defaults.yaml, runs/x.yaml, m.pickle]\nc: -.inf\nd: matrix.os\ne: .bin\n",
    "endings.json": lambda: json.dumps({"model_type": "x", "a": ".bin", "b": "defaults.yaml", "c": "."}).encode(),
    "comments.yaml": lambda: (b'# os.system\na: 1 # os.system\nb: "x # y"  # see os.system(\n'
                              b"c: it's # _target_: os.system\nd: [1, 'two', \"3\"] # !!python/object:os.system\n"
                              b'e: "two\n  lines" # os.system\nf: |  # os.system\n  # text\ng:\t# os.system\n'
                              b'  # os.system\n  - a: b c\n    "d": {e: f} # os.system\n'),
    "plain.yaml": lambda: b'a: !!str 1\nb: "no! tag"\nc: [1, 2] # !new:x\nd: os and system, evaluate (this)\n',
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_file(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name]())
    worst, texts = verdict(tmp_path / name)
    is_refused = worst == "broken" and name.endswith((".npy", ".safetensors"))  # as its library would
    assert worst in ("suspicious", "dangerous") or is_refused, texts


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_harmless_file(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / name).write_bytes(HARMLESS[name]())
    worst, texts = verdict(tmp_path / name)
    assert worst == "harmless", texts


@pytest.mark.parametrize("name, members", [
    ("one_file", ["a.pkl"]), ("plain_header", ["q.pkl"]), ("copied", ["a.txt", "b/c.pt"]), ("encrypted", [])])
def test_members_of_7z_are_listed(tmp_path: pathlib.Path, name: str, members: list[str]) -> None:
    corpus = pathlib.Path(__file__).parents[2] / "fuzz" / "corpus" / "seven_zip"
    made = subprocess.run([PROGRAM, "audit", "--json", str(corpus / name)], capture_output=True, text=True, timeout=60)
    row = json.loads(made.stdout.splitlines()[0])
    listed = [finding["member"] for finding in row["findings"] if finding["kind"] == "archive" and finding["member"]]
    assert row["verdict"] == "unknown" and made.returncode == 2 and listed == members
    assert members or "encrypted" in made.stdout


def test_the_table_of_operators_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    table = pathlib.Path(__file__).parents[2] / "src" / "load" / "audit" / "script_ops.inc"
    rows = [line.strip().strip('",') for line in table.read_text().splitlines() if line.startswith('    "')]
    names = set(rows)
    assert rows == sorted(names)  # it is searched
    assert not names & {"aten::from_file", "aten::save", "prim::rpc_sync", "prim::PythonOp"}
    schemas = {schema.name for schema in torch._C._jit_get_all_schemas()}
    assert len(names & schemas) > 1500


PARTS = [*"a#?-:,|[]{}x", "b: ", "- ", "? ", ": ", '"', "'", '"', "'", " ", "  ", "\n", "\n  ", "\n    ", " # ", " #",
         "os.system", " os.system ", ", ", "|\n", "> \n", "|-\n  ", "|2\n", "!!str ", "&x ", "*x", "--- ", "\\", "''",
         '\\"', "it's", "\r", "\t", "k: ", "\n- ", "\nk: ", "\u2028", "\x85", '"c, "', '" # os.system"']


def test_no_value_passes_for_a_comment(tmp_path: pathlib.Path) -> None:
    """Texts put together at random: a name in a value, as a reader of YAML sees it, is found."""
    yaml = pytest.importorskip("yaml", reason="PyYAML says what is a value")
    draw, hot, n = random.Random(20), set(), 0
    while n < 600:
        text = draw.choice(["", "k: "]) + "".join(draw.choice(PARTS) for _ in range(draw.randint(3, 16)))
        if "os.system" not in text:
            continue
        try:
            list(yaml.parse(text, Loader=yaml.SafeLoader))
            values = [token.value for token in yaml.scan(text, Loader=yaml.SafeLoader) if hasattr(token, "plain")]
        except yaml.YAMLError:
            continue
        (tmp_path / f"{n}.yaml").write_bytes(text.encode())
        if any(re.search(r"(?<![\w.])os\.system(?![\w.])", value, re.ASCII) for value in values):
            hot.add(f"{n}.yaml")
        n += 1
    made = subprocess.run([PROGRAM, "audit", "--json", str(tmp_path)], capture_output=True, text=True, timeout=60)
    rows = [json.loads(line) for line in made.stdout.strip().split("\n") if '"file"' in line]
    found = {pathlib.Path(row["file"]).name for row in rows if row.get("verdict") == "dangerous"}
    assert len(rows) >= 600 and len(hot) > 200
    assert hot <= found, [(tmp_path / name).read_bytes() for name in hot - found]

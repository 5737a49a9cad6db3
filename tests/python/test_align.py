"""`pellucid align`: which tensor of one model is which of another, and `convert --map`."""

from __future__ import annotations

import json
import random
import struct
import subprocess
from array import array
from pathlib import Path

import pytest
from conftest import PROGRAM

import pellucid

Tensors = dict[str, tuple[tuple[int, ...], list[float]]]


def count(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def made(seed: int, **shapes: tuple[int, ...]) -> Tensors:
    """Names are given with `__` for a dot."""
    rng = random.Random(seed)
    return {name.replace("__", "."): (shape, [float(rng.randint(-99, 99)) / 8 for _ in range(count(shape))])
            for name, shape in shapes.items()}


def write(path: Path, tensors: Tensors) -> str:
    header: dict[str, object] = {}
    data = b""
    for name, (shape, values) in tensors.items():
        raw = array("f", values).tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def read(path: Path) -> Tensors:
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + size])
    found: Tensors = {}
    for name, row in header.items():
        if name != "__metadata__":
            start, end = row["data_offsets"]
            values = array("f")
            values.frombytes(content[8 + size + start:8 + size + end])
            found[name] = (tuple(row["shape"]), list(values))
    return found


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


def align(tmp_path: Path, a: Tensors, b: Tensors, *options: str, code: int = 0) -> dict:
    """The map, after the tensors of `a` that it gives were written and looked at."""
    one, two = write(tmp_path / "a.safetensors", a), write(tmp_path / "b.safetensors", b)
    done = run("align", one, two, "--json", *options)
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    if found["rows"]:
        (tmp_path / "map.json").write_text(done.stdout)
        subprocess.run([PROGRAM, "convert", one, "--map", tmp_path / "map.json", "-o", tmp_path / "c.safetensors"],
                       check=True)
        found["converted"] = read(tmp_path / "c.safetensors")
        assert {name: row[0] for name, row in found["converted"].items()} == {
            row["to"]: b[row["to"]][0] for row in found["rows"]}
    return found


def sources(found: dict) -> dict[str, list[str]]:
    return {row["to"]: [piece["name"] for piece in row["from"]] for row in found["rows"]}


def rows_of(values: list[float], width: int, start: int, end: int) -> list[float]:
    return values[start * width:end * width]


# ---- by names and shapes ----

def block(i: int) -> dict[str, tuple[int, ...]]:
    return {f"blocks__{i}__norm1__weight": (4,), f"blocks__{i}__attn__qkv__weight": (12, 4),
            f"blocks__{i}__attn__qkv__bias": (12,), f"blocks__{i}__attn__proj__weight": (4, 4),
            f"blocks__{i}__norm2__weight": (4,), f"blocks__{i}__mlp__fc1__weight": (8, 4),
            f"blocks__{i}__mlp__fc2__weight": (4, 8)}


def layer(i: int, order: str = "qkv") -> dict[str, tuple[int, ...]]:
    names = {"q": "query", "k": "key", "v": "value"}
    attention = {f"encoder__layer__{i}__attention__{names[part]}__{kind}": (4, 4) if kind == "weight" else (4,)
                 for part in order for kind in ("weight", "bias")}
    return {**attention, f"encoder__layer__{i}__attention__output__dense__weight": (4, 4),
            f"encoder__layer__{i}__intermediate__weight": (8, 4), f"encoder__layer__{i}__output__weight": (4, 8),
            f"encoder__layer__{i}__layernorm_before__weight": (4,),
            f"encoder__layer__{i}__layernorm_after__weight": (4,)}


@pytest.mark.parametrize("order", ["qkv", "kvq"])
def test_a_fused_matrix_is_cut_in_the_order_that_its_name_says(tmp_path, order) -> None:
    a, b = made(1, **block(0), **block(1)), made(2, **layer(0, order), **layer(1, order))
    found = align(tmp_path, a, b, "--no-values")
    whole = a["blocks.1.attn.qkv.weight"][1]
    for part, at in (("query", 0), ("key", 4), ("value", 8)):
        assert found["converted"][f"encoder.layer.1.attention.{part}.weight"][1] == rows_of(whole, 4, at, at + 4)
        assert (found["converted"][f"encoder.layer.1.attention.{part}.bias"][1]
                == a["blocks.1.attn.qkv.bias"][1][at:at + 4])
    got = sources(found)
    assert got["encoder.layer.0.layernorm_before.weight"] == ["blocks.0.norm1.weight"]
    assert got["encoder.layer.0.layernorm_after.weight"] == ["blocks.0.norm2.weight"]
    assert got["encoder.layer.1.attention.output.dense.weight"] == ["blocks.1.attn.proj.weight"]


def test_parts_are_put_together(tmp_path) -> None:
    a, b = made(1, **layer(0), **layer(1)), made(2, **block(0), **block(1))
    found = align(tmp_path, a, b, "--no-values")
    assert found["converted"]["blocks.0.attn.qkv.weight"][1] == [
        x for part in ("query", "key", "value") for x in a[f"encoder.layer.0.attention.{part}.weight"][1]]


def test_names_that_do_not_say_the_order_inside_are_ambiguous(tmp_path) -> None:
    """query_key_value lies in blocks of heads in one library and in three blocks in the next."""
    a = made(1, h__0__query_key_value__weight=(12, 4), h__0__out__weight=(8, 4))
    b = made(2, layers__0__q_proj__weight=(4, 4), layers__0__k_proj__weight=(4, 4), layers__0__v_proj__weight=(4, 4),
             layers__0__o_proj__weight=(8, 4))
    found = align(tmp_path, a, b, "--no-values", code=4)
    assert list(sources(found)) == ["layers.0.o_proj.weight"]
    assert found["only_a"] == ["h.0.query_key_value.weight"] and len(found["only_b"]) == 3


def test_equal_shapes_whose_names_say_nothing_are_ambiguous(tmp_path) -> None:
    a = made(1, block__0__left__weight=(4, 4), block__0__right__weight=(4, 4), head__weight=(9, 4))
    b = made(2, layer__0__eins__weight=(4, 4), layer__0__zwei__weight=(4, 4), out__weight=(9, 4))
    found = align(tmp_path, a, b, "--no-values", code=3)
    assert list(sources(found)) == ["out.weight"]
    assert found["ambiguous"] == [{"to": ["layer.0.eins.weight", "layer.0.zwei.weight"],
                                   "candidates": ["block.0.left.weight", "block.0.right.weight"],
                                   "why": "equal shapes, and names that do not say which is which"}]
    assert not found["only_a"] and not found["only_b"]


def test_a_shortcut_that_comes_first_is_not_taken_for_the_last_convolution(tmp_path) -> None:
    """Both have the same shape. Sums of sizes meet before the block ends, with the wrong partner inside."""
    a = made(1, layer1__0__conv1__weight=(2, 2), layer1__0__conv2__weight=(3, 2), layer1__0__conv3__weight=(8, 2),
             layer1__0__downsample__weight=(8, 2), fc__weight=(5, 8))
    b = made(2, stages__0__0__shortcut__weight=(8, 2), stages__0__0__layer__0__weight=(2, 2),
             stages__0__0__layer__1__weight=(3, 2), stages__0__0__layer__2__weight=(8, 2), head__weight=(5, 8))
    found = align(tmp_path, a, b, "--no-values", code=3)
    assert [row["to"] for row in found["ambiguous"]] == [["stages.0.0.shortcut.weight", "stages.0.0.layer.2.weight"]]
    assert len(found["rows"]) == 3


def test_words_for_first_and_last_stand_against_the_order(tmp_path) -> None:
    a = made(1, blocks__0__norm1__weight=(4,), blocks__0__fc__weight=(8, 4), blocks__0__norm2__weight=(4,))
    b = made(2, layers__0__ln_after__weight=(4,), layers__0__lin__weight=(8, 4), layers__0__ln_before__weight=(4,))
    found = align(tmp_path, a, b, "--no-values")
    assert sources(found)["layers.0.ln_before.weight"] == ["blocks.0.norm1.weight"]


def test_linear_layers_that_are_turned(tmp_path) -> None:
    """The square one has no shape that says it: it goes as all others of the network do."""
    a = made(1, h__0__attn__c_proj__weight=(4, 4), h__0__mlp__c_fc__weight=(4, 8), h__0__mlp__c_proj__weight=(8, 4))
    b = made(2, h__0__attn__c_proj__weight=(4, 4), h__0__mlp__c_fc__weight=(8, 4), h__0__mlp__c_proj__weight=(4, 8))
    found = align(tmp_path, a, b, "--no-values")
    for name in a:
        rows, columns = a[name][0]
        assert found["converted"][name][1] == [a[name][1][r * columns + c] for c in range(columns) for r in range(rows)]


def test_experts_are_stacked_and_taken_apart(tmp_path) -> None:
    single: dict[str, tuple[int, ...]] = {"layers__0__moe__gate__weight": (2, 4)}
    for e in range(2):
        single |= {f"layers__0__moe__experts__{e}__w1__weight": (3, 4),
                   f"layers__0__moe__experts__{e}__w2__weight": (4, 3),
                   f"layers__0__moe__experts__{e}__w3__weight": (3, 4)}
    stacked = {"layers__0__mlp__gate__weight": (2, 4), "layers__0__mlp__experts__gate_up_proj": (2, 6, 4),
               "layers__0__mlp__experts__down_proj": (2, 4, 3)}
    a, b = made(1, **single), made(2, **stacked)
    found = align(tmp_path, a, b, "--no-values")
    expert = "layers.0.moe.experts.{}.{}.weight".format
    assert found["converted"]["layers.0.mlp.experts.gate_up_proj"][1] == [
        x for e in range(2) for w in ("w1", "w3") for x in a[expert(e, w)][1]]
    found = align(tmp_path, b, a, "--no-values")
    whole = b["layers.0.mlp.experts.gate_up_proj"][1]
    assert found["converted"][expert(1, "w3")][1] == whole[24 + 12:48]


def test_networks_without_anything_in_common_have_no_rows(tmp_path) -> None:
    a = made(1, a__weight=(4, 4), b__weight=(7, 3), c__weight=(50, 3))
    b = made(2, x__weight=(4, 4), y__weight=(2, 9), z__weight=(41, 5))
    found = align(tmp_path, a, b, "--no-values", code=3)
    assert not found["rows"] and [row["to"] for row in found["ambiguous"]] == [["x.weight"]]


# ---- by values ----

def renamed(tensors: Tensors, names: dict[str, str]) -> Tensors:
    return {names[name]: row for name, row in tensors.items()}


def test_values_decide_what_names_do_not(tmp_path) -> None:
    a = made(1, block__0__left__weight=(4, 4), block__0__right__weight=(4, 4), head__weight=(9, 4))
    b = renamed(a, {"block.0.left.weight": "layer.0.zwei.weight", "block.0.right.weight": "layer.0.eins.weight",
                    "head.weight": "out.weight"})
    found = align(tmp_path, a, b)
    assert sources(found)["layer.0.eins.weight"] == ["block.0.right.weight"]
    assert found["equal"] == 3 and {row["by"] for row in found["rows"]} == {"values"} and found["converted"] == b


def test_values_say_more_than_names(tmp_path) -> None:
    a = made(1, x__0__q__weight=(4, 4), x__0__k__weight=(4, 4))
    b = renamed(a, {"x.0.q.weight": "x.0.k.weight", "x.0.k.weight": "x.0.q.weight"})
    assert sources(align(tmp_path, a, b))["x.0.k.weight"] == ["x.0.q.weight"]


def test_what_names_say_and_values_deny_is_not_said(tmp_path) -> None:
    """All but one tensor are the same: the one of that shape that is left is another one."""
    a = made(1, a__weight=(4, 4), b__weight=(5, 3), c__0__first__weight=(7, 2))
    b = {"x.weight": a["a.weight"], "y.weight": a["b.weight"], **made(9, z__0__other__weight=(7, 2))}
    found = align(tmp_path, a, b, code=3)
    assert set(sources(found)) == {"x.weight", "y.weight"} and found["ambiguous"][0]["to"] == ["z.0.other.weight"]


def test_parts_are_found_by_values_wherever_they_lie(tmp_path) -> None:
    a = made(1, h__0__query_key_value__weight=(12, 4), h__0__query_key_value__bias=(12,))
    weight, bias = a["h.0.query_key_value.weight"][1], a["h.0.query_key_value.bias"][1]
    b: Tensors = {}
    for i, part in enumerate(("v", "q", "k")):  # in an order that nobody would guess
        b[f"layers.0.{part}_proj.weight"] = ((4, 4), rows_of(weight, 4, 4 * i, 4 * i + 4))
        b[f"layers.0.{part}_proj.bias"] = ((4,), bias[4 * i:4 * i + 4])
    found = align(tmp_path, a, b)
    assert found["equal"] == 6 and found["converted"] == b
    found = align(tmp_path, b, a)
    assert found["equal"] == 2 and found["converted"] == a


def test_a_square_is_turned_where_its_values_are(tmp_path) -> None:
    a = made(1, h__0__attn__c_proj__weight=(4, 4), h__0__mlp__weight=(9, 4))
    values = a["h.0.attn.c_proj.weight"][1]
    b = {**a, "h.0.attn.c_proj.weight": ((4, 4), [values[4 * r + c] for c in range(4) for r in range(4)])}
    found = align(tmp_path, a, b)
    assert found["equal"] == 2 and found["converted"] == b


def test_constants_prove_nothing(tmp_path) -> None:
    ones = {f"blocks.0.norm{i}.weight": ((4,), [1.0] * 4) for i in (1, 2)}
    a = {**ones, **made(1, blocks__0__fc__weight=(8, 4))}
    b = renamed(a, {"blocks.0.norm1.weight": "layers.0.ln_before.weight",
                    "blocks.0.norm2.weight": "layers.0.ln_after.weight", "blocks.0.fc.weight": "layers.0.fc.weight"})
    found = align(tmp_path, a, b)
    assert (found["equal"], found["constant"]) == (1, 2)
    assert sources(found)["layers.0.ln_after.weight"] == ["blocks.0.norm2.weight"]


def test_a_head_that_one_file_has_twice(tmp_path) -> None:
    a = made(1, embed__weight=(9, 4), fc__weight=(5, 4))
    b = {"tokens.weight": a["embed.weight"], "linear.weight": a["fc.weight"], "lm_head.weight": a["embed.weight"]}
    found = align(tmp_path, a, b)
    assert sources(found)["lm_head.weight"] == ["embed.weight"] and found["converted"] == b
    assert not align(tmp_path, b, a)["only_a"]


def test_other_weights_are_said_to_be_others(tmp_path) -> None:
    found = align(tmp_path, made(1, **block(0)), made(2, **block(0)))
    assert found["equal"] == 0 and found["differ"] == 7 and {row["values"] for row in found["rows"]} == {"differ"}


# ---- the map ----

def test_a_map_that_does_not_fit_is_refused(tmp_path) -> None:
    a = made(1, a__weight=(4, 4), b__weight=(5, 3))
    align(tmp_path, a, a)
    other = write(tmp_path / "other.safetensors", made(1, a__weight=(4, 2), b__weight=(5, 3)))
    written = json.loads((tmp_path / "map.json").read_text())
    for change, said in (({}, "a.weight has another shape"), ({"from": [{"name": "none"}]}, "none is not in it"),
                         ({"from": [{"name": "b.weight", "rows": [3, 9]}]}, "b.weight has another shape"),
                         ({"from": [{"name": "b.weight", "rows": [3, 3]}]}, "b.weight has no such rows"),
                         ({"order": [0, 0]}, "a.weight has no order"), ({"from": []}, "a.weight has no source"),
                         ({"shape": [-1]}, "where a number belongs"), ({"to": ""}, "a row has no name")):
        bad = {**written, "rows": [{**written["rows"][0], **change}]}
        (tmp_path / "bad.json").write_text(json.dumps(bad))
        done = run("convert", other, "--map", tmp_path / "bad.json", "-o", tmp_path / "no.safetensors")
        assert done.returncode in (1, 2) and said in done.stderr and not (tmp_path / "no.safetensors").exists()
    (tmp_path / "bad.json").write_text("{}")
    done = run("convert", other, "--map", tmp_path / "bad.json", "-o", tmp_path / "no.safetensors")
    assert done.returncode in (1, 2) and "align --json writes" in done.stderr


def test_a_map_is_applied_piece_by_piece(tmp_path) -> None:
    """Whatever is cut and joined, the memory is that of the tables."""
    rows = 3 << 9
    whole = ((rows, 256), [float(i % 251) for i in range(rows * 256)])
    a: Tensors = {"h.0.qkv.weight": whole}
    third = rows // 3 * 256
    b: Tensors = {f"layers.0.{part}_proj.weight": ((rows // 3, 256), whole[1][i * third:(i + 1) * third])
                  for i, part in enumerate("qkv")}
    for one, two in ((a, b), (b, a)):
        paths = write(tmp_path / "a.safetensors", one), write(tmp_path / "b.safetensors", two)
        (tmp_path / "map.json").write_text(run("align", "--json", "--no-values", *paths).stdout)
        done = run("convert", paths[0], "--map", tmp_path / "map.json", "-o", tmp_path / "c.safetensors",
                   "--memory", "1")
        assert done.returncode == 0, done.stderr
        assert read(tmp_path / "c.safetensors") == two


def test_the_function_gives_what_the_map_gives(tmp_path) -> None:
    torch = pytest.importorskip("torch", reason="the function joins and cuts tensors of torch")
    a, b = made(1, **layer(0), **layer(1)), made(2, **block(0), **block(1))
    for one, two in ((a, b), (b, a)):
        converted = align(tmp_path, one, two, "--no-values")["converted"]
        found = pellucid.align(tmp_path / "a.safetensors", tmp_path / "b.safetensors", values=False)
        assert found and not found.proved and "by names and shapes only" in str(found)
        state = {name: torch.tensor(values).reshape(shape) for name, (shape, values) in one.items()}
        result = found.convert(state)
        assert {name: (tuple(t.shape), t.flatten().tolist()) for name, t in result.items()} == converted
        assert "for i in range(2):" in found.source()
        found.save(tmp_path / "saved.json")
        written = pellucid.convert(tmp_path / "a.safetensors", tmp_path / "d.safetensors", map=tmp_path / "saved.json")
        assert read(Path(written.path)) == converted
    same = pellucid.align(tmp_path / "a.safetensors", tmp_path / "a.safetensors")
    assert same.proved and same.exit_code == 0 and not same.ambiguous and not same.only_a and not same.only_b


@pytest.mark.parametrize("name", ['"); import os; os._exit(3)  #', "a'b\\", "{i}.0", "x\n0", "ü.0"])
def test_names_stay_names_in_the_function(tmp_path, name) -> None:
    a = {f"{name}.{i}.w": row for i, row in enumerate(made(1, a=(4, 4), b=(4, 4)).values())}
    one = write(tmp_path / "a.safetensors", a)
    done = run("align", one, one, "-o", tmp_path / "map.py")
    if "{" in name:
        assert done.returncode == 2 and "braces" in done.stderr and not (tmp_path / "map.py").exists()
        return
    assert done.returncode == 0 and "\n0" not in done.stdout
    space: dict = {}
    exec((tmp_path / "map.py").read_text(), space)
    state = {key: object() for key in a}
    assert space["convert"](state) == state


def test_code_against_a_file(tmp_path) -> None:
    path = write(tmp_path / "b.safetensors", made(1, net__fc__weight=(3, 2), net__fc__bias=(3,)))
    code = "from torch import nn; model = nn.Sequential(nn.Linear(2, 3))"
    done = run("align", "-e", code, path)
    assert done.returncode == 0 and "by names and shapes only" in done.stdout


def test_compare_says_that_align_helps(tmp_path) -> None:
    """Where no rename explains the names, and only there."""
    path = write(tmp_path / "b.safetensors", made(1, **{name.replace("blocks", "layers"): shape for i in range(2)
                                                        for name, shape in layer(i).items()}))
    code = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.RMSNorm(4)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(4, 12), "proj": nn.Linear(4, 4, bias=False)})
        self.norm2 = nn.RMSNorm(4)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(4, 8, bias=False), "fc2": nn.Linear(8, 4, bias=False)})

model = nn.ModuleDict({"blocks": nn.ModuleList([Block() for _ in range(2)])})
"""
    done = run("compare", "-e", code, path)
    assert "hint: pellucid align finds the source of 14 of the model's tensors, and writes" in done.stdout, done.stdout
    found = json.loads(run("compare", "--json", "-e", code, path).stdout)
    assert found["load_state_dict"]["aligned"] == 14
    renamed_file = write(tmp_path / "c.safetensors", made(1, body__fc__weight=(3, 2), body__fc__bias=(3,)))
    plain = "from torch import nn; model = nn.ModuleDict({'head': nn.ModuleDict({'fc': nn.Linear(2, 3)})})"
    assert "pellucid align" not in run("compare", "-e", plain, renamed_file).stdout

"""States and arguments: code of a library runs on them, so "harmless" holds only for what that code was read with. And
the shared hostile files, each by what its manifest expects."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

import hostile_native
from conftest import PROGRAM, ROOT
from hostile_parts import value

SAMPLES = pathlib.Path(os.environ.get("PELLUCID_SHARED", ROOT.parent / "shared")) / "data" / "files"

RELU = b"ctorch.nn.functional\nrelu\n"  # any callable


def text(word: str) -> bytes:
    return b"X" + len(word).to_bytes(4, "little") + word.encode()


def table(**values: bytes) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in values.items()) + b"u"


def new(module: str, name: str, after: bytes = b"") -> bytes:
    return f"c{module}\n{name}\n".encode() + b")\x81" + after


def call(module: str, name: str, *args: bytes) -> bytes:
    return f"c{module}\n{name}\n(".encode() + b"".join(args) + b"tR"


def namespace(**values: bytes) -> bytes:
    return new("argparse", "Namespace", table(**values) + b"b")


ARRAY = call("numpy._core.multiarray", "_reconstruct", b"cnumpy\nndarray\n", b"K\x00\x85", b"U\x01b")
SUBCLASS = call("numpy._core.multiarray", "_reconstruct", b"cnumpy.ma.core\nMaskedArray\n", b"K\x00\x85", b"U\x01b")
LINEAR = ("torch.nn.modules.linear", "Linear")
SGD = ("torch.optim.sgd", "SGD")
TREE = ("sklearn.tree._tree", "Tree")
CSR = ("scipy.sparse._csr", "csr_matrix")
LSTM = ("torch.nn.modules.rnn", "LSTM")
CONFIG = ("transformers.models.bert.configuration_bert", "BertConfig")
MEMBER = ("torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING")
PROPERTIES = ("torch.distributed.checkpoint.metadata", "TensorProperties")
INDEX = ("torch.distributed.checkpoint.metadata", "MetadataIndex")
LAZY = ("torch.nn.modules.linear", "LazyLinear")
HANDLE = ("torch.utils.hooks", "RemovableHandle")
HOOK = ("torch.nn.modules.module", "_WrappedHook")
BITS = call("numpy.random._pickle", "__bit_generator_ctor", text("MT19937"))
SEEDS = (b"cnumpy.random.bit_generator\n__pyx_unpickle_SeedSequence\n(cnumpy.random.bit_generator\nSeedSequence\n"
         b"J\xa2\xa3\xea\x03NtR")



def ordered(key: str, value: bytes) -> bytes:
    return b"ccollections\nOrderedDict\n)R" + text(key) + value + b"s"


def tree(nodes: bytes) -> bytes:
    return call(*TREE, b"K\x01", ARRAY, b"K\x01") + table(nodes=nodes, values=ARRAY) + b"b"


SUSPICIOUS = {
    "state_of_a_call": new(*LINEAR, ordered("_parameters", RELU) + b"b"),
    "state_of_a_call_shadows": new(*LINEAR, ordered("append", RELU) + b"b"),
    "state_changes_after": new(*LINEAR, b"}q\x05" + text("_parameters") + RELU + b"sbh\x05" + text("_parameters")
                               + b"}s0"),
    "namespace_for_a_dict": new(*SGD, table(param_groups=b"]" + namespace(setdefault=RELU) + b"a") + b"b"),
    "dict_with_attributes": new(*SGD, table(param_groups=b"]" + b"ccollections\nOrderedDict\n)R" + table(
        setdefault=RELU) + b"ba") + b"b"),
    "tree_of_a_namespace": call(*TREE, b"K\x01", namespace(max=RELU), b"K\x01"),
    "tree_of_a_subclass": call(*TREE, b"K\x01", SUBCLASS, b"K\x01"),
    "tree_with_a_namespace": tree(namespace(astype=RELU)),
    "setters": new(*CSR, b"N" + table(dtype=b"K\x01") + b"\x86b"),
    "random_state": BITS + table(state=namespace(get=RELU)) + b"b",
    "seeds_as_a_list": SEEDS + b"](" + RELU + b"eb",
    "names_are_mapped": new(*CONFIG, table(attribute_map=table(__setstate__=text("x")), x=RELU) + b"b"),
    "lstm_with_a_namespace": new(*LSTM, table(_all_weights=b"]" + namespace(format=RELU) + b"a") + b"b"),
    "member_by_an_object": call(*MEMBER, namespace(a=RELU)),
    "format_that_compares": new(*PROPERTIES, b"(NNN" + namespace(__eq__=RELU) + b"Ntb"),
    "format_as_a_list": new(*PROPERTIES, b"](NNN" + call(*MEMBER, b"K\x00") + b"Neb"),
    "key_of_an_object": b"}" + new(*INDEX, table(fqn=new("evil", "Thing")) + b"b") + b"Ns",
    "attribute_of_an_object": call("__builtin__", "getattr", new("evil", "Thing"), text("x")),
    "attribute_that_computes": call("__builtin__", "getattr", new("pathlib", "PosixPath"), text("parent")),
    "handle_of_an_object": new(*HANDLE, b"(N" + namespace(a=RELU) + b"Ntb"),
    "handle_that_iterates": new(*HANDLE, b"(NK\x01" + new("evil", "Thing") + b"tb"),
    "hook_that_asks": new(*HOOK, table(hook=RELU, with_module=new("evil", "Thing")) + b"b"),
    "partial_of_an_iterable": call("functools", "partial", RELU) + b"(" + RELU + new("evil", "Thing") + b"}Ntb",
    "bits_without_memory": new("numpy.random._pcg64", "PCG64", b"}b"),
}
DANGEROUS = {
    "member_gets_a_state": call(*MEMBER, b"K\x00") + table(_value_=b"K\x05") + b"b",
    "method_is_called": call("__builtin__", "getattr", new(*LAZY), text("_lazy_load_hook")) + b")R",
    "special_attribute": call("__builtin__", "getattr", new(*LAZY), text("__class__")),
}
HARMLESS = {
    "tree": tree(ARRAY),
    "member": call(*MEMBER, b"K\x00"),
    "properties": new(*PROPERTIES, b"(NNN" + call(*MEMBER, b"K\x00") + b"Ntb"),
    "key": b"}" + new(*INDEX, table(fqn=text("a"), offset=b"N", index=b"N") + b"b") + b"Ns",
    "method": call("__builtin__", "getattr", new(*LAZY), text("_lazy_load_hook")),
    "handle": new(*HANDLE, b"(NK\x01Ntb"),
    "hook": new(*HOOK, table(hook=RELU, with_module=b"\x89") + b"b"),
    "partial": call("functools", "partial", RELU) + b"(" + RELU + b")}}tb",
    "native_function": b"ctorch._C._nn\ngelu\n",
    "optimizer": new(*SGD, table(state=b"ccollections\ndefaultdict\nc__builtin__\ndict\n\x85R", param_groups=b"](}e")
                     + b"b"),
    "sparse": new(*CSR, table(_shape=b"K\x01K\x01\x86", data=ARRAY) + b"b"),
    "random_state": BITS + table(state=table(key=ARRAY, pos=b"K\x01")) + b"b",
    "texts_of_pandas": hostile_native.arrow(2, [0, 1, 3], b"abc"),
    "record_of_objects": hostile_native.array(
        hostile_native.record({"a": (hostile_native.OBJECT, 0), "b": (hostile_native.NUMBER, 8)}, 16, 27), (1,),
        [value(([], 5))]),
    "seeds": SEEDS + b"(K\x01NNK\x04)tb",
    "config": new(*CONFIG, table(hidden_size=b"K\x01") + b"b"),
    "lstm": new(*LSTM, table(_parameters=b"}", _all_weights=b"]](" + text("w") + b"ea", num_layers=b"K\x01") + b"b"),
    "loss": call("sklearn.linear_model._sgd_fast", "Hinge", b"G?\xf0\x00\x00\x00\x00\x00\x00"),
}


def verdict_of(path: pathlib.Path) -> tuple[str, str]:
    done = subprocess.run([PROGRAM, "audit", "--json", str(path)], stdout=subprocess.PIPE, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    verdict = rows[-1]["summary"]["verdict"] if "summary" in rows[-1] else rows[0]["verdict"]
    return verdict, done.stdout.decode()


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_unusual_state_is_suspicious(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / "state.pkl"
    path.write_bytes(b"\x80\x02" + SUSPICIOUS[name] + b".")
    verdict, out = verdict_of(path)
    assert verdict == "suspicious", out


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_all_code_shares_is_not_changed(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / "state.pkl"
    path.write_bytes(b"\x80\x02" + DANGEROUS[name] + b".")
    verdict, out = verdict_of(path)
    assert verdict == "dangerous", out


@pytest.mark.parametrize("name", HARMLESS)
def test_usual_state_is_harmless(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / "state.pkl"
    path.write_bytes(b"\x80\x02" + HARMLESS[name] + b".")
    verdict, out = verdict_of(path)
    assert verdict == "harmless", out


@pytest.mark.skipif(not (SAMPLES / "bad2").exists(), reason=f"no hostile samples: {SAMPLES / 'bad2'} is not there")
@pytest.mark.parametrize("folder", ["bad", "bad2"])
def test_manifest(folder: str) -> None:
    rows = json.loads((SAMPLES / folder / "manifest.json").read_text())
    wrong = []
    for name, row in rows.items():
        verdict, out = verdict_of(SAMPLES / folder / name)
        is_note = isinstance(row, dict) and row["expect"] == "a note"
        if (verdict == "harmless") != is_note or (is_note and '"note"' not in out):
            wrong.append(f"{name}: {verdict}")
    assert not wrong, wrong
    assert len(rows) > 10


# What transformers' trainer writes beside each checkpoint, in short: enumerations that refuse other values with a text,
# and accelerate's state.
TRAINING = (
    "transformers.trainer_utils SchedulerType linear",
    "transformers.training_args OptimizerNames adamw_torch",
    "transformers.trainer_utils IntervalStrategy steps",
    "accelerate.utils.dataclasses DistributedType NO",
)


def training_args(**more: bytes) -> bytes:
    members = {f"m{i}": call(*row.split()[:2], text(row.split()[2])) for i, row in enumerate(TRAINING)}
    state = new("accelerate.state", "PartialState", table(num_processes=b"K\x01", **more) + b"b")
    return new("transformers.training_args", "TrainingArguments", table(**members, distributed_state=state) + b"b")


@pytest.mark.parametrize(("verdict", "more"), [("harmless", {}), ("suspicious", {"_known_attrs": new("evil", "X")})])
def test_training_arguments(tmp_path: pathlib.Path, verdict: str, more: dict[str, bytes]) -> None:
    path = tmp_path / "training_args.bin"
    path.write_bytes(b"\x80\x02" + training_args(**more) + b".")
    said, out = verdict_of(path)
    assert said == verdict, out

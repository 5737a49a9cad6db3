"""Planted shape bugs: how many `pellucid scan --forward` finds, and whether both places are right.

    python bench/bench_shapes.py [--want 100] [--seed S] [--show]

Source files of torchvision, timm and transformers (copied to a temporary folder, relative imports made absolute) and
the small networks below get one mutation each: a size in a layer's arguments, or a number in view, reshape, permute,
transpose, chunk or cat, is one more. A mutant counts if its constructor works and its forward raises in CPython.

Truth comes from that execution: the first place is the innermost line of the traceback outside of torch; the second is
the line of the operation that gave an operand of the failing one its shape, followed through operations that keep
it. The unmodified sources run with the same input: an error there is a false alarm.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

PELLUCID = os.environ.get("PELLUCID", "build/pellucid")

# file of a package, what builds the network, its input
SOURCES = [
    ("torchvision/models/resnet.py", "resnet18()", "1x3x64x64"),
    ("torchvision/models/vgg.py", "vgg11()", "1x3x64x64"),
    ("torchvision/models/mobilenetv2.py", "mobilenet_v2()", "1x3x64x64"),
    ("torchvision/models/densenet.py", "densenet121()", "1x3x64x64"),
    ("torchvision/models/squeezenet.py", "squeezenet1_0()", "1x3x64x64"),
    ("torchvision/models/shufflenetv2.py", "shufflenet_v2_x0_5()", "1x3x64x64"),
    ("torchvision/models/mnasnet.py", "mnasnet0_5()", "1x3x64x64"),
    ("torchvision/models/convnext.py", "convnext_tiny()", "1x3x64x64"),
    ("torchvision/models/vision_transformer.py", "vit_b_32(image_size=64)", "1x3x64x64"),
    ("torchvision/models/swin_transformer.py", "swin_t()", "1x3x64x64"),
    ("torchvision/models/efficientnet.py", "efficientnet_b0()", "1x3x64x64"),
    ("timm/models/mlp_mixer.py", "mixer_s32_224()", "1x3x224x224"),
    ("timm/models/cait.py", "cait_xxs24_224()", "1x3x224x224"),
    ("timm/models/tnt.py", "tnt_s_legacy_patch16_224()", "1x3x224x224"),
    ("timm/models/visformer.py", "visformer_tiny()", "1x3x224x224"),
    ("timm/models/xcit.py", "xcit_nano_12_p16_224()", "1x3x224x224"),
    ("timm/models/pit.py", "pit_ti_224()", "1x3x224x224"),
    ("timm/models/levit.py", "levit_128s()", "1x3x224x224"),
    ("timm/models/convmixer.py", "convmixer_768_32()", "1x3x64x64"),
    ("transformers/models/bert/modeling_bert.py",
     "BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64))",
     "2x7:int64"),
    ("transformers/models/gpt2/modeling_gpt2.py", "GPT2Model(GPT2Config(n_embd=32, n_layer=2, n_head=4))", "2x7:int64"),
    ("transformers/models/distilbert/modeling_distilbert.py",
     "DistilBertModel(DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=64))", "2x7:int64"),
]

SMALL = {
    "attention": ("""
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        h = self.norm(x)
        qkv = self.qkv(h).reshape(batch, length, 3, self.heads, 4).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        h = (weights @ v).transpose(1, 2).reshape(batch, length, 16)
        x = x + self.out(h)
        h = torch.relu(self.fc1(x))
        return x + self.fc2(h)


model = nn.Sequential(Block(16, 4), Block(16, 4), nn.Linear(16, 10))
""", "2x5x16"),
    "convolutions": ("""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(16)
        self.skip = nn.Conv2d(3, 16, 1)
        self.fc1 = nn.Linear(1024, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        h = F.relu(self.norm1(self.conv1(x)))
        h = self.norm2(self.conv2(h))
        h = F.max_pool2d(h + self.skip(x), 2)
        h = h.view(-1, 1024)
        h = F.relu(self.fc1(h))
        return self.fc2(h)


model = Net()
""", "2x3x16x16"),
    "sequence": ("""
import torch
import torch.nn as nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 12)
        self.places = nn.Embedding(64, 12)
        self.rnn = nn.GRU(24, 20, batch_first=True, bidirectional=True)
        self.mix = nn.Conv1d(40, 32, 3, padding=1)
        self.head = nn.Linear(32, 7)

    def forward(self, x):
        places = torch.arange(x.shape[1])
        h = torch.cat([self.words(x), self.places(places).expand(x.shape[0], -1, -1)], dim=2)
        h, _ = self.rnn(h)
        h = self.mix(h.transpose(1, 2)).transpose(1, 2)
        a, b = self.head(h).split([3, 4], dim=2)
        return torch.cat([a, b], dim=2)


model = Tagger()
""", "2x9:int64"),
}

LAYERS = {"Linear", "Conv1d", "Conv2d", "ConvTranspose2d", "LayerNorm", "BatchNorm1d", "BatchNorm2d", "GroupNorm",
          "Embedding", "GRU", "LSTM", "MultiheadAttention", "Conv2dNormActivation", "norm_layer", "Mlp", "MLP",
          "MLPBlock", "Conv1D", "conv3x3", "conv1x1"}
METHODS = {"view", "reshape", "permute", "transpose", "chunk", "cat", "split", "unflatten", "expand"}

EXECUTE = r"""
import importlib.util, json, os, sys, traceback, warnings
warnings.simplefilter("ignore")
import torch
from torch.overrides import TorchFunctionMode

TORCH = os.path.dirname(torch.__file__)

def is_author(file):
    return not file.startswith((TORCH, "<"))

def place():
    frame = sys._getframe(2)
    while frame:
        if is_author(frame.f_code.co_filename):
            return [frame.f_code.co_filename, frame.f_lineno]
        frame = frame.f_back
    return None

def tensors(value, into):
    if isinstance(value, torch.Tensor):
        into.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            tensors(item, into)
    elif isinstance(value, dict):
        for item in value.values():
            tensors(item, into)
    return into

class Watch(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.origin, self.kept, self.failed = {}, [], None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        inputs = [t for t in tensors((args, kwargs or {}), []) if not isinstance(t, torch.nn.Parameter)]
        try:
            result = func(*args, **(kwargs or {}))
        except Exception:
            if self.failed is None:
                self.failed = [self.origin.get(id(t)) for t in inputs]
            raise
        line = place()
        for t in tensors(result, []):
            same = [s for s in inputs if s.shape == t.shape and id(s) in self.origin]
            if id(t) in self.origin and any(s is t for s in inputs):
                continue
            self.origin[id(t)] = self.origin[id(same[-1])] if same else line
            self.kept.append(t)
        return result

def run(path, shape):
    spec = importlib.util.spec_from_file_location("mutant", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutant"] = module
    spec.loader.exec_module(module)
    model = module.model.eval()
    sizes, _, kind = shape.partition(":")
    given = torch.zeros([int(n) for n in sizes.split("x")], dtype=getattr(torch, kind or "float32"))
    watch = Watch()
    try:
        with torch.no_grad(), watch:
            model(given)
    except Exception as error:
        lines = [[f.filename, f.lineno] for f in traceback.extract_tb(error.__traceback__) if is_author(f.filename)]
        mine = [line for line in lines if line[0] == path]
        return {"error": repr(error)[:200], "line": lines[-1] if mine else None, "origins": watch.failed or []}
    return {"error": None}

for line in sys.stdin:
    path, shape = json.loads(line)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = run(path, shape)
        except BaseException as error:
            found = {"broken": repr(error)[:200]}
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    print("@" + (os.read(read, 1 << 16).decode() or '{"broken": "died"}'), flush=True)
    os.close(read)
    os.waitpid(child, 0)
"""


class Executor:
    """One process that has the libraries imported and runs each program in a child of its own."""

    def __init__(self) -> None:
        package = pathlib.Path(__file__).resolve().parent.parent / "python" / "pellucid"
        libraries = f"import sys\nsys.path.insert(0, {str(package)!r})\nimport _torchvision\n_torchvision.stand_in()\n"
        code = libraries + "import torch, torchvision, timm, transformers\n" + EXECUTE
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)

    def run(self, path: pathlib.Path, shape: str) -> dict:
        self.process.stdin.write(json.dumps([str(path), shape]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        return {"broken": "the executing process died"}


def absolute_imports(text: str, package: str) -> str:
    """`from ..a import b` -> `from package.a import b`."""
    def change(match: re.Match) -> str:
        parts = package.split(".")
        up = len(match[2])
        base = ".".join(parts[: len(parts) - up + 1])
        return f"{match[1]}from {base}{'.' + match[3] if match[3] else ''} import"

    return re.sub(r"^( *)from (\.+)([\w.]*) import", change, text, flags=re.M)


def programs() -> list[tuple[str, str, str]]:
    """Name, text and input of each source."""
    found = []
    for path, build, shape in SOURCES:
        spec = importlib.util.find_spec(path.partition("/")[0])
        file = pathlib.Path(spec.submodule_search_locations[0]).parent / path if spec else None
        if not file or not file.exists():
            print(f"skipped {path}: it is not installed")
            continue
        package = path.rpartition("/")[0].replace("/", ".")
        text = absolute_imports(file.read_text(), package)
        text = re.sub(r"^@register_model\(.*\)$", "", text, flags=re.M)  # torchvision's names can be taken once
        found.append((path, f"{text}\n\nmodel = {build}\n", shape))
    found += [(name, text, shape) for name, (text, shape) in SMALL.items()]
    return found


def sites(text: str) -> list[ast.expr]:
    """Expressions whose value is a size or a number of a dimension."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in LAYERS:
            kinds = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp)
            found += [arg for arg in node.args[:2] if isinstance(arg, kinds)]
        if name in METHODS:
            values = node.args + [keyword.value for keyword in node.keywords]
            numbers = [arg for arg in values if isinstance(arg, ast.Constant) and type(arg.value) is int]
            found += [arg for arg in numbers if arg.value > 0]
    return [node for node in found if node.lineno == node.end_lineno]


def mutate(text: str, site: ast.expr) -> str:
    lines = text.split("\n")
    line = lines[site.lineno - 1].encode()
    old = line[site.col_offset:site.end_col_offset]
    lines[site.lineno - 1] = (line[: site.col_offset] + b"(" + old + b" + 1)" + line[site.end_col_offset:]).decode()
    return "\n".join(lines)


def scan(path: pathlib.Path, shape: str) -> tuple[list[dict], int]:
    done = subprocess.run([PELLUCID, "scan", str(path), "--python", sys.executable, "--forward", shape, "--json"],
                          capture_output=True, text=True)
    try:
        networks = [network for network in json.loads(done.stdout)["networks"] if network["name"] == "model"]
    except (ValueError, KeyError):
        networks = []
    return (networks[0]["errors"] if networks else []), done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--want", type=int, default=100, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each that is not right")
    args = parser.parse_args()
    choose = random.Random(args.seed)
    executor = Executor()
    count = {"mutants": 0, "found": 0, "first": 0, "both": 0, "alarms": 0, "clean": 0}
    with tempfile.TemporaryDirectory() as folder:
        usable = []
        for number, (name, text, shape) in enumerate(programs()):
            path = pathlib.Path(folder) / f"clean{number}.py"
            path.write_text(text)
            truth = executor.run(path, shape)
            if truth.get("broken") or truth.get("error"):
                print(f"skipped {name}: executing it fails: {truth.get('broken') or truth['error']}")
                continue
            count["clean"] += 1
            errors, _ = scan(path, shape)
            if errors:
                count["alarms"] += 1
                print(f"false alarm: {name}: {errors[0]['what']} ({errors[0]['line']})")
            usable.append((name, text, shape, choose.sample(sites(text), len(sites(text)))))
        tried = 0
        while count["mutants"] < args.want and any(places for *_, places in usable):
            name, text, shape, places = usable[tried % len(usable)]
            tried += 1
            if not places:
                continue
            path = pathlib.Path(folder) / f"mutant{tried}.py"
            site = places.pop()
            path.write_text(mutate(text, site))
            truth = executor.run(path, shape)
            if truth.get("broken") or not truth.get("error") or not truth["line"]:
                continue
            count["mutants"] += 1
            errors, _ = scan(path, shape)
            row = errors[0] if errors else None
            first = row is not None and [row["file"], row["line"]] == truth["line"]
            also = [row["also"]["file"], row["also"]["line"]] if row and row.get("also") else None
            second = row is not None and (also in truth["origins"] or (also is None and not any(truth["origins"])))
            count["found"] += row is not None
            count["first"] += first
            count["both"] += first and second
            if args.show and not (first and second):
                print(f"{name}:{site.lineno}: {truth}\n    {row}")
    executor.process.stdin.close()
    print(f"{count['mutants']} planted bugs: {count['found']} found, {count['first']} at the line that raises, "
          f"{count['both']} with both places right; "
          f"{count['alarms']} false alarms in {count['clean']} unmodified sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())

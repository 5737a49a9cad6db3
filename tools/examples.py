#!/usr/bin/env python3
"""Makes examples/ anew: skeletons of ten models of the zoo, verified, and the table of their originals.

    tools/examples.py                   all of them (PELLUCID_SHARED has the zoo); some minutes
    tools/examples.py hf_llama          one of them; the others keep their rows

A file is replaced only if its skeleton was equal in every required check. examples/README.md is written from the table
below and from what was measured.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
# file, name in the zoo, what it is, what to look at
ROWS = (
    ("hf_llama", "hf/llama", "Llama, transformers",
     "registries, decorators and the cache are gone; the attention is the library's, to the name"),
    ("hf_mamba", "hf/mamba", "Mamba, transformers",
     "the scan over the sequence is still the author's loop, and right at other lengths"),
    ("hf_mt5", "hf/mt5", "mT5, transformers",
     "one class for encoder and decoder: the `if`s on which they differ came back by themselves"),
    ("hf_whisper_Speech2", "hf/whisper:Speech2", "Whisper, transformers",
     "one attention for three uses; what a layer that may be left out draws is still drawn"),
    ("hf_swin", "hf/swin", "Swin, transformers", "windows, shifts and masks; the rates of drop path are one formula"),
    ("tv_resnet50", "tv/resnet50", "ResNet-50, torchvision",
     "`downsample` is built where the sizes differ; the layers are what their author would write without a helper"),
    ("tv_efficientnet_v2_s", "tv/efficientnet_v2_s", "EfficientNetV2-S, torchvision",
     "forty blocks in thirty lines; the author's two forms of `FusedMBConv` are one"),
    ("timm_twins_svt_small", "timm/twins_svt_small", "Twins-SVT, timm",
     "blocks of two kinds that take turns are a comprehension"),
    ("hf_t5gemma2_seq2seq", "hf/t5gemma2:Seq2Seq", "T5Gemma 2, transformers",
     "the worst of these: functions that make masks hand flags to each other, for an assertion; a vision tower that "
     "never ran takes forty lines, for its weights"),
    ("awk_einops_attention", "awk/einops_attention", "an attention with einops",
     "what einops computed is written as its calls of torch"),
)
HEAD = """# Skeletons, as they come out

Each file was written by `pellucid skeleton`, imports torch and the standard library alone, and says in its header what
was verified. `tools/examples.py` makes all of them anew, and this table.

| file | original | parameters | lines of the author's that ran, constructors included | lines here | |
|---|---|---|---|---|---|
"""


def measured(names: list[str], folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    """The zoo's rows of these models; their skeletons are in the folder."""
    only = "^(" + "|".join(map(re.escape, names)) + ")$"
    subprocess.run([sys.executable, str(ROOT / "tools" / "zoo.py"), "--only", only, "--keep", str(folder), "--out",
                    str(folder / "rows.jsonl"), "--workers", "1", "--time", "900"], check=False)
    with open(folder / "rows.jsonl", encoding="utf-8") as file:
        return {row["name"]: row for row in map(json.loads, file)}


def sizes() -> dict[str, int]:
    """Parameters of each model, as the zoo's list has them."""
    sys.path.insert(0, str(ROOT / "tools"))
    import zoo
    with open(pathlib.Path(zoo.ZOO) / "zoo.json", encoding="utf-8") as file:
        return {row["name"]: row["params"] for row in json.load(file)}


def table(rows: dict[str, dict[str, Any]], parameters: dict[str, int]) -> str:
    """The README; a model that was not measured now keeps its line."""
    path = EXAMPLES / "README.md"
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    text = HEAD
    for file, name, original, about in ROWS:
        row = rows.get(name)
        kept = next((line for line in before if line.startswith(f"| `{file}.py` |")), None)
        if row is not None and "lines" in row:
            ran = row["author_lines"] + row["init_lines"]
            kept = f"| `{file}.py` | {original} | {parameters[name]:,} | {ran} | {row['lines']} | {about} |"
        text += f"{kept}\n" if kept is not None else ""
    return text


def main() -> int:
    wanted = set(sys.argv[1:]) or {file for file, *_ in ROWS}
    unknown = wanted - {file for file, *_ in ROWS}
    if unknown:
        print(f"examples: there is no {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    parameters, bad = sizes(), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        rows = measured([name for file, name, *_ in ROWS if file in wanted], folder)
        for file, name, *_ in ROWS:
            made = folder / (name.replace("/", "_") + ".py")
            if file in wanted and not (rows.get(name, {}).get("good") and made.exists()):
                print(f"examples: {name} was not equal, its file stays as it was", file=sys.stderr)
                rows.pop(name, None)
                bad += 1
            elif file in wanted:
                shutil.copyfile(made, EXAMPLES / f"{file}.py")
        (EXAMPLES / "README.md").write_text(table(rows, parameters), encoding="utf-8")
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

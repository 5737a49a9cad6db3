"""Makes the small model files of this folder, hostile ones among them: python tests/data/make_files.py [FOLDER]

Needs nothing but Python. The golden cases of tests/golden/files read them. What is made is the same every time.
"""

from __future__ import annotations

import io
import json
import pathlib
import struct
import sys
import warnings
import zipfile

HERE = pathlib.Path(__file__).resolve().parent / "files"
CALL = b"cposix\nsystem\n(S'touch MARKER'\ntR."


def archive(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def safetensors(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def layers(n: int) -> dict[str, tuple[str, list[int], bytes]]:
    found = {"embed.weight": ("F32", [2, 4], floats(*range(8)))}
    for i in range(n):
        found[f"layers.{i}.weight"] = ("F32", [2, 2], floats(i, 1, 2, 3))
        found[f"layers.{i}.bias"] = ("F32", [2], floats(0, i))
    return found


def short(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def tensor(key: str, n: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> bytes:
    """A call of _rebuild_tensor_v2, as torch.save writes it."""
    numbers = lambda values: b"(" + b"".join(b"K" + bytes([v]) for v in values) + b"t"  # noqa: E731
    storage = b"(" + short("storage") + b"ctorch\nFloatStorage\n" + short(key) + short(
        "cpu") + b"K" + bytes([n]) + b"tQ"
    rest = b"K" + bytes([offset]) + numbers(shape) + numbers(strides) + b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + rest + b"tR"


def checkpoint() -> bytes:
    """A state dict whose second tensor is the first one, transposed."""
    weight = tensor("0", 6, (2, 3), (3, 1))
    data = (b"\x80\x02}(" + short("epoch") + b"K\x03" + short("model") + b"}(" + short("fc.weight") + weight
            + short("fc.turned") + tensor("0", 6, (3, 2), (1, 3)) + b"uu.")
    return archive(("archive/data.pkl", data), ("archive/data/0", floats(0, 1, 2, 3, 4, 5)),
                   ("archive/version", b"3\n"))


# lambda x: __import__("os").system("touch MARKER"), compiled by Python 3.11
LAMBDA = ("4wEAAAAAAAAAAAAAAAMAAAADAAAA80YAAACXAHQBAAAAAAAAAAAAAGQBpgEAAKsBAAAAAAAAAACgAQAAAAAAAAAAAAAAAAAAAAAAAAAAZ"
          "AKmAQAAqwEAAAAAAAAAAFMAKQNO2gJvc3oMdG91Y2ggTUFSS0VSKQLaCl9faW1wb3J0X1/aBnN5c3RlbSkB2gF4cwEAAAAgcgUAAAD6CD"
          "xsYW1iZGE+cgYAAAABAAAAcxwAAACAAI0qkFTRChrUChrXCiHSCiGgLtEKMdQKMYAA8wAAAAA=")


def keras() -> bytes:
    function = {"class_name": "__lambda__", "config": {"code": LAMBDA}}
    dense = {"module": "keras.layers", "class_name": "Dense",
             "config": {"name": "dense", "units": 4, "activation": "relu"}}
    trick = {"module": "keras.layers", "class_name": "Lambda", "config": {"name": "trick", "function": function}}
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [dense, trick]}}
    return archive(("metadata.json", b"{}"), ("config.json", json.dumps(config).encode()))


def main(folder: pathlib.Path) -> None:
    warnings.simplefilter("ignore")  # two members of one name are meant
    made = {
        "net.safetensors": safetensors(layers(3)),
        "other.safetensors": safetensors({**layers(2), "head.weight": ("F32", [1, 2], floats(1, 2)),
                                          "embed.weight": ("F16", [2, 4], bytes(16))}),
        "checkpoint.pt": checkpoint(),
        "lambda.keras": keras(),
        "calls.pt": archive(("archive/data.pkl", b"\x80\x02" + CALL), ("archive/version", b"3\n")),
        "two_members.pt": archive(("archive/data.pkl", b"\x80\x02" + CALL), ("archive/data.pkl", b"\x80\x02}.")),
        "up.index.json": json.dumps({"weight_map": {"a": "../../etc/passwd"}}).encode(),
        "cut.safetensors": safetensors(layers(1))[:-4],
        "nothing.pt": b"",
    }
    folder.mkdir(exist_ok=True)
    for name, content in made.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)

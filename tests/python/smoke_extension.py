"""A little of everything that the extension does, for running under AddressSanitizer (tools/asan_extension.py)."""

import gc
import json

import pellucid
from pellucid import _pellucid

for version in ("3.8", "3.11", "3.13"):
    tree = json.loads(_pellucid.parse_json("def f(x):\n    return [x, 'é', 1.5, None]\n", python_version=version))
    assert tree["_type"] == "Module"
assert _pellucid.format_source(b"x=(1)") == "x = 1\n"
for wrong in ("x = = 1", b"\xff", "(" * 100_000, "x = '''"):
    try:
        _pellucid.parse_json(wrong)
    except pellucid.Error as error:
        assert error.line == 1
    else:
        raise AssertionError(wrong)
for bad in (3, None):
    try:
        _pellucid.parse_json(bad)
    except TypeError:
        pass
gc.collect()
print("the extension's smoke test passed under AddressSanitizer")

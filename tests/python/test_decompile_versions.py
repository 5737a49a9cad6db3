"""Behind `normalise` no code knows which Python the bytecode came from."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# a version that is compared, or a table that is indexed by one
MENTION = re.compile(r"->version\b|\.version\b|\bpel_version\b")


def test_no_version_behind_normalise():
    sources = sorted((ROOT / "src" / "decompile").glob("*.[ch]"))
    assert len(sources) > 8
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MENTION.search(line)
    ]
    assert not found, "\n".join(found)

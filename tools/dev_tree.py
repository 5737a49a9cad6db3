"""Makes BUILD/python/pellucid: the package as it would be installed, of links to the sources and the built extension.

    python tools/dev_tree.py build
    PYTHONPATH=build/python python -c 'import pellucid'
"""

import pathlib
import sys


def main(build: str) -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    target = root / build / "python" / "pellucid"
    target.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in (root / "python" / "pellucid").iterdir() if path.name != "__pycache__"}
    wanted |= {path.name: path for path in (root / build).glob("_pellucid.*.so")}
    for link in target.iterdir():
        if link.is_symlink() and (link.name not in wanted or link.resolve() != wanted[link.name]):
            link.unlink()
    for name, path in wanted.items():
        link = target / name
        if not link.is_symlink():
            link.symlink_to(path)


if __name__ == "__main__":
    main(sys.argv[1])

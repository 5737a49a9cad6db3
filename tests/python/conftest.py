from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("PELLUCID", str(ROOT / "build" / "pellucid"))
sys.path.insert(0, str(ROOT / "python" / "pellucid"))
import _torchvision  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a few seconds; run by .ci/run, not by make test")


@dataclass
class Result:
    code: int
    out: str
    err: str
    seconds: float  # of the processor, not of the clock: the machine may be busy


@pytest.fixture
def pellucid():
    """Runs the program: pellucid("ast", "-", input=b"x")."""

    def run(*arguments: object, input: bytes = b"", timeout: float = 60) -> Result:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], input=input, capture_output=True, timeout=timeout, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"), seconds)

    return run


@pytest.fixture(scope="session")
def is_sanitized() -> bool:
    return b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()


@pytest.fixture(scope="session")
def libraries() -> None:
    """Makes timm and transformers importable where torchvision's compiled operators don't fit the torch that is
    here."""
    _torchvision.stand_in()


def peak_memory_of_children() -> int:
    """Bytes, of the largest child process so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024

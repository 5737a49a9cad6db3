"""Documents say what is there: every folder has a README, and every link leads somewhere."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = [*sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()), ROOT / "cli", ROOT / "ext",
           ROOT / "python" / "pellucid", ROOT / "python" / "pellucid" / "depyf"]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")),
         *[folder / "README.md" for folder in FOLDERS]]
ONE_PAGE = 900  # words


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_folder_says_what_may_be_touched(folder) -> None:
    assert "What may be touched" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_public_name_is_in_the_reference() -> None:
    import pellucid
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: pellucid\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(set(pellucid.__all__) - {"__version__"})


def test_every_page_is_on_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in site, page.name


def test_architecture_is_one_page() -> None:
    assert len((ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) <= ONE_PAGE


def test_every_pass_is_described_by_its_row() -> None:
    """passes.def is what people read first: each row has its comment, and each pass its golden case."""
    rows = re.findall(r"^(?:PASS|LATE)\((\w+),.*?\)(.*)$", (ROOT / "src/trace/passes.def").read_text(), re.MULTILINE)
    golden = "".join(path.read_text() for path in (ROOT / "tests/golden/passes").glob("*.txt"))
    assert rows
    for name, rest in rows:
        assert rest.strip().startswith("/*"), name
        assert f"--dump={name}\n" in golden, name
    table = (ROOT / "src/trace/passes.def").read_text()
    checkers = set(re.findall(r"^(?:PASS|LATE)\(\w+, \w+, (\w+),", table, re.MULTILINE))
    broken = set(re.findall(r"finds\(s, (\w+),", (ROOT / "tests/unit/test_passes.c").read_text()))
    assert checkers and checkers == broken, "each checker has a test that breaks what it checks"


def test_no_golden_case_expects_a_crash() -> None:
    """Blessing writes down what came out; a crash must not become what is expected."""
    for path in (ROOT / "tests" / "golden").rglob("*.txt"):
        text = path.read_text(encoding="utf-8")
        found = re.search(r"^(Segmentation fault|Aborted|exit 1[0-9][0-9])", text, re.MULTILINE)
        assert not found, f"{path.relative_to(ROOT)}: {found and found.group(0)}"

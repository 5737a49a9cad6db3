"""The tables of effects: they come out of their generator, what they call pure does nothing when it is fired, and what
is known to have an effect is not in them. And random pickles: what Python's unpickler calls, the audit names."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys

import pytest

from conftest import ROOT

TOOLS = ROOT / "tools"
TABLES = ROOT / "data" / "effects"
sys.path.insert(0, str(TOOLS))

import fire_effects  # noqa: E402
import fuzz_pickles  # noqa: E402


def uses_of(name: str) -> str:
    """The uses that are pure of "module:name"; empty: none."""
    module, _, rest = name.partition(":")
    table = TABLES / f"{module.split('.')[0]}.txt"
    for line in (table if table.exists() else TABLES / "python.txt").read_text().splitlines()[1:]:
        first, uses, _, *names = line.split(" ")
        if first == module and rest in names:
            return uses
    return ""


# A name, and the uses that have an effect: n new, s state, c call.
EFFECTS = {
    "numpy.lib._datasource:DataSource": "nsc",  # __del__ removes a folder
    "torch.utils.data.datapipes.datapipe:_IterDataPipeSerializationWrapper": "s",  # __setstate__ unpickles
    "scipy.stats._continuous_distns:norm_gen": "s",  # __setstate__ runs text
    "torch.optim.optimizer:Optimizer": "c",
    "collections:namedtuple": "c",
    "dataclasses:make_dataclass": "c",
    "weakref:finalize": "c",
    "typing:ForwardRef": "c",
    "copyreg:pickle": "c",  # changes a table of its module
    "copyreg:add_extension": "c",
    "copyreg:clear_extension_cache": "c",
    "logging:FileHandler": "c",
    "threading:Thread": "c",
    "torch:load": "c",
    "torch.library:impl_abstract": "c",  # changes a registry of the process
    "torch._custom_ops:impl_abstract": "c",
    "torch.hub:load": "c",
    "torch.utils.collect_env:run": "c",
    "torch._C:PyTorchFileWriter": "nc",
    "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler:SubprocessHandler": "c",
    "numpy:memmap": "nc",
    "numpy:load": "c",
    "numpy.testing._private.utils:runstring": "c",
    "joblib.numpy_pickle:load": "c",
    "pandas.io.pickle:read_pickle": "c",
    "builtins:eval": "c",
    "builtins:exec": "c",
    "builtins:open": "c",
    "builtins:map": "nc",
    "builtins:filter": "nc",
    "builtins:getattr": "c",
    "builtins:print": "c",
    "operator:methodcaller": "nc",
    "functools:partial": "nc",  # the audit judges what it keeps
}


@pytest.mark.parametrize("name", EFFECTS)
def test_name_with_an_effect_is_not_pure(name: str) -> None:
    letters = uses_of(name).split(":")[0].split("!")[0].lower()
    assert not set(letters) & set(EFFECTS[name]), letters


@pytest.mark.parametrize("name, wanted", {
    "torch.nn.modules.linear:Linear": "ns", "torch.nn.modules.container:Sequential": "ns",
    "sklearn.linear_model._logistic:LogisticRegression": "ns", "torch.optim.adam:Adam": "ns",
    "collections:OrderedDict": "nsic",
}.items())
def test_name_that_models_are_made_of_is_pure(name: str, wanted: str) -> None:
    letters = uses_of(name).split(":")[0].split("!")[0].lower()
    assert set(wanted) <= set(letters), letters


def version_of(library: str) -> str:
    if library == "python":
        return ".".join(map(str, sys.version_info[:3]))
    if importlib.util.find_spec(library) is None:
        return "none"
    return importlib.metadata.version({"sklearn": "scikit-learn"}.get(library, library))


def needs(library: str) -> None:
    _, _, name, version, _ = (TABLES / f"{library}.txt").read_text().splitlines()[0].split()
    if version_of(library) != version:
        pytest.skip(f"the table is of {name} {version}, and {version_of(library)} is installed")


@pytest.mark.parametrize("library, modules", {
    "python": ["collections", "copyreg", "argparse", "uuid"],
    "numpy": ["numpy.random._pickle", "numpy.lib._datasource"],
    "torch": ["torch.nn.modules.linear", "torch.nn.modules.container", "torch.optim.adam"],
    "sklearn": ["sklearn.linear_model._logistic"],
}.items())
def test_table_comes_out_of_its_generator(library: str, modules: list[str]) -> None:
    needs(library)
    done = subprocess.run([sys.executable, TOOLS / "gen_effects_table.py", "--check", *modules], check=False,
                          stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("library", ["python", "numpy", "torch"])
def test_pure_names_do_nothing(library: str) -> None:
    needs(library)
    events, counts = fire_effects.fire(library, 60, 3, sys.executable)
    assert events == []
    assert counts["fired"] > 60
    assert counts["raised"] < counts["fired"]


def test_a_fired_effect_is_seen() -> None:
    """The oracle itself: an effect does show."""
    child = fire_effects.CHILD.replace("rows = json.load(sys.stdin)", "rows = [['os', 'listdir', 'c']]")
    done = subprocess.run([sys.executable, "-c", child], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    assert b"os.listdir" in done.stdout


@pytest.mark.parametrize("seed", [1, 20])
def test_random_pickles_call_nothing_unnamed(seed: int) -> None:
    counts, wrong = fuzz_pickles.compare(1500, seed)
    assert wrong == []
    assert counts["loaded"] > 700 and counts["uses"] > 5000
    assert counts["unread"] < 15


def test_a_call_that_is_not_named_is_seen() -> None:
    """The comparison itself: a use that the audit leaves out is found."""
    row = {"uses": [{"use": "import", "name": "a.b"}, {"use": "call", "name": "a.b"}]}
    assert fuzz_pickles.missing([("import", "a.b"), ("call", "a.b")], row) == []
    assert fuzz_pickles.missing([("state", "a.b")], row) == [("state", "a.b")]

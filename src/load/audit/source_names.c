#include "load/audit/source_names.h"

#include "load/audit/compute_names.h"

#include <string.h>

/* The longest row that a name is, or begins with, decides. "module: name name" are names of that module alone: the
 * module itself, as a value, and its other names are then unknown. */
static const struct {
    pel_effect effect;
    const char *module, *names; /* no names: the module, and all in it */
} rows[] = {
    { PEL_EFFECT_RUNS, "os",
      "system popen execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv "
      "spawnve spawnvp spawnvpe posix_spawn posix_spawnp fork forkpty kill killpg startfile abort" },
    { PEL_EFFECT_WRITES, "os",
      "remove unlink rmdir removedirs mkdir makedirs rename renames replace chmod chown lchown link symlink truncate "
      "ftruncate write open mkfifo mknod utime putenv unsetenv chdir chroot" },
    { PEL_EFFECT_READS, "os", "listdir walk fwalk scandir stat lstat access readlink read" },
    { PEL_EFFECT_ENVIRONMENT, "os",
      "environ getenv environb getenvb getcwd getuid getgid getlogin uname getpid getppid urandom cpu_count" },
    { PEL_EFFECT_NONE, "os", "sep linesep name PathLike fspath extsep pathsep curdir pardir" },
    { PEL_EFFECT_NONE, "os.path",
      "join basename dirname split splitext normpath normcase isabs commonpath commonprefix relpath sep" },
    { PEL_EFFECT_READS, "os.path",
      "exists lexists isfile isdir islink getsize getmtime getctime getatime realpath abspath samefile ismount" },
    { PEL_EFFECT_ENVIRONMENT, "os.path", "expanduser expandvars" },
    { PEL_EFFECT_ENVIRONMENT, "sys",
      "argv path platform executable version version_info prefix byteorder maxsize flags implementation" },
    { PEL_EFFECT_NONE, "sys", "float_info int_info getsizeof intern exc_info getrecursionlimit stdout stderr" },
    { PEL_EFFECT_CODE, "sys", "modules meta_path path_hooks settrace setprofile _getframe" },
    { PEL_EFFECT_RUNS, "subprocess", NULL },
    { PEL_EFFECT_RUNS, "pty", NULL },
    { PEL_EFFECT_RUNS, "commands", NULL },
    { PEL_EFFECT_RUNS, "multiprocessing", NULL },
    { PEL_EFFECT_RUNS, "concurrent", NULL },
    { PEL_EFFECT_RUNS, "signal", NULL },
    { PEL_EFFECT_RUNS, "psutil", NULL },
    { PEL_EFFECT_RUNS, "sh", NULL },
    { PEL_EFFECT_RUNS, "webbrowser", NULL },
    { PEL_EFFECT_RUNS, "atexit", NULL },
    { PEL_EFFECT_RUNS, "pip", NULL },
    { PEL_EFFECT_RUNS, "setuptools", NULL },
    { PEL_EFFECT_RUNS, "distutils", NULL },
    { PEL_EFFECT_WRITES, "shutil", NULL },
    { PEL_EFFECT_READS, "shutil", "which disk_usage" },
    { PEL_EFFECT_WRITES, "tempfile", NULL },
    { PEL_EFFECT_WRITES, "sqlite3", NULL },
    { PEL_EFFECT_WRITES, "shelve", NULL },
    { PEL_EFFECT_WRITES, "zipfile", NULL },
    { PEL_EFFECT_WRITES, "tarfile", NULL },
    { PEL_EFFECT_READS, "glob", NULL },
    { PEL_EFFECT_READS, "fileinput", NULL },
    { PEL_EFFECT_READS, "linecache", NULL },
    { PEL_EFFECT_NONE, "io", "BytesIO StringIO IOBase" },
    { PEL_EFFECT_READS, "io", "open open_code FileIO" },
    { PEL_EFFECT_NONE, "pathlib", "Path PurePath PosixPath PurePosixPath" }, /* its methods are judged by their names */
    { PEL_EFFECT_NETWORK, "socket", NULL },
    { PEL_EFFECT_NETWORK, "ssl", NULL },
    { PEL_EFFECT_NETWORK, "http", NULL },
    { PEL_EFFECT_NETWORK, "urllib", NULL },
    { PEL_EFFECT_NETWORK, "urllib3", NULL },
    { PEL_EFFECT_NETWORK, "requests", NULL },
    { PEL_EFFECT_NETWORK, "httpx", NULL },
    { PEL_EFFECT_NETWORK, "aiohttp", NULL },
    { PEL_EFFECT_NETWORK, "ftplib", NULL },
    { PEL_EFFECT_NETWORK, "smtplib", NULL },
    { PEL_EFFECT_NETWORK, "telnetlib", NULL },
    { PEL_EFFECT_NETWORK, "xmlrpc", NULL },
    { PEL_EFFECT_NETWORK, "paramiko", NULL },
    { PEL_EFFECT_NETWORK, "boto3", NULL },
    { PEL_EFFECT_NETWORK, "wget", NULL },
    { PEL_EFFECT_NETWORK, "huggingface_hub", NULL },
    { PEL_EFFECT_NETWORK, "torch.hub", NULL },
    { PEL_EFFECT_NETWORK, "asyncio", NULL },
    { PEL_EFFECT_CODE, "builtins",
      "eval exec compile __import__ globals locals vars breakpoint __builtins__ __loader__ __spec__" },
    { PEL_EFFECT_READS, "builtins", "open" },
    { PEL_EFFECT_CODE, "importlib", NULL },
    { PEL_EFFECT_NONE, "importlib.metadata", "version PackageNotFoundError" },
    { PEL_EFFECT_READS, "importlib.util", "find_spec" },
    { PEL_EFFECT_CODE, "imp", NULL },
    { PEL_EFFECT_CODE, "runpy", NULL },
    { PEL_EFFECT_CODE, "code", NULL },
    { PEL_EFFECT_CODE, "codeop", NULL },
    { PEL_EFFECT_CODE, "pkgutil", NULL },
    { PEL_EFFECT_CODE, "pickle", NULL },
    { PEL_EFFECT_CODE, "_pickle", NULL },
    { PEL_EFFECT_CODE, "dill", NULL },
    { PEL_EFFECT_CODE, "cloudpickle", NULL },
    { PEL_EFFECT_CODE, "joblib", NULL },
    { PEL_EFFECT_CODE, "marshal", NULL },
    { PEL_EFFECT_CODE, "types", "FunctionType CodeType MethodType LambdaType ModuleType" },
    { PEL_EFFECT_NONE, "types", "SimpleNamespace GenericAlias NoneType UnionType MappingProxyType" },
    { PEL_EFFECT_CODE, "gc", NULL },
    { PEL_EFFECT_CODE, "ast", NULL },
    { PEL_EFFECT_NONE, "ast", "literal_eval" },
    { PEL_EFFECT_CODE, "timeit", NULL },
    { PEL_EFFECT_CODE, "cProfile", NULL },
    { PEL_EFFECT_CODE, "pdb", NULL },
    { PEL_EFFECT_CODE, "yaml", NULL },
    { PEL_EFFECT_NONE, "yaml", "safe_load safe_dump SafeLoader" },
    { PEL_EFFECT_CODE, "torch", "load" },
    { PEL_EFFECT_CODE, "torch.jit", "load" },
    { PEL_EFFECT_CODE, "torch.package", NULL },
    { PEL_EFFECT_CODE, "torch.serialization", NULL },
    { PEL_EFFECT_CODE, "numpy", "load" },
    { PEL_EFFECT_WRITES, "torch", "save" },
    { PEL_EFFECT_WRITES, "numpy", "save savez savez_compressed savetxt memmap" },
    { PEL_EFFECT_READS, "numpy", "fromfile loadtxt genfromtxt" },
    { PEL_EFFECT_NATIVE, "ctypes", NULL },
    { PEL_EFFECT_NATIVE, "cffi", NULL },
    { PEL_EFFECT_NATIVE, "mmap", NULL },
    { PEL_EFFECT_NATIVE, "torch.utils.cpp_extension", NULL },
    { PEL_EFFECT_NATIVE, "torch.ops", "load_library" },
    { PEL_EFFECT_NATIVE, "torch.classes", "load_library" },
    { PEL_EFFECT_HIDES, "base64", NULL },
    { PEL_EFFECT_HIDES, "binascii", NULL },
    { PEL_EFFECT_HIDES, "codecs", NULL },
    { PEL_EFFECT_HIDES, "zlib", NULL },
    { PEL_EFFECT_HIDES, "gzip", NULL },
    { PEL_EFFECT_HIDES, "bz2", NULL },
    { PEL_EFFECT_HIDES, "lzma", NULL },
    { PEL_EFFECT_HIDES, "operator", "attrgetter methodcaller" },
    { PEL_EFFECT_ENVIRONMENT, "platform", NULL },
    { PEL_EFFECT_ENVIRONMENT, "getpass", NULL },
    { PEL_EFFECT_ENVIRONMENT, "locale", NULL },
/* what only computes: exact names, since a module gives away what it imports */
#include "load/audit/source_computes.inc"
    { PEL_EFFECT_NONE, "__future__", NULL },
    { PEL_EFFECT_NONE, "typing_extensions",
      "Literal Protocol TypedDict Annotated Self Unpack NotRequired Required TypeAlias override Final ParamSpec "
      "Concatenate" },
    { PEL_EFFECT_NONE, "huggingface_hub.dataclasses", "strict" },
    { PEL_EFFECT_NONE, "json", "loads dumps load dump JSONDecodeError JSONEncoder decoder" },
    { PEL_EFFECT_NONE, "inspect", "signature isfunction isclass ismethod Parameter getfullargspec isgenerator" },
    { PEL_EFFECT_NONE, "logging", "getLogger Logger DEBUG INFO WARNING ERROR debug info warning error" },
    { PEL_EFFECT_NONE, "packaging.version", "parse Version" },
    { PEL_EFFECT_NONE, "einops", "rearrange repeat reduce einsum pack unpack" },
    { PEL_EFFECT_NONE, "einops.layers.torch", "Rearrange Reduce EinMix" },
    { PEL_EFFECT_NONE, "torch.cuda.amp", "autocast GradScaler custom_fwd custom_bwd" },
    { PEL_EFFECT_NONE, "torch.cuda", "is_available current_device device_count is_bf16_supported" },
    { PEL_EFFECT_NONE, "torch.jit", "script trace ignore export is_scripting is_tracing unused" },
    { PEL_EFFECT_NONE, "torch.backends.cuda", "sdp_kernel" },
    { PEL_EFFECT_NONE, "torch",
      "Tensor FloatTensor LongTensor IntTensor BoolTensor HalfTensor ByteTensor no_grad enable_grad inference_mode "
      "set_grad_enabled is_grad_enabled autocast is_autocast_enabled get_autocast_gpu_dtype float32 float16 bfloat16 "
      "float64 int8 int16 int32 int64 uint8 bool complex64 long float double half int get_default_dtype "
      "is_floating_point "
      "set_default_dtype Size Generator device dtype finfo iinfo manual_seed strided from_numpy as_tensor autograd "
      "is_complex complex polar view_as_complex view_as_real outer rand randn randint randn_like rand_like randperm "
      "multinomial normal bernoulli empty_strided compile __version__" },
    { PEL_EFFECT_NONE, "numpy",
      "ndarray float32 float64 int32 int64 bool_ uint8 int8 inf nan pi newaxis dtype generic" },
    { PEL_EFFECT_NONE, "transformers.configuration_utils", "PretrainedConfig PreTrainedConfig" },
    { PEL_EFFECT_NONE, "transformers.modeling_utils", "PreTrainedModel ALL_ATTENTION_FUNCTIONS" },
    { PEL_EFFECT_NONE, "transformers.utils",
      "logging ModelOutput add_start_docstrings add_start_docstrings_to_model_forward replace_return_docstrings "
      "add_code_sample_docstrings is_torch_available" },
    { PEL_EFFECT_NONE, "transformers.utils.logging", "get_logger set_verbosity_error set_verbosity_info" },
    { PEL_EFFECT_NONE, "transformers.generation", "GenerationMixin GenerationConfig" },
    { PEL_EFFECT_NONE, "transformers.tokenization_utils", "PreTrainedTokenizer AddedToken" },
    { PEL_EFFECT_NONE, "transformers", "PretrainedConfig PreTrainedConfig PreTrainedModel PreTrainedTokenizer" },
};

/* Python's own functions, but for those above. */
static const char builtin_names[] =
    " abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex delattr dict divmod "
    "enumerate filter float format frozenset hasattr hash hex id int isinstance issubclass iter len list map max min "
    "next object oct ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum "
    "super tuple type zip getattr input memoryview True False None NotImplemented Ellipsis __name__ __file__ __doc__ "
    "__debug__ __class__ "
    "ArithmeticError AssertionError AttributeError BaseException DeprecationWarning EOFError Exception "
    "FileNotFoundError FloatingPointError FutureWarning ImportError IndexError KeyError KeyboardInterrupt LookupError "
    "MemoryError ModuleNotFoundError NameError NotImplementedError OSError OverflowError PermissionError "
    "RecursionError RuntimeError RuntimeWarning StopIteration SystemError SystemExit TimeoutError TypeError "
    "UnboundLocalError UnicodeDecodeError UnicodeError UserWarning ValueError Warning ZeroDivisionError ";

/* Modules that lead to all the others, as attributes of what imports them. */
static const char ways_out[] = " os sys builtins __builtins__ subprocess importlib ctypes socket shutil posix nt pty ";

static bool has_word(const char *words, pel_str word) {
    if (!word.len || memchr(word.ptr, ' ', word.len)) return false;
    for (const char *at = words + strspn(words, " "); *at;) {
        size_t n = strcspn(at, " ");
        if (n == word.len && memcmp(at, word.ptr, n) == 0) return true;
        at += n;
        while (*at == ' ') at++;
    }
    return false;
}

/* Modules whose names are everyday words, with all names that they have in any Python. */
static const struct {
    const char *module, *names;
} everyday[] = {
#include "load/audit/module_names.inc"
};

static pel_str first_part(pel_str dotted) {
    const char *dot = dotted.len ? memchr(dotted.ptr, '.', dotted.len) : NULL;
    return pel_str_cut(dotted, 0, dot ? (size_t)(dot - dotted.ptr) : dotted.len);
}

/* A row of the module that the name begins with: how many letters of the name it explains, 0 if none. */
static size_t explains(size_t row, pel_str dotted) {
    size_t len = strlen(rows[row].module);
    if (!pel_str_starts(dotted, pel_str_of(rows[row].module))) return 0;
    if (dotted.len > len && dotted.ptr[len] != '.') return 0;
    if (!rows[row].names) return len;
    if (dotted.len == len) return 0;
    pel_str name = first_part(pel_str_from(dotted, len + 1));
    return has_word(rows[row].names, name) ? len + 1 + name.len : 0;
}

static pel_effect by_rows(pel_str dotted) {
    pel_effect found = PEL_EFFECT_UNKNOWN;
    size_t best = 0;
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        size_t n = explains(i, dotted);
        if (n > best || (n && n == best && rows[i].effect > found)) found = rows[i].effect, best = n;
    }
    return found;
}

/* "torch.os.system": a library gives away the modules that it imports. */
static pel_effect through_modules(pel_str dotted) {
    for (size_t at = 0; at < dotted.len; at++) {
        if (dotted.ptr[at] != '.') continue;
        pel_str rest = pel_str_from(dotted, at + 1);
        pel_effect inner = by_rows(rest);
        if (inner > PEL_EFFECT_UNKNOWN) return inner;
        pel_str part = first_part(rest);
        bool is_special = pel_str_starts(part, PEL_STR("__"));
        if (has_word(ways_out, part) || (is_special && pel_effect_of_method(part) > PEL_EFFECT_UNKNOWN))
            return PEL_EFFECT_CODE;
    }
    return PEL_EFFECT_NONE;
}

bool pel_is_everyday(pel_str dotted) {
    pel_str top = first_part(dotted),
            name = first_part(pel_str_from(dotted, top.len < dotted.len ? top.len + 1 : top.len));
    for (size_t i = 0; name.len && i < PEL_COUNT(everyday); i++)
        if (pel_str_is(top, everyday[i].module))
            return !has_word(everyday[i].names, name) && !pel_str_starts(name, PEL_STR("test_"));
    return false;
}

pel_effect pel_effect_of(pel_str dotted) {
    pel_effect inner = through_modules(dotted), own = by_rows(dotted);
    if (inner != PEL_EFFECT_NONE && own <= PEL_EFFECT_UNKNOWN) return inner;
    if (own != PEL_EFFECT_UNKNOWN) return own;
    if (pel_str_starts(dotted, PEL_STR("builtins.")))
        return has_word(builtin_names, pel_str_from(dotted, strlen("builtins."))) ? PEL_EFFECT_NONE : own;
    pel_str top = first_part(dotted);
    if (!pel_str_is(top, "torch") && !pel_str_is(top, "numpy")) return own;
    return dotted.len > top.len && pel_is_computing(pel_str_from(dotted, top.len + 1)) ? PEL_EFFECT_NONE : own;
}

bool pel_is_whole_module(pel_str dotted) {
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(dotted, rows[i].module)) return true;
    return false;
}

bool pel_is_library(pel_str module) {
    pel_str top = first_part(module);
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_eq(first_part(pel_str_of(rows[i].module)), top)) return true;
    return false;
}

static const struct {
    pel_effect effect;
    const char *names;
} methods[] = {
    { PEL_EFFECT_RUNS, " system popen Popen check_output check_call run_command spawn fork execv execve " },
    { PEL_EFFECT_NETWORK,
      " urlopen urlretrieve connect connect_ex sendall sendto from_pretrained push_to_hub hf_hub_download "
      "snapshot_download download download_url_to_file " },
    { PEL_EFFECT_WRITES,
      " write write_text write_bytes writelines unlink rmdir mkdir makedirs touch rename symlink_to hardlink_to chmod "
      "save save_pretrained save_vocabulary tofile dump to_csv to_pickle extractall extract savez " },
    { PEL_EFFECT_READS, " read_text read_bytes read_csv read_json open readlines readline glob rglob iterdir " },
    { PEL_EFFECT_CODE,
      " exec_module load_module __import__ __globals__ __builtins__ __subclasses__ __code__ __closure__ __mro__ "
      "__bases__ __reduce__ __reduce_ex__ __getattribute__ f_globals f_locals gi_frame tb_frame load loads "
      "unsafe_load " },
    { PEL_EFFECT_NATIVE, " load_library LoadLibrary cdll windll " },
    { PEL_EFFECT_HIDES, " b64decode a85decode unhexlify decompress fromhex " },
    { PEL_EFFECT_NONE,
      " append extend insert pop popitem get items keys values update copy join split rsplit splitlines strip lstrip "
      "rstrip format startswith endswith lower upper title replace add remove discard index count setdefault sort "
      "reverse clear encode decode find rfind isdigit isalpha zfill union intersection difference most_common "
      "__init__ __new__ __setattr__ __getitem__ __len__ __enter__ __exit__ __repr__ __call__ __post_init__ "
      "__init_subclass__ register_buffer register_parameter register_module add_module apply parameters "
      "named_parameters modules named_modules children named_children buffers named_buffers state_dict load_state_dict "
      "_load_from_state_dict train eval cuda half float double bfloat16 requires_grad_ zero_grad forward "
      "reset_parameters "
      "init_weights _init_weights post_init tie_weights get_input_embeddings set_input_embeddings "
      "get_output_embeddings set_output_embeddings normal_ zero_ uniform_ fill_ copy_ ones_ zeros_ clamp_ mul_ add_ "
      "sub_ div_ masked_fill_ index_copy_ scatter_ scatter_add_ index_add_ trunc_normal_ xavier_uniform_ "
      "kaiming_normal_ "
      "xavier_normal_ kaiming_uniform_ constant_ eye_ exponential_ backward step size stride is_contiguous nelement "
      "element_size new_zeros new_ones new_full new_empty new_tensor unflatten flatten info warning warning_once "
      "debug error get_logger getLogger append_ to_tuple get_seq_length get_usable_length group groups match search "
      "sub findall fullmatch isoformat total_seconds to_dict from_dict extra_repr gradient_checkpointing_enable "
      "_gradient_checkpointing_func register_for_auto_class wraps type numpy tobytes " },
};

pel_effect pel_effect_of_method(pel_str name) {
    if (has_word(ways_out, name)) return PEL_EFFECT_CODE;
    for (size_t i = 0; i < PEL_COUNT(methods); i++)
        if (has_word(methods[i].names, name)) return methods[i].effect;
    return pel_is_computing(name) ? PEL_EFFECT_NONE : PEL_EFFECT_UNKNOWN;
}

const char *pel_effect_verb(pel_effect effect) {
    switch (effect) {
    case PEL_EFFECT_NONE: return "computes";
    case PEL_EFFECT_ENVIRONMENT: return "asks about the system";
    case PEL_EFFECT_READS: return "reads files";
    case PEL_EFFECT_HIDES: return "decodes data or computes names";
    case PEL_EFFECT_UNKNOWN: return "does something that nobody knows";
    case PEL_EFFECT_WRITES: return "writes or removes files";
    case PEL_EFFECT_NETWORK: return "uses the network";
    case PEL_EFFECT_NATIVE: return "loads native code";
    case PEL_EFFECT_CODE: return "makes code of data";
    case PEL_EFFECT_RUNS: return "runs a process";
    }
    return "";
}

const char *pel_effect_kind(pel_effect effect) {
    switch (effect) {
    case PEL_EFFECT_NONE: return "source-computes";
    case PEL_EFFECT_ENVIRONMENT: return "source-environment";
    case PEL_EFFECT_READS: return "source-reads";
    case PEL_EFFECT_HIDES: return "source-hides";
    case PEL_EFFECT_UNKNOWN: return "source-unknown";
    case PEL_EFFECT_WRITES: return "source-writes";
    case PEL_EFFECT_NETWORK: return "source-network";
    case PEL_EFFECT_NATIVE: return "source-native";
    case PEL_EFFECT_CODE: return "source-code";
    case PEL_EFFECT_RUNS: return "source-runs";
    }
    return "";
}

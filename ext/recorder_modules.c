/* Modules, classes and code objects -> rows of the log. */
#include "recorder.h"

#if PEL_CAN_RECORD

/* ---- calls of our own Python helpers: an error there means "not known" ---- */

/* NULL if it is not known. Interrupts are thrown, so callers hold nothing meanwhile that somebody would miss. */
static PyObject *ask(pel_recorder *rec, PyObject *from, const char *function, const char *format, ...) {
    if (!from) return NULL;
    va_list args;
    va_start(args, format);
    PyObject *tuple = Py_VaBuildValue(format, args);
    va_end(args);
    PyObject *callable = tuple ? PyObject_GetAttrString(from, function) : NULL;
    PyObject *answer = callable ? PyObject_CallObject(callable, tuple) : NULL;
    Py_XDECREF(callable);
    Py_XDECREF(tuple);
    pel_take_error(rec);
    return answer;
}

static pel_str text_of(pel_recorder *rec, PyObject *text) {
    return text && PyUnicode_Check(text) ? pel_ext_text(rec->ctx, text) : PEL_STR("");
}

/* ---- files and code ---- */

static pel_id file_row(pel_recorder *rec, PyObject *path) {
    pel_name name = pel_ext_name(rec->ctx, path);
    uint64_t known;
    if (pel_map_get(&rec->files, PEL_KEY(name), &known)) return (pel_id)known;
    pel_log_file row = { .path = pel_name_str(name), .source = PEL_STR("") };
    PyObject *bytes = ask(rec, rec->helpers, "source_of", "(O)", path);
    if (bytes && PyBytes_Check(bytes))
        row.source = pel_str_copy(rec->ctx, (pel_str){ PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) });
    Py_XDECREF(bytes);
    pel_push(rec->ctx, &rec->log->files, row);
    pel_map_set(rec->ctx, &rec->files, PEL_KEY(name), rec->log->files.n - 1);
    return rec->log->files.n - 1;
}

pel_code_info *pel_code_info_of(pel_recorder *rec, PyObject *code) {
    uint64_t known;
    if (pel_map_get(&rec->codes, PEL_KEY(code), &known)) return (pel_code_info *)(uintptr_t)known;
    pel_code_info *info = pel_new(rec->ctx, pel_code_info);
    info->code = code;
    pel_keep(rec, code);
    PyObject *roots = rec->author_roots ? rec->author_roots : Py_None;
    PyObject *answer = ask(rec, rec->helpers, "role_of", "(OOO)", code, roots, rec->opened);
    info->role = answer ? (pel_code_role)PyLong_AsLong(answer) : PEL_ROLE_LIBRARY;
    Py_XDECREF(answer);
    pel_map_set(rec->ctx, &rec->codes, PEL_KEY(code), PEL_KEY(info));
    return info;
}

static pel_id owner_class(pel_recorder *rec, PyObject *code, PyObject *globals, PyObject *first_argument) {
    PyObject *qualname = PyObject_GetAttrString(code, "co_qualname");
    if (!qualname) PyErr_Clear();
    PyObject *owner = qualname ? ask(rec, rec->helpers, "owner_of", "(OOO)", qualname, globals,
                                     first_argument ? first_argument : Py_None)
                               : NULL;
    Py_XDECREF(qualname);
    pel_id class = owner && PyType_Check(owner) ? pel_record_class(rec, owner) : 0;
    Py_XDECREF(owner);
    return class;
}

#define MAX_TABLE 256 /* items of a table that are looked at for tensors */

static void see_constant(pel_recorder *rec, PyObject *value, int depth) {
    if (!value || depth > 2) return;
    if (pel_is_tensor(&rec->torch, value)) {
        pel_keep(rec, value);
        pel_push(rec->ctx, &rec->constants, value);
    } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && i < MAX_TABLE; i++)
            see_constant(rec, PySequence_Fast_GET_ITEM(value, i), depth + 1);
    } else if (PyDict_CheckExact(value) && PyDict_GET_SIZE(value) <= MAX_TABLE) {
        PyObject *key, *item;
        Py_ssize_t at = 0;
        while (PyDict_Next(value, &at, &key, &item)) see_constant(rec, item, depth + 1);
    }
}

/* Tensors that a function finds by name in its file, in another one of the author's, or in its class: MEAN,
 * constants.MEAN, self.MEAN. They are there before the run, so they are constants unless it binds them anew. */
static void see_constants(pel_recorder *rec, const pel_code_object *code, PyObject *globals, PyObject *self) {
    for (uint32_t i = 0; i < code->names.n; i++) {
        PyObject *name = PyUnicode_FromString(code->names.at[i]->text);
        if (!name) PyErr_Clear();
        PyObject *value = name && globals ? PyDict_GetItem(globals, name) : NULL; /* borrowed, like all here */
        see_constant(rec, value, 0);
        for (uint32_t k = 0; value && PyModule_Check(value) && k < code->names.n; k++)
            see_constant(rec, PyDict_GetItemString(PyModule_GetDict(value), code->names.at[k]->text), 0);
        if (name && self && pel_is_module(&rec->torch, self)) see_constant(rec, _PyType_Lookup(Py_TYPE(self), name), 0);
        Py_XDECREF(name);
    }
}

/* Tensors that are defaults of a function which was there before the run. */
static void see_defaults(pel_recorder *rec, PyObject *function) {
    if (((PyCodeObject *)PyFunction_GET_CODE(function))->co_flags & CO_NESTED)
        return; /* made in the run, maybe of data */
    see_constant(rec, PyFunction_GET_DEFAULTS(function), 0);
    see_constant(rec, PyFunction_GET_KW_DEFAULTS(function), 0);
}

/* A function that is only seen as a value has no first argument: its owner is asked for once more at the first call.
 * The list of codes may grow and move while the owner is recorded, so the row is found by its index again. */
pel_id pel_record_code(pel_recorder *rec, pel_code_info *info, PyObject *function, PyObject *first_argument) {
    PyObject *globals = PyFunction_GET_GLOBALS(function);
    if (info->row) {
        pel_log_code *row = &rec->log->codes.at[info->row];
        if (!row->class && first_argument && !info->asked_owner) {
            info->asked_owner = true;
            pel_id class = owner_class(rec, info->code, globals, first_argument);
            rec->log->codes.at[info->row].class = class;
        }
        return info->row;
    }
    PyObject *readable = ask(rec, rec->helpers, "described", "(O)", info->code);
    if (!readable || !PyCode_Check(readable)) {
        Py_XDECREF(readable);
        readable = Py_NewRef(info->code);
    }
    pel_keep(rec, readable);
    Py_DECREF(readable);
    pel_code_object *code = pel_ext_import_code(rec->ctx, readable, rec->kept_list, rec->odd_constants);
    info->n_units = (uint32_t)(code->code.len / 2);
    info->units = pel_describe_units(rec->ctx, code);
    pel_log_code row = { .code = code, .file = file_row(rec, ((PyCodeObject *)readable)->co_filename) };
    row.module = globals ? text_of(rec, PyDict_GetItemString(globals, "__name__")) : PEL_STR("");
    pel_push(rec->ctx, &rec->log->codes, row);
    info->row = rec->log->codes.n - 1;
    info->asked_owner = first_argument != NULL;
    see_constants(rec, code, globals, first_argument);
    see_defaults(rec, function);
    pel_id class = globals ? owner_class(rec, info->code, globals, first_argument) : 0;
    rec->log->codes.at[info->row].class = class;
    return info->row;
}

/* ---- classes ---- */

/* An attribute of a class, by the rules of `type` alone: a metaclass has no say. */
static PyObject *type_attribute(PyObject *type, const char *name) {
    PyObject *key = PyUnicode_FromString(name);
    PyObject *value = key ? PyType_Type.tp_getattro(type, key) : NULL;
    Py_XDECREF(key);
    if (!value) PyErr_Clear();
    return value;
}

static pel_str type_text(pel_recorder *rec, PyObject *type, const char *name) {
    PyObject *value = type_attribute(type, name);
    pel_str s = text_of(rec, value);
    Py_XDECREF(value);
    return s;
}

static void set_class_facts(pel_recorder *rec, pel_log_class *row, PyObject *type) {
    row->kind = PEL_CLASS_AUTHOR;
    PyObject *path, *file, *fields, *leaves = rec->leaf_types ? rec->leaf_types : Py_None;
    PyObject *facts = ask(rec, rec->helpers, "class_facts", "(OOO)", type, leaves, rec->opened);
    int kind, line;
    if (facts && PyArg_ParseTuple(facts, "iUUiO!", &kind, &path, &file, &line, &PyTuple_Type, &fields)) {
        row->kind = (pel_class_kind)kind;
        row->path = text_of(rec, path);
        row->line = (uint32_t)line;
        if (PyUnicode_GET_LENGTH(file)) row->file = file_row(rec, file);
        row->fields.n = (uint32_t)PyTuple_GET_SIZE(fields);
        row->fields.at = pel_new_array(rec->ctx, row->fields.n, pel_name);
        for (uint32_t i = 0; i < row->fields.n; i++)
            row->fields.at[i] = pel_ext_name(rec->ctx, PyTuple_GET_ITEM(fields, i));
    }
    PyErr_Clear();
    Py_XDECREF(facts);
}

static void describe_tensors(pel_recorder *rec, PyObject *value, int depth) {
    if (pel_is_tensor(&rec->torch, value)) pel_describe_tensor(rec, value);
    if ((!PyTuple_Check(value) && !PyList_CheckExact(value)) || depth > 2) return;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
        describe_tensors(rec, PySequence_Fast_GET_ITEM(value, i), depth + 1);
}

/* Objects that the run makes have these by their class: order = 5. Descriptors (methods, properties) are none. */
static void set_constants(pel_recorder *rec, pel_id id, PyObject *type) {
    PEL_VEC(pel_log_attribute) made = { NULL, 0, 0 };
    PyObject *dict = ((PyTypeObject *)type)->tp_dict, *key, *value;
    Py_ssize_t at = 0;
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        if (!PyUnicode_Check(key) || Py_TYPE(value)->tp_descr_get) continue;
        pel_str name = pel_ext_text(rec->ctx, key);
        if (pel_str_starts(name, PEL_STR("__")) || pel_str_starts(name, PEL_STR("_abc_"))) continue;
        describe_tensors(rec, value, 0);
        pel_push(rec->ctx, &made, ((pel_log_attribute){ pel_ext_name(rec->ctx, key), pel_record_value(rec, value) }));
    }
    rec->log->classes.at[id].constants = made.at;
    rec->log->classes.at[id].n_constants = made.n;
}

/* What fields of a record are if they are not given. */
static void set_defaults(pel_recorder *rec, pel_id id, PyObject *type) {
    PEL_VEC(pel_log_attribute) made = { NULL, 0, 0 };
    PyObject *defaults = ask(rec, rec->helpers, "field_defaults", "(O)", type), *key, *value;
    Py_ssize_t at = 0;
    while (defaults && PyDict_Check(defaults) && PyDict_Next(defaults, &at, &key, &value))
        pel_push(rec->ctx, &made, ((pel_log_attribute){ pel_ext_name(rec->ctx, key), pel_record_value(rec, value) }));
    PyErr_Clear();
    Py_XDECREF(defaults);
    rec->log->classes.at[id].constants = made.at;
    rec->log->classes.at[id].n_constants = made.n;
}

/* Torch derives a class for each module that is parametrized. Of an author's class it is that class: what is added
 * shows in the module's child "parametrizations". Otherwise 0. */
static pel_id parametrized_class(pel_recorder *rec, PyObject *type) {
    PyObject *base = (PyObject *)((PyTypeObject *)type)->tp_base;
    if (!base || !pel_str_is(type_text(rec, type, "__module__"), "torch.nn.utils.parametrize")) return 0;
    pel_id id = pel_record_class(rec, base);
    return pel_class_at(rec->log, id)->kind == PEL_CLASS_MODULE ? id : 0;
}

/* The map gets the class before its bases and constants are recorded: a constant may be an object of the same class.
 * Each of these calls may add classes and move the list, so the row is found by its index every time. */
pel_id pel_record_class(pel_recorder *rec, PyObject *type) {
    uint64_t known;
    if (pel_map_get(&rec->classes, PEL_KEY(type), &known)) return (pel_id)known;
    pel_keep(rec, type);
    pel_id derived_from = parametrized_class(rec, type);
    if (derived_from) {
        pel_map_set(rec->ctx, &rec->classes, PEL_KEY(type), derived_from);
        return derived_from;
    }
    pel_log_class row = { .kind = PEL_CLASS_AUTHOR };
    pel_str name = type_text(rec, type, "__name__");
    row.name = pel_intern_str(rec->ctx, name);
    row.qualname = type_text(rec, type, "__qualname__");
    row.module = type_text(rec, type, "__module__");
    set_class_facts(rec, &row, type);
    pel_push(rec->ctx, &rec->log->classes, row);
    pel_id id = rec->log->classes.n - 1;
    pel_map_set(rec->ctx, &rec->classes, PEL_KEY(type), id);
    PyObject *bases = ((PyTypeObject *)type)->tp_bases;
    uint32_t n = bases ? (uint32_t)PyTuple_GET_SIZE(bases) : 0;
    pel_id *ids = pel_new_array(rec->ctx, n, pel_id);
    for (uint32_t i = 0; i < n; i++) ids[i] = pel_record_class(rec, PyTuple_GET_ITEM(bases, i));
    rec->log->classes.at[id].bases = ids;
    rec->log->classes.at[id].n_bases = n;
    pel_class_kind kind = rec->log->classes.at[id].kind;
    if (kind == PEL_CLASS_AUTHOR) set_constants(rec, id, type);
    if (kind == PEL_CLASS_DATACLASS || kind == PEL_CLASS_NAMEDTUPLE) set_defaults(rec, id, type);
    return id;
}

/* ---- modules ---- */

typedef struct found_module {
    PyObject *module; /* borrowed: the tree keeps it */
    pel_id row;
} found_module;
typedef PEL_VEC(found_module) found_modules;

/* An entry of the instance's own __dict__; borrowed. */
static PyObject *own(PyObject *dict, const char *name) { return dict ? PyDict_GetItemString(dict, name) : NULL; }

/* The instance's own __dict__; borrowed: the module holds it. */
static PyObject *own_dict(PyObject *module) {
    PyObject *dict = PyObject_GenericGetDict(module, NULL);
    if (!dict) PyErr_Clear();
    Py_XDECREF(dict);
    return dict;
}

/* First all rows of a tree, so that what they hold can refer to any of them. */
static void add_rows(pel_recorder *rec, PyObject *module, pel_str path, bool in_tree, found_modules *list, int depth) {
    pel_seen *seen = pel_seen_find(rec, module);
    if (seen && seen->value) return;
    if (depth > 200) pel_throw(rec->ctx, PEL_E_TOO_DEEP, 0, "modules nest too deep");
    pel_log_module row = { .path = path, .in_tree = in_tree };
    pel_push(rec->ctx, &rec->log->modules, row);
    pel_id id = rec->log->modules.n - 1;
    pel_push(rec->ctx, list, (found_module){ module, id });
    pel_remember_module(rec, module, id);
    PyObject *dict = own_dict(module), *children = own(dict, "_modules"), *key, *child;
    Py_ssize_t at = 0;
    while (children && PyDict_Check(children) && PyDict_Next(children, &at, &key, &child)) {
        if (!pel_is_module(&rec->torch, child) || !PyUnicode_Check(key)) continue;
        pel_str name = pel_ext_text(rec->ctx, key);
        pel_str below = path;
        if (in_tree) below = path.len ? pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
        add_rows(rec, child, below, in_tree, list, depth + 1);
    }
}

static void set_owner(pel_recorder *rec, pel_id tensor, pel_id owner, pel_name name) {
    pel_log_tensor *row = &rec->log->tensors.at[tensor];
    if (row->owner) return; /* tied: the first owner counts */
    row->owner = owner;
    row->name = name;
}

/* How to make a tensor that no state_dict holds. */
static void describe_tensor(pel_recorder *rec, pel_id id, PyObject *tensor) {
    if (rec->log->tensors.at[id].formula.len || rec->log->tensors.at[id].data.len) return;
    PyObject *both = ask(rec, rec->formulas, "describe", "(O)", tensor), *formula, *data;
    if (both && PyArg_ParseTuple(both, "UU", &formula, &data)) {
        rec->log->tensors.at[id].formula = text_of(rec, formula);
        rec->log->tensors.at[id].data = text_of(rec, data);
    }
    PyErr_Clear();
    Py_XDECREF(both);
}

void pel_describe_tensor(pel_recorder *rec, PyObject *tensor) {
    pel_id id = pel_record_tensor(rec, tensor);
    const pel_log_tensor *row = &rec->log->tensors.at[id];
    if (!row->owner && !row->is_parameter) describe_tensor(rec, id, tensor);
}

/* How a tensor that a state_dict fills lies in memory: operations on others of that shape give other bits. One with
 * gaps, or over itself, is left as it would be made. */
static void set_order(pel_recorder *rec, pel_id id, PyObject *tensor) {
    pel_log_tensor *row = &rec->log->tensors.at[id];
    PyObject *guard = pel_disable_torch_function(&rec->torch);
    PyObject *strides = row->n_dims > 1 ? PyObject_CallMethod(tensor, "stride", NULL) : NULL;
    pel_enable_torch_function(guard);
    bool is_known = strides && PyTuple_Check(strides) && PyTuple_GET_SIZE(strides) == (Py_ssize_t)row->n_dims;
    uint32_t *order = pel_new_array(rec->ctx, row->n_dims + 1u, uint32_t), n = 0;
    long long *steps = pel_new_array(rec->ctx, row->n_dims + 1u, long long);
    for (uint32_t i = 0; is_known && i < row->n_dims; i++) {
        steps[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i));
        uint32_t at = n++;
        for (; at > 0 && steps[order[at - 1]] < steps[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    long long next = 1;
    bool is_permuted = false;
    for (uint32_t i = n; i-- > 0;) {
        if (steps[order[i]] != next) is_known = false;
        next *= row->shape[order[i]];
        is_permuted |= order[i] != i;
    }
    if (is_known && is_permuted && next > 0) row->order = order;
    PyErr_Clear();
    Py_XDECREF(strides);
}

static void set_slots(pel_recorder *rec, pel_id owner, PyObject *dict, PyObject *not_persistent, pel_log_slot **slots,
                      uint32_t *n_slots) {
    PEL_VEC(pel_log_slot) made = { NULL, 0, 0 };
    PyObject *key, *tensor;
    Py_ssize_t at = 0;
    while (dict && PyDict_Check(dict) && PyDict_Next(dict, &at, &key, &tensor)) {
        if (!PyUnicode_Check(key)) continue;
        pel_log_slot slot = { .name = pel_ext_name(rec->ctx, key), .persistent = true };
        if (not_persistent && PyAnySet_Check(not_persistent)) slot.persistent = !PySet_Contains(not_persistent, key);
        if (pel_is_tensor(&rec->torch, tensor)) {
            slot.tensor = pel_record_tensor(rec, tensor);
            set_owner(rec, slot.tensor, owner, slot.name);
            if (slot.persistent)
                set_order(rec, slot.tensor, tensor);
            else
                describe_tensor(rec, slot.tensor, tensor);
        }
        pel_push(rec->ctx, &made, slot);
    }
    *slots = made.at;
    *n_slots = made.n;
}

static void set_children(pel_recorder *rec, pel_id id, PyObject *children) {
    PEL_VEC(pel_name) names = { NULL, 0, 0 };
    PEL_VEC(pel_id) rows = { NULL, 0, 0 };
    PyObject *key, *child;
    Py_ssize_t at = 0;
    while (children && PyDict_Check(children) && PyDict_Next(children, &at, &key, &child)) {
        if (!PyUnicode_Check(key)) continue;
        pel_push(rec->ctx, &names, pel_ext_name(rec->ctx, key));
        pel_push(rec->ctx, &rows, pel_is_module(&rec->torch, child) ? pel_record_module(rec, child) : 0);
    }
    pel_log_module *row = &rec->log->modules.at[id];
    row->child_names = (pel_name_list){ names.at, names.n };
    row->children = rows.at;
}

enum { MOST_PARTS = 64, DEEPEST_PART = 3 };

/* A tensor that an attribute holds, or each of those in its list, tuple or dict. */
static void describe_parts(pel_recorder *rec, pel_id owner, pel_name name, PyObject *value, int depth) {
    if (pel_is_tensor(&rec->torch, value)) {
        pel_id tensor = pel_record_tensor(rec, value);
        if (rec->log->tensors.at[tensor].owner) return;
        set_owner(rec, tensor, owner, name);
        describe_tensor(rec, tensor, value);
    } else if (depth < DEEPEST_PART && (PyList_CheckExact(value) || PyTuple_CheckExact(value))) {
        Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
        for (Py_ssize_t i = 0; i < n && n <= MOST_PARTS; i++)
            describe_parts(rec, owner, name, PySequence_Fast_GET_ITEM(value, i), depth + 1);
    } else if (depth < DEEPEST_PART && PyDict_CheckExact(value) && PyDict_GET_SIZE(value) <= MOST_PARTS) {
        PyObject *key, *item;
        Py_ssize_t at = 0;
        while (PyDict_Next(value, &at, &key, &item)) describe_parts(rec, owner, name, item, depth + 1);
    }
}

/* The rest of the __dict__. */
static void set_attributes(pel_recorder *rec, pel_id id, PyObject *dict) {
    PEL_VEC(pel_log_attribute) made = { NULL, 0, 0 };
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dict && PyDict_Next(dict, &at, &key, &value)) {
        if (!PyUnicode_Check(key) || PySet_Contains(rec->torch.own_fields, key)) continue;
        pel_name name = pel_ext_name(rec->ctx, key);
        rec->holding = true;
        pel_id held = pel_record_value(rec, value);
        rec->holding = false;
        pel_push(rec->ctx, &made, (pel_log_attribute){ name, held });
        describe_parts(rec, id, name, value, 0);
    }
    rec->log->modules.at[id].attributes = made.at;
    rec->log->modules.at[id].n_attributes = made.n;
}

static bool has_entries(PyObject *dict, const char *name) {
    PyObject *entry = own(dict, name);
    return entry && PyDict_Check(entry) && PyDict_GET_SIZE(entry) > 0;
}

/* Whether calling the module does more than its class says. */
static bool has_hooks(PyObject *module, PyObject *dict) {
    static const char *const hooks[] = { "_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                                         "_backward_pre_hooks" };
    for (size_t i = 0; i < PEL_COUNT(hooks); i++)
        if (has_entries(dict, hooks[i])) return true;
    PyObject *children = own(dict, "_modules");
    if (children && PyDict_Check(children) && own(children, "parametrizations")) return true;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (dict && PyDict_Next(dict, &at, &key, &value)) /* a method set on the instance hides the class's */
        if ((PyFunction_Check(value) || PyMethod_Check(value)) && _PyType_Lookup(Py_TYPE(module), key)) return true;
    return false;
}

/* Torch's classes and what inherits from them: what arguments would build it (python/pellucid/_leaves.py). */
static void set_arguments(pel_recorder *rec, pel_id id, PyObject *module) {
    PyObject *arguments, *names, *leaves = rec->leaf_types ? rec->leaf_types : Py_None;
    PyObject *found = ask(rec, rec->leaves, "arguments", "(OOO)", module, leaves, rec->opened);
    if (found && PyArg_ParseTuple(found, "O!O!", &PyTuple_Type, &arguments, &PyTuple_Type, &names)) {
        uint32_t n = (uint32_t)PyTuple_GET_SIZE(arguments);
        pel_log_argument *made = pel_new_array(rec->ctx, n, pel_log_argument);
        bool complete = true;
        for (uint32_t i = 0; i < n && complete; i++) {
            PyObject *name, *value;
            int positional, is_default;
            complete =
                PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, i), "UOpp", &name, &value, &positional, &is_default);
            if (!complete) break;
            made[i] = (pel_log_argument){ pel_ext_name(rec->ctx, name), pel_record_value(rec, value), positional,
                                          is_default };
        }
        pel_log_module *row = &rec->log->modules.at[id];
        row->has_arguments = complete;
        row->arguments = complete ? made : NULL;
        row->n_arguments = complete ? n : 0;
        row->made_by_base.n = (uint32_t)PyTuple_GET_SIZE(names);
        row->made_by_base.at = pel_new_array(rec->ctx, row->made_by_base.n, pel_name);
        for (uint32_t i = 0; i < row->made_by_base.n; i++)
            row->made_by_base.at[i] = pel_ext_name(rec->ctx, PyTuple_GET_ITEM(names, i));
    }
    PyErr_Clear();
    Py_XDECREF(found);
}

/* nn.Module() itself, with things registered from outside: a class without a name, as far as its author goes. */
static pel_id namespace_class(pel_recorder *rec, pel_id plain) {
    static const char name[] = "Namespace";
    pel_log *log = rec->log;
    for (pel_id id = 1; id < log->classes.n; id++)
        if (log->classes.at[id].n_bases == 1 && log->classes.at[id].bases[0] == plain && !log->classes.at[id].file &&
            pel_str_is(log->classes.at[id].qualname, name))
            return id;
    pel_log_class row = { .kind = PEL_CLASS_MODULE, .name = pel_intern_c(rec->ctx, name), .qualname = PEL_STR(name) };
    row.bases = pel_new_array(rec->ctx, 1, pel_id);
    row.bases[row.n_bases++] = plain;
    pel_push(rec->ctx, &log->classes, row);
    return log->classes.n - 1;
}

static void fill_row(pel_recorder *rec, PyObject *module, pel_id id) {
    PyObject *dict = own_dict(module);
    pel_id class = pel_record_class(rec, (PyObject *)Py_TYPE(module));
    if (pel_str_is(pel_class_at(rec->log, class)->path, "torch.nn.Module")) class = namespace_class(rec, class);
    pel_log_module *row = &rec->log->modules.at[id];
    row->class = class;
    row->training = own(dict, "training") == Py_True;
    row->has_hooks = has_hooks(module, dict);
    set_children(rec, id, own(dict, "_modules"));
    pel_log_slot *slots;
    uint32_t n;
    set_slots(rec, id, own(dict, "_parameters"), NULL, &slots, &n);
    rec->log->modules.at[id].parameters = slots;
    rec->log->modules.at[id].n_parameters = n;
    set_slots(rec, id, own(dict, "_buffers"), own(dict, "_non_persistent_buffers_set"), &slots, &n);
    rec->log->modules.at[id].buffers = slots;
    rec->log->modules.at[id].n_buffers = n;
    set_attributes(rec, id, dict);
    set_arguments(rec, id, module);
}

static void record_below(pel_recorder *rec, PyObject *module, bool in_tree) {
    found_modules list = { NULL, 0, 0 };
    add_rows(rec, module, in_tree ? PEL_STR("") : PEL_STR("?"), in_tree, &list, 0);
    for (uint32_t i = 0; i < list.n; i++) fill_row(rec, list.at[i].module, list.at[i].row);
}

pel_id pel_record_module(pel_recorder *rec, PyObject *module) {
    pel_seen *seen = pel_seen_find(rec, module);
    if (!seen || !seen->value) {
        record_below(rec, module, false);
        seen = pel_seen_find(rec, module);
    }
    return pel_value_at(rec->log, seen->value)->module;
}

void pel_record_tree(pel_recorder *rec, PyObject *root) {
    record_below(rec, root, true);
    rec->log->root = pel_record_module(rec, root);
}

#endif

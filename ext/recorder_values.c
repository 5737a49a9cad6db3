/* Python objects -> values of the log.
 *
 * Plain values are interned by content: equal constants, tuples of the same items, are one row. Objects with
 * an identity get a number; each state in which they were seen is a row of its own, so a row never changes. */
#include "recorder.h"

#include <structmember.h>

#if PEL_CAN_RECORD

#define MAX_ITEMS 256
#define MAX_DEPTH 6
#define SMALL_INT_MIN (-5)

/* How to look at an object, by its type. */
typedef enum look {
    LOOK_LONG,
    LOOK_FLOAT,
    LOOK_STR,
    LOOK_PLAIN, /* complex, bytes */
    LOOK_TUPLE,
    LOOK_NAMEDTUPLE,
    LOOK_SIZE,
    LOOK_LIST,
    LOOK_SET,
    LOOK_FROZENSET,
    LOOK_DICT,
    LOOK_SLICE,
    LOOK_RANGE,
    LOOK_TENSOR,
    LOOK_MODULE,
    LOOK_FUNCTION,
    LOOK_METHOD,
    LOOK_BUILTIN,
    LOOK_PARTIAL,
    LOOK_CACHE,  /* functools.lru_cache: the function below it */
    LOOK_SCRIPT, /* what torch.jit.script made of a function: that function */
    LOOK_TYPE,
    LOOK_DEVICE,
    LOOK_WRAPPER,
    LOOK_NAMED, /* the library may have a name or a literal for it: dtypes, descriptors, modules */
    LOOK_OBJECT,
    LOOK_OPAQUE,
} look;

typedef struct type_info {
    PyObject *type;
    look look;
    pel_id class; /* of the log, when it was asked for; 0 before */
} type_info;

static pel_id value_at(pel_recorder *rec, PyObject *object, int depth);

/* ---- names that the library gives ---- */

static pel_str helper_text(pel_recorder *rec, const char *function, PyObject *object) {
    PyObject *text = rec->helpers ? PyObject_CallMethod(rec->helpers, function, "O", object) : NULL;
    pel_str s = { "", 0 };
    if (text && PyUnicode_Check(text)) s = pel_ext_text(rec->ctx, text);
    Py_XDECREF(text);
    pel_take_error(rec);
    return s;
}

/* Empty if the library does not give it. */
static pel_str library_name(pel_recorder *rec, PyObject *object) { return helper_text(rec, "name_of", object); }

/* ---- types ---- */

static bool inherits(PyTypeObject *type, PyTypeObject *base) { return base && PyType_IsSubtype(type, base); }

static PyObject *in_dict(PyTypeObject *type, const char *name) { /* of the class itself; borrowed */
    PyObject *found = type->tp_dict ? PyDict_GetItemString(type->tp_dict, name) : NULL;
    return found;
}

static bool is_namedtuple(PyTypeObject *type) {
    PyObject *fields = in_dict(type, "_fields");
    return fields && PyTuple_Check(fields) && inherits(type, &PyTuple_Type);
}

/* Objects of a type of C that are their attributes and nothing else: types.SimpleNamespace. */
static bool is_bare(const PyTypeObject *type) {
    Py_ssize_t head = (Py_ssize_t)sizeof(PyObject), pointer = (Py_ssize_t)sizeof(PyObject *);
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_base == &PyBaseObject_Type &&
           type->tp_dictoffset == head && type->tp_basicsize == head + pointer &&
           type->tp_getattro == PyObject_GenericGetAttr;
}

/* torch's operators; what torch.library.custom_op makes of an author's function. */
static bool is_operator(const PyTypeObject *type) {
    static const char *const names[] = { "OpOverloadPacket", "OpOverload", "CustomOpDef" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (strcmp(type->tp_name, names[i]) == 0) return true;
    return false;
}

static look look_at_type(pel_recorder *rec, PyTypeObject *type) {
    const pel_torch *torch = &rec->torch;
    if (type == &PyLong_Type) return LOOK_LONG;
    if (type == &PyFloat_Type) return LOOK_FLOAT;
    if (type == &PyUnicode_Type) return LOOK_STR;
    if (type == &PyComplex_Type || type == &PyBytes_Type) return LOOK_PLAIN;
    if (inherits(type, torch->tensor)) return LOOK_TENSOR;
    if (inherits(type, torch->module)) return LOOK_MODULE;
    if (type == torch->size) return LOOK_SIZE;
    if (type == torch->device) return LOOK_DEVICE;
    if (type == &PyTuple_Type) return LOOK_TUPLE;
    if (is_namedtuple(type)) return LOOK_NAMEDTUPLE;
    if (inherits(type, &PyTuple_Type)) return LOOK_NAMEDTUPLE; /* torch.return_types too: class and items */
    if (inherits(type, &PyList_Type)) return LOOK_LIST;
    if (inherits(type, &PyDict_Type)) return LOOK_DICT;
    if (type == &PySet_Type) return LOOK_SET;
    if (type == &PyFrozenSet_Type) return LOOK_FROZENSET;
    if (type == &PySlice_Type) return LOOK_SLICE;
    if (type == &PyRange_Type) return LOOK_RANGE;
    if (type == &PyFunction_Type) return LOOK_FUNCTION;
    if (type == &PyMethod_Type) return LOOK_METHOD;
    if (type == &PyCFunction_Type || type == &PyCMethod_Type) return LOOK_BUILTIN;
    if (strcmp(type->tp_name, "functools.partial") == 0) return LOOK_PARTIAL;
    if (strcmp(type->tp_name, "functools._lru_cache_wrapper") == 0) return LOOK_CACHE;
    if (pel_str_ends(pel_str_of(type->tp_name), PEL_STR("ScriptFunction"))) return LOOK_SCRIPT;
    if (inherits(type, &PyType_Type)) return LOOK_TYPE;
    if (strcmp(type->tp_name, "method-wrapper") == 0) return LOOK_WRAPPER;
    if (is_bare(type)) return LOOK_OBJECT;
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type == &PyModule_Type) return LOOK_NAMED;
    if (is_operator(type)) return LOOK_NAMED;
    return LOOK_OBJECT;
}

static type_info *type_info_of(pel_recorder *rec, PyTypeObject *type) {
    uint64_t found;
    if (pel_map_get(&rec->types, PEL_KEY(type), &found)) return (type_info *)(uintptr_t)found;
    type_info *info = pel_new(rec->ctx, type_info);
    info->type = (PyObject *)type;
    pel_keep(rec, info->type);
    info->look = look_at_type(rec, type);
    pel_map_set(rec->ctx, &rec->types, PEL_KEY(type), PEL_KEY(info));
    return info;
}

static pel_id class_of(pel_recorder *rec, type_info *info) {
    if (!info->class) info->class = pel_record_class(rec, info->type);
    return info->class;
}

/* ---- constants ---- */

static pel_id singleton(pel_recorder *rec, pel_id *known, const pel_const *constant) {
    if (!*known) *known = pel_intern_const(rec, constant);
    return *known;
}

static pel_id long_value(pel_recorder *rec, PyObject *object) {
    int overflow;
    long value = PyLong_AsLongAndOverflow(object, &overflow);
    if (overflow) return pel_intern_const(rec, pel_ext_const(rec->ctx, object));
    bool is_small = value >= SMALL_INT_MIN && value - SMALL_INT_MIN < (long)PEL_COUNT(rec->small_ints);
    pel_id *known = is_small ? &rec->small_ints[value - SMALL_INT_MIN] : NULL;
    if (known && *known) return *known;
    pel_id id = pel_intern_const(rec, &(pel_const){ .kind = PEL_CONST_INT, .integer.small = value });
    if (known) *known = id;
    return id;
}

static pel_id str_content(pel_recorder *rec, PyObject *object) {
    Py_ssize_t len;
    const char *ptr = PyUnicode_AsUTF8AndSize(object, &len);
    if (ptr) return pel_intern_const(rec, &(pel_const){ .kind = PEL_CONST_STR, .text = { ptr, (size_t)len } });
    PyErr_Clear();
    return pel_intern_const(rec, pel_ext_const(rec->ctx, object));
}

static pel_id str_value(pel_recorder *rec, PyObject *object) {
    if (PyUnicode_CHECK_INTERNED(object)) { /* a constant or a name of some code: there are not many, keep them */
        pel_seen *seen = pel_seen_find(rec, object);
        if (seen && seen->keeper == object) return seen->value;
        return pel_remember_value(rec, object, str_content(rec, object));
    }
    return str_content(rec, object);
}

/* ---- containers ---- */

typedef struct items {
    pel_id at[2 * MAX_ITEMS];
    uint32_t n;
    bool truncated;
} items;

static pel_id container(pel_recorder *rec, pel_value_kind kind, const items *from, pel_id class, uint64_t number) {
    pel_value value = { .kind = (uint8_t)kind, .n = from->n, .items = (pel_id *)from->at, .object = number };
    value.class = class;
    value.truncated = from->truncated;
    return pel_intern_value(rec, &value);
}

/* Items past the depth limit are left out, and the value says so. */
static bool is_too_deep(items *to, int depth, Py_ssize_t n) {
    to->n = 0;
    to->truncated = n > 0 && depth >= MAX_DEPTH;
    return to->truncated;
}

static bool has_room(items *to, uint32_t for_items) {
    if (to->n + for_items <= MAX_ITEMS * for_items) return true;
    to->truncated = true;
    return false;
}

static void tuple_items(pel_recorder *rec, PyObject *tuple, items *to, int depth) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    if (is_too_deep(to, depth, n)) return;
    for (Py_ssize_t i = 0; i < n && has_room(to, 1); i++)
        to->at[to->n++] = value_at(rec, PyTuple_GET_ITEM(tuple, i), depth + 1);
}

static void list_items(pel_recorder *rec, PyObject *list, items *to, int depth) {
    if (is_too_deep(to, depth, PyList_GET_SIZE(list))) return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list) && has_room(to, 1); i++)
        to->at[to->n++] = value_at(rec, PyList_GET_ITEM(list, i), depth + 1);
}

static void set_items(pel_recorder *rec, PyObject *set, items *to, int depth) {
    if (is_too_deep(to, depth, PySet_GET_SIZE(set))) return;
    PyObject *iterator = PyObject_GetIter(set), *item; /* exact types only: no code of anybody runs */
    while (iterator && !to->truncated && (item = PyIter_Next(iterator))) {
        if (has_room(to, 1)) to->at[to->n++] = value_at(rec, item, depth + 1);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
}

static void dict_items(pel_recorder *rec, PyObject *dict, items *to, int depth) {
    if (is_too_deep(to, depth, PyDict_GET_SIZE(dict))) return;
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value) && has_room(to, 2)) {
        pel_id key_id = value_at(rec, key, depth + 1);
        to->at[to->n++] = key_id;
        to->at[to->n++] = value_at(rec, value, depth + 1);
    }
}

static pel_id sequence_value(pel_recorder *rec, PyObject *object, type_info *info, int depth) {
    items from;
    switch (info->look) {
    case LOOK_TUPLE: tuple_items(rec, object, &from, depth); return container(rec, PEL_V_TUPLE, &from, 0, 0);
    case LOOK_SIZE: tuple_items(rec, object, &from, depth); return container(rec, PEL_V_SIZE, &from, 0, 0);
    case LOOK_NAMEDTUPLE:
        tuple_items(rec, object, &from, depth);
        return container(rec, PEL_V_TUPLE, &from, class_of(rec, info), 0);
    case LOOK_LIST:
        list_items(rec, object, &from, depth);
        return container(rec, PEL_V_LIST, &from, Py_IS_TYPE(object, &PyList_Type) ? 0 : class_of(rec, info),
                         pel_number_of(rec, object));
    case LOOK_SET:
        set_items(rec, object, &from, depth);
        return container(rec, PEL_V_SET, &from, 0, pel_number_of(rec, object));
    case LOOK_FROZENSET: set_items(rec, object, &from, depth); return container(rec, PEL_V_FROZENSET, &from, 0, 0);
    default:
        dict_items(rec, object, &from, depth);
        return container(rec, PEL_V_DICT, &from, Py_IS_TYPE(object, &PyDict_Type) ? 0 : class_of(rec, info),
                         pel_number_of(rec, object));
    }
}

/* slice and range keep their three numbers as C members. */
static pel_id three_members(pel_recorder *rec, PyObject *object, pel_value_kind kind, int depth) {
    static const char *const names[] = { "start", "stop", "step" };
    items from = { .n = 0 };
    for (int i = 0; i < 3; i++) {
        PyObject *member = PyObject_GetAttrString(object, names[i]);
        if (!member) PyErr_Clear();
        from.at[from.n++] = member ? value_at(rec, member, depth + 1) : 0;
        Py_XDECREF(member);
    }
    return container(rec, kind, &from, 0, 0);
}

/* ---- tensors ---- */

static void set_shape(pel_recorder *rec, pel_log_tensor *row, PyObject *shape) {
    if (!shape || !PyTuple_Check(shape)) return;
    row->n_dims = (uint32_t)PyTuple_GET_SIZE(shape);
    row->shape = pel_new_array(rec->ctx, row->n_dims, int64_t);
    for (uint32_t i = 0; i < row->n_dims; i++) {
        PyObject *size = PyTuple_GET_ITEM(shape, i);
        row->shape[i] = PyLong_CheckExact(size) ? PyLong_AsLongLong(size) : -1; /* symbolic sizes are not known */
    }
    if (PyErr_Occurred()) PyErr_Clear();
}

static pel_str dtype_name(pel_recorder *rec, PyObject *dtype) {
    if (!dtype) return PEL_STR("");
    const pel_value *value = pel_value_at(rec->log, pel_record_value(rec, dtype));
    return pel_value_has_text(value->kind) ? value->text : PEL_STR("");
}

/* The value of a tensor; value->tensor is its row. */
static pel_id tensor_value(pel_recorder *rec, PyObject *tensor) {
    bool is_new;
    pel_seen *seen = pel_seen_entry(rec, tensor, &is_new);
    if (!is_new && seen->value) return seen->value;
    pel_tensor_facts facts;
    pel_tensor_look(&rec->torch, tensor, &facts);
    pel_log_tensor row = { .serial = ++rec->last_serial,
                           .requires_grad = facts.requires_grad,
                           .is_parameter = facts.is_parameter,
                           .dtype = dtype_name(rec, facts.dtype) };
    set_shape(rec, &row, facts.shape);
    Py_XDECREF(facts.shape);
    Py_XDECREF(facts.dtype);
    pel_push(rec->ctx, &rec->log->tensors, row);
    pel_value value = { .kind = PEL_V_TENSOR, .tensor = rec->log->tensors.n - 1 };
    pel_id id = pel_add_value(rec, &value);
    pel_seen_entry(rec, tensor, &is_new)->value = id;
    return id;
}

pel_id pel_record_tensor(pel_recorder *rec, PyObject *tensor) {
    return pel_value_at(rec->log, tensor_value(rec, tensor))->tensor;
}

/* ---- functions ---- */

/* Cells hold what the function closes over; whether it may be kept alive depends on that. */
static bool is_harmless(PyObject *object) {
    return PyFunction_Check(object) || PyType_Check(object) || PyLong_Check(object) || PyUnicode_Check(object) ||
           PyFloat_Check(object) || object == Py_None || PyCFunction_Check(object);
}

static bool may_be_kept(PyObject *closure) {
    for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); i++) {
        PyObject *content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
        if (!content || !is_harmless(content)) return false;
    }
    return true;
}

static pel_id library_value(pel_recorder *rec, PyObject *object);
static pel_id object_value(pel_recorder *rec, PyObject *object, type_info *info, int depth);

/* Tensors that a function of the model's carries along as defaults: lambda x, f=freq: sin(x * f). */
static void describe_defaults(pel_recorder *rec, PyObject *function, int depth) {
    PyObject *defaults = PyFunction_GET_DEFAULTS(function);
    if (rec->thread || !defaults || depth >= MAX_DEPTH) return; /* made by the run: what it holds is computed */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(defaults); i++) {
        PyObject *value = PyTuple_GET_ITEM(defaults, i);
        value_at(rec, value, depth + 1);
        if (pel_is_tensor(&rec->torch, value)) pel_describe_tensor(rec, value);
    }
}

static pel_id function_value(pel_recorder *rec, PyObject *function, int depth) {
    pel_seen *seen = pel_seen_find(rec, function);
    if (seen && seen->value) return seen->value;
    describe_defaults(rec, function, depth);
    pel_code_info *info = pel_code_info_of(rec, PyFunction_GET_CODE(function));
    if (info->role != PEL_ROLE_AUTHOR) {
        /* a decorator of torch's around the author's function, as autocast makes: what it calls is what counts */
        PyObject *dict = ((PyFunctionObject *)function)->func_dict;
        PyObject *wrapped = dict ? PyDict_GetItemString(dict, "__wrapped__") : NULL; /* borrowed */
        pel_id id = library_value(rec, function);
        bool is_wrapper = wrapped && PyFunction_Check(wrapped) && depth < MAX_DEPTH;
        if (!is_wrapper || pel_value_at(rec->log, id)->kind == PEL_V_LIBRARY) return id;
        pel_id author = function_value(rec, wrapped, depth + 1);
        return pel_value_at(rec->log, author)->kind == PEL_V_FUNCTION ? pel_remember_value(rec, function, author) : id;
    }
    PyObject *closure = PyFunction_GET_CLOSURE(function);
    uint32_t n = closure ? (uint32_t)PyTuple_GET_SIZE(closure) : 0;
    pel_value value = { .kind = PEL_V_FUNCTION, .n = 0 };
    value.code = pel_record_code(rec, info, function, NULL);
    if (!n) return pel_remember_value(rec, function, pel_intern_value(rec, &value));
    /* A closure can hold the function itself: the row must be before what it holds. A function that is kept
     * alive, or can be weakly referenced, is looked at once; its cells are what they were then. */
    bool is_new, keep = may_be_kept(closure);
    if (depth >= MAX_DEPTH) {
        value.truncated = 1;
        return pel_intern_value(rec, &value);
    }
    value.n = n;
    value.items = pel_new_array(rec->ctx, n, pel_id);
    value.object = pel_number_of(rec, function);
    pel_id id = pel_add_value(rec, &value);
    seen = pel_seen_entry(rec, function, &is_new);
    seen->value = id;
    if (keep) pel_seen_keep(seen);
    for (uint32_t i = 0; i < n; i++) {
        PyObject *content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
        value.items[i] = content ? value_at(rec, content, depth + 1) : 0;
        if (content && !rec->thread && pel_is_tensor(&rec->torch, content)) pel_describe_tensor(rec, content);
    }
    return id;
}

static pel_id pair(pel_recorder *rec, pel_id self, pel_id function) {
    pel_id both[] = { self, function };
    return pel_intern_value(rec, &(pel_value){ .kind = PEL_V_METHOD, .n = 2, .items = both });
}

pel_id pel_record_method(pel_recorder *rec, PyObject *self, PyObject *function) {
    pel_id self_id = value_at(rec, self, 0);
    return pair(rec, self_id, value_at(rec, function, 0));
}

/* A class method that a library wrote in C, asked of an author's class: the class and what the library calls it. So is
 * Function.apply since torch 2.15. 0: it is none. */
static pel_id class_method_value(pel_recorder *rec, PyObject *class, PyObject *name, int depth) {
    PyObject *descriptor = _PyType_Lookup((PyTypeObject *)class, name); /* borrowed */
    if (!descriptor || !Py_IS_TYPE(descriptor, &PyClassMethodDescr_Type)) return 0;
    pel_id class_id = value_at(rec, class, depth + 1);
    const pel_value *value = pel_value_at(rec->log, class_id);
    if (value->kind != PEL_V_CLASS || pel_class_at(rec->log, value->class)->path.len) return 0;
    return pair(rec, class_id, value_at(rec, descriptor, depth + 1));
}

/* math.sqrt, [].append, tensor.view: the self of a C function is its module, its class or its object. */
static pel_id builtin_value(pel_recorder *rec, PyObject *object, int depth) {
    PyObject *self = PyCFunction_GET_SELF(object);
    if (!self || PyModule_Check(self) || (PyCFunction_GET_FLAGS(object) & METH_STATIC))
        return library_value(rec, object);
    pel_seen *seen = pel_seen_find(rec, object);
    if (seen && seen->keeper == object && seen->value) return seen->value;
    PyObject *name = PyUnicode_FromString(((PyCFunctionObject *)object)->m_ml->ml_name);
    pel_id of_class = name && PyType_Check(self) ? class_method_value(rec, self, name, depth) : 0;
    PyObject *descriptor = name && !PyType_Check(self) ? _PyType_Lookup(Py_TYPE(self), name) : NULL; /* borrowed */
    Py_XDECREF(name);
    PyErr_Clear();
    if (of_class) return of_class;
    if (!descriptor) return library_value(rec, object);
    pel_id self_id = value_at(rec, self, depth + 1);
    return pair(rec, self_id, value_at(rec, descriptor, depth + 1));
}

static pel_id partial_value(pel_recorder *rec, PyObject *object, int depth) {
    static const char *const names[] = { "func", "args", "keywords" };
    items from = { .n = 0 };
    for (int i = 0; i < 3; i++) { /* C members: no code of anybody runs */
        PyObject *member = PyObject_GetAttrString(object, names[i]);
        if (!member) PyErr_Clear();
        from.at[from.n++] = member ? value_at(rec, member, depth + 1) : 0;
        Py_XDECREF(member);
    }
    return container(rec, PEL_V_PARTIAL, &from, 0, 0);
}

/* A cache in front of a function. Whether the cache or the function answers is no difference in what is computed. */
static pel_id cached_value(pel_recorder *rec, PyObject *object, type_info *info, int depth) {
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    PyObject *wrapped = dict ? PyDict_GetItemString(dict, "__wrapped__") : NULL; /* borrowed */
    pel_id id = wrapped && depth < MAX_DEPTH ? value_at(rec, wrapped, depth + 1) : 0;
    if (rec->caches && !PySequence_Contains(rec->caches, object)) PyList_Append(rec->caches, object);
    Py_XDECREF(dict);
    PyErr_Clear();
    return id && pel_value_at(rec->log, id)->kind == PEL_V_FUNCTION ? id : object_value(rec, object, info, depth);
}

/* torch keeps the function that was compiled; while a model is recorded, that is what runs (_state.py). */
static pel_id scripted_value(pel_recorder *rec, PyObject *object, type_info *info, int depth) {
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    PyObject *author = dict ? PyDict_GetItemString(dict, "_torchdynamo_inline") : NULL; /* borrowed */
    pel_id id = author && depth < MAX_DEPTH ? value_at(rec, author, depth + 1) : 0;
    Py_XDECREF(dict);
    PyErr_Clear();
    return id && pel_value_at(rec->log, id)->kind == PEL_V_FUNCTION ? id : object_value(rec, object, info, depth);
}

/* ---- everything else ---- */

pel_id pel_record_instance_of(pel_recorder *rec, PyTypeObject *type) {
    return pel_intern_value_text(rec, PEL_V_OPAQUE, pel_str_of(type->tp_name));
}

static pel_id opaque_value(pel_recorder *rec, PyObject *object) { return pel_record_instance_of(rec, Py_TYPE(object)); }

/* Something that the library defines: its dotted name, or an expression for it. Kept alive, so asked for once. */
static pel_id library_value(pel_recorder *rec, PyObject *object) {
    pel_seen *seen = pel_seen_find(rec, object);
    if (seen && seen->keeper == object && seen->value) return seen->value;
    pel_str name = library_name(rec, object);
    if (name.len) return pel_remember_value(rec, object, pel_intern_value_text(rec, PEL_V_LIBRARY, name));
    pel_id id = opaque_value(rec, object);
    bool may_keep = PyFunction_Check(object) && may_be_kept(PyFunction_GET_CLOSURE(object));
    return may_keep ? pel_remember_value(rec, object, id) : id; /* asked once: it has no name */
}

static bool is_array(PyObject *object) { return strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0; }

/* One that a run makes holds data; one that a module holds is a constant, and one of the author's file a variable. */
static pel_id array_value(pel_recorder *rec, PyObject *array) {
    bool may_have_literal = rec->holding || rec->of_file;
    pel_str text = may_have_literal ? helper_text(rec, "array_literal", array) : PEL_STR("");
    if (!text.len) return opaque_value(rec, array);
    if (rec->holding) return pel_intern_value_text(rec, PEL_V_LITERAL, text);
    pel_value value = { .kind = PEL_V_LITERAL, .text = text, .object = pel_number_of(rec, array) };
    return pel_remember_value(rec, array, pel_intern_value(rec, &value));
}

/* What a class has for each of its methods and attributes: named if the class is a library's. */
static bool is_descriptor(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type ||
           type == &PyMemberDescr_Type || type == &PyClassMethodDescr_Type;
}

/* An instance of a C type: a dtype, a device, a descriptor; or an iterator, a generator, a code object. */
static pel_id named_value(pel_recorder *rec, PyObject *object, type_info *info) {
    pel_seen *seen = pel_seen_find(rec, object);
    if (seen && seen->keeper == object && seen->value) return seen->value;
    if (is_array(object)) return array_value(rec, object);
    pel_str name = library_name(rec, object);
    if (name.len) return pel_remember_value(rec, object, pel_intern_value_text(rec, PEL_V_LIBRARY, name));
    pel_str literal = helper_text(rec, "literal_of", object);
    if (literal.len && PyContextVar_CheckExact(object)) /* what one function sets another one gets */
        return pel_remember_value(
            rec, object,
            pel_intern_value(
                rec, &(pel_value){ .kind = PEL_V_LITERAL, .text = literal, .object = pel_number_of(rec, object) }));
    if (literal.len) return pel_intern_value_text(rec, PEL_V_LITERAL, literal);
    if (PyModule_Check(object))
        return pel_remember_value(
            rec, object,
            pel_intern_value_text(rec, PEL_V_OPAQUE, pel_format(rec->ctx, "module %s", PyModule_GetName(object))));
    if (is_descriptor(object)) return pel_remember_value(rec, object, opaque_value(rec, object));
    info->look = LOOK_OPAQUE; /* of the other C types no instance has a name if one has none */
    return opaque_value(rec, object);
}

/* torch makes a new device object at each question. */
static pel_id device_value(pel_recorder *rec, PyObject *device) {
    PyObject *name = PyObject_Str(device); /* "cuda:0": of letters, digits and a colon */
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    char literal[64];
    int len = text ? snprintf(literal, sizeof literal, "torch.device('%s')", text) : -1;
    Py_XDECREF(name);
    PyErr_Clear();
    if (len < 0 || (size_t)len >= sizeof literal) return opaque_value(rec, device);
    return pel_intern_value_text(rec, PEL_V_LITERAL, (pel_str){ literal, (size_t)len });
}

/* torch.Tensor.T.__get__ and the like: a new object at each question too. */
static pel_id wrapper_value(pel_recorder *rec, PyObject *object) {
    PyObject *self = PyObject_GetAttrString(object, "__self__"), *name = PyObject_GetAttrString(object, "__name__");
    const char *method = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    pel_id id = 0;
    if (self && method && Py_IS_TYPE(self, &PyGetSetDescr_Type)) {
        const pel_value *of = pel_value_at(rec->log, value_at(rec, self, 1));
        if (of->kind == PEL_V_LIBRARY)
            id = pel_intern_value_text(rec, PEL_V_LIBRARY, pel_format(rec->ctx, "%.*s.%s", PEL_FMT(of->text), method));
    }
    Py_XDECREF(self);
    Py_XDECREF(name);
    PyErr_Clear();
    return id ? id : opaque_value(rec, object);
}

/* __slots__ of the class and its bases: C members, read without running code. */
static void slot_items(pel_recorder *rec, PyObject *object, items *to, int depth) {
    PyObject *mro = Py_TYPE(object)->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !type->tp_members) continue;
        for (PyMemberDef *member = type->tp_members; member->name && has_room(to, 2); member++) {
            if (member->type != T_OBJECT_EX || strncmp(member->name, "__", 2) == 0) continue;
            PyObject *content = *(PyObject **)(void *)((char *)object + member->offset);
            if (!content) continue;
            pel_id key = pel_intern_const(rec, &(pel_const){ .kind = PEL_CONST_STR, .text = pel_str_of(member->name) });
            to->at[to->n++] = key;
            to->at[to->n++] = value_at(rec, content, depth + 1);
        }
    }
}

/* Tells the states of an object apart: it has not changed if this has not. Up to 3.12 a dict has a version; in 3.13
 * storing an attribute no longer counts in it, so all that is known is whether anything has happened since. */
static uint64_t stamp_of(const pel_recorder *rec, PyObject *dict) {
#if PY_VERSION_HEX < 0x030d0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    (void)rec;
    return ((PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
    (void)dict;
    return rec->moment;
#endif
}

static void attribute_items(pel_recorder *rec, PyObject *object, PyObject *dict, items *to, int depth) {
    *to = (items){ .n = 0 };
    if (is_too_deep(to, depth, 1)) return;
    if (dict && PyDict_Check(dict)) dict_items(rec, dict, to, depth);
    slot_items(rec, object, to, depth);
}

/* Whether an object is as it was when its row was made. */
static bool is_as_before(pel_recorder *rec, PyObject *object, PyObject *dict, pel_seen *seen, int depth) {
    if (!seen->value || !seen->keeper || !dict) return false;
    uint64_t stamp = stamp_of(rec, dict);
    if (seen->stamp == stamp || depth >= MAX_DEPTH) return true;
    pel_id before = seen->value;
    seen->stamp = stamp; /* what it holds may lead back to it */
    items now;
    attribute_items(rec, object, dict, &now, depth);
    const pel_value *row = pel_value_at(rec->log, before);
    return row->kind == PEL_V_OBJECT && row->n == now.n && row->truncated == now.truncated &&
           (now.n == 0 || memcmp(row->items, now.at, now.n * sizeof *now.at) == 0);
}

/* An instance of somebody's class: a row per state. */
static pel_id object_value(pel_recorder *rec, PyObject *object, type_info *info, int depth) {
    PyObject *dict = NULL;
    if (Py_TYPE(object)->tp_getattro == PyObject_GenericGetAttr || Py_TYPE(object)->tp_dictoffset) {
        dict = PyObject_GenericGetDict(object, NULL);
        if (!dict) PyErr_Clear();
    }
    bool is_new;
    pel_seen *seen = pel_seen_entry(rec, object, &is_new);
    pel_id before = seen->value;
    if (!is_new && is_as_before(rec, object, dict, seen, depth)) {
        Py_DECREF(dict);
        return before;
    }
    seen = pel_seen_entry(rec, object, &is_new);
    uint64_t number = pel_seen_number(rec, seen);
    /* Only instances of the library's classes can have a name or a literal there: torch.strided, numpy.float32(1). */
    bool may_have_name = is_new && pel_class_at(rec->log, class_of(rec, info))->path.len;
    pel_str name = may_have_name ? library_name(rec, object) : PEL_STR("");
    if (name.len) {
        Py_XDECREF(dict);
        return pel_remember_value(rec, object, pel_intern_value_text(rec, PEL_V_LIBRARY, name));
    }
    pel_str literal = may_have_name ? helper_text(rec, "literal_of", object) : PEL_STR("");
    if (literal.len) {
        Py_XDECREF(dict);
        return pel_intern_value_text(rec, PEL_V_LITERAL, literal);
    }
    pel_value value = { .kind = PEL_V_OBJECT, .class = class_of(rec, info), .object = number };
    pel_id id = pel_add_value(rec, &value); /* first: what it holds may lead back to it */
    seen = pel_seen_entry(rec, object, &is_new);
    seen->value = id;
    seen->stamp = dict ? stamp_of(rec, dict) : 0;
    seen->number = number;
    items from;
    attribute_items(rec, object, dict, &from, depth);
    Py_XDECREF(dict);
    pel_value *row = &rec->log->values.at[id];
    row->n = from.n;
    row->truncated = from.truncated;
    row->items = pel_new_array(rec->ctx, from.n, pel_id);
    memcpy(row->items, from.at, from.n * sizeof *row->items);
    return id;
}

pel_id pel_record_class_value(pel_recorder *rec, PyObject *type) {
    pel_seen *seen = pel_seen_find(rec, type);
    if (seen && seen->keeper == type && seen->value) return seen->value;
    pel_id class = pel_record_class(rec, type);
    const pel_log_class *row = pel_class_at(rec->log, class);
    if (row->path.len) return pel_remember_value(rec, type, pel_intern_value_text(rec, PEL_V_LIBRARY, row->path));
    return pel_remember_value(rec, type, pel_intern_value(rec, &(pel_value){ .kind = PEL_V_CLASS, .class = class }));
}

void pel_remember_module(pel_recorder *rec, PyObject *module, pel_id row) {
    pel_remember_value(rec, module, pel_intern_value(rec, &(pel_value){ .kind = PEL_V_MODULE, .module = row }));
}

static pel_id module_value(pel_recorder *rec, PyObject *module) {
    pel_seen *seen = pel_seen_find(rec, module);
    if (seen && seen->value) return seen->value;
    pel_record_module(rec, module);
    return pel_seen_find(rec, module)->value;
}

/* 0 means that there is no value. The kind of a type is found once and kept, so a type can't change its look within a
 * run. The depth grows with every container; the containers themselves leave items out past the limit. */
static pel_id value_at(pel_recorder *rec, PyObject *object, int depth) {
    if (!object) return 0;
    PyTypeObject *type = Py_TYPE(object);
    if (object == Py_None) return singleton(rec, &rec->none, &pel_none);
    if (object == Py_True) return singleton(rec, &rec->yes, &pel_true);
    if (object == Py_False) return singleton(rec, &rec->no, &pel_false);
    if (object == Py_Ellipsis) return pel_intern_const(rec, &pel_ellipsis);
    type_info *info = type_info_of(rec, type);
    switch (info->look) {
    case LOOK_LONG: return long_value(rec, object);
    case LOOK_FLOAT:
        return pel_intern_const(rec, &(pel_const){ .kind = PEL_CONST_FLOAT, .real = PyFloat_AS_DOUBLE(object) });
    case LOOK_STR: return str_value(rec, object);
    case LOOK_PLAIN: return pel_intern_const(rec, pel_ext_const(rec->ctx, object));
    case LOOK_TUPLE:
    case LOOK_NAMEDTUPLE:
    case LOOK_SIZE:
    case LOOK_LIST:
    case LOOK_SET:
    case LOOK_FROZENSET:
    case LOOK_DICT: return sequence_value(rec, object, info, depth);
    case LOOK_SLICE: return three_members(rec, object, PEL_V_SLICE, depth);
    case LOOK_RANGE: return three_members(rec, object, PEL_V_RANGE, depth);
    case LOOK_TENSOR: return tensor_value(rec, object);
    case LOOK_MODULE: return module_value(rec, object);
    case LOOK_FUNCTION: return function_value(rec, object, depth);
    case LOOK_METHOD: {
        pel_id self = value_at(rec, PyMethod_GET_SELF(object), depth + 1);
        return pair(rec, self, value_at(rec, PyMethod_GET_FUNCTION(object), depth + 1));
    }
    case LOOK_BUILTIN: return builtin_value(rec, object, depth);
    case LOOK_PARTIAL: return partial_value(rec, object, depth);
    case LOOK_CACHE: return cached_value(rec, object, info, depth);
    case LOOK_SCRIPT: return scripted_value(rec, object, info, depth);
    case LOOK_TYPE: return pel_record_class_value(rec, object);
    case LOOK_WRAPPER: return wrapper_value(rec, object);
    case LOOK_DEVICE: return device_value(rec, object);
    case LOOK_NAMED: return named_value(rec, object, info);
    case LOOK_OBJECT: return object_value(rec, object, info, depth);
    case LOOK_OPAQUE: return opaque_value(rec, object);
    }
    return opaque_value(rec, object);
}

pel_id pel_record_value(pel_recorder *rec, PyObject *object) { return value_at(rec, object, 0); }

/* A container that did not exist before: whatever was at its address is not it. */
pel_id pel_record_new(pel_recorder *rec, PyObject *object) {
    if (PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) pel_seen_anew(rec, object);
    return value_at(rec, object, 0);
}

#endif

/* Which classes inherit from which. */
#include "trace/log/log.h"

#define MAX_BASES 200 /* one above the other */

static bool inherits(const pel_log *log, pel_id class, pel_id from, int depth) {
    if (class == from) return true;
    const pel_log_class *row = pel_class_at(log, class);
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++)
        if (inherits(log, row->bases[i], from, depth + 1)) return true;
    return false;
}

bool pel_inherits(const pel_log *log, pel_id class, pel_id from) { return inherits(log, class, from, 0); }

static bool inherits_path(const pel_log *log, pel_id class, const char *path, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    if (pel_str_is(row->path, path)) return true;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++)
        if (inherits_path(log, row->bases[i], path, depth + 1)) return true;
    return false;
}

bool pel_is_mapping(const pel_log *log, pel_id class) {
    return inherits_path(log, class, "collections.OrderedDict", 0) || inherits_path(log, class, "dict", 0);
}

static pel_id torch_base(const pel_log *log, pel_id class, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    if (row->kind == PEL_CLASS_TORCH_MODULE) return class;
    pel_id plain = 0;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES; i++) {
        pel_id found = torch_base(log, row->bases[i], depth + 1);
        if (found && !pel_str_is(pel_class_at(log, found)->path, "torch.nn.Module")) return found;
        if (found) plain = found;
    }
    return plain;
}

pel_id pel_torch_base(const pel_log *log, pel_id class) { return torch_base(log, class, 0); }

static pel_id library_base(const pel_log *log, pel_id class, int depth) {
    static const char *const for_the_author[] = { "object", "abc.", "typing.", "collections.abc." };
    const pel_log_class *row = pel_class_at(log, class);
    if (row->kind == PEL_CLASS_LIBRARY) {
        for (size_t i = 0; i < PEL_COUNT(for_the_author); i++)
            if (pel_str_starts(row->path, pel_str_of(for_the_author[i]))) return 0;
        return class;
    }
    pel_id found = 0;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_BASES && !found; i++)
        found = library_base(log, row->bases[i], depth + 1);
    return found;
}

pel_id pel_library_base(const pel_log *log, pel_id class) { return library_base(log, class, 0); }

pel_container pel_container_kind(const pel_log *log, pel_id class) {
    static const struct {
        const char *path;
        pel_container kind;
    } rows[] = {
        { "torch.nn.Sequential", PEL_SEQUENTIAL },        { "torch.nn.ModuleList", PEL_MODULE_LIST },
        { "torch.nn.ModuleDict", PEL_MODULE_DICT },       { "torch.nn.ParameterList", PEL_PARAMETER_LIST },
        { "torch.nn.ParameterDict", PEL_PARAMETER_DICT },
    };
    pel_str path = pel_class_at(log, pel_torch_base(log, class))->path;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(path, rows[i].path)) return rows[i].kind;
    return PEL_NO_CONTAINER;
}

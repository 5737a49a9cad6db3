#include "load/audit/effects.h"

#include <stdlib.h>
#include <string.h>

/* Modules by the names that older versions of the same library had for them. */
static const struct {
    const char *old, *now;
} renamed[] = {
    { "__builtin__", "builtins" },
    { "copy_reg", "copyreg" },
    { "numpy.core", "numpy._core" },
    { "pathlib._local", "pathlib" },
};

typedef struct text {
    const char *at, *end;
} text;

/* A table's first line says how many bytes follow it: measuring half a megabyte for each name would take long. */
static text body_of(const char *table) {
    size_t size = strtoul(table + 1, NULL, 10);
    const char *start = strchr(table, '\n') + 1;
    return (text){ start, start + size };
}

static bool is_table_of(const char *path, pel_str library) {
    return strncmp(path, library.ptr, library.len) == 0 && strcmp(path + library.len, ".txt") == 0;
}

static const char *table_of(pel_str library) {
    const char *standard = NULL;
    for (const pel_embedded *row = pel_effects_tables; row->path; row++) {
        if (is_table_of(row->path, library)) return row->text;
        if (is_table_of(row->path, PEL_STR("python"))) standard = row->text;
    }
    return standard;
}

static pel_str word_at(const char *at, const char *end) {
    const char *stop = at;
    while (stop < end && *stop != ' ' && *stop != '\n') stop++;
    return (pel_str){ at, (size_t)(stop - at) };
}

/* The first line of the module, or the end. Lines are sorted by their modules. */
static const char *find_module(text table, pel_str module) {
    const char *low = table.at, *high = table.end;
    while (low < high) {
        const char *line = low + (high - low) / 2;
        while (line > low && line[-1] != '\n') line--;
        if (pel_str_cmp(word_at(line, table.end), module) < 0) {
            const char *stop = memchr(line, '\n', (size_t)(table.end - line));
            low = stop ? stop + 1 : table.end;
        } else {
            high = line;
        }
    }
    return low;
}

static bool has_name(const char *at, const char *end, pel_str name) {
    while (at < end) {
        pel_str word = word_at(at, end);
        if (word.len == name.len && memcmp(word.ptr, name.ptr, name.len) == 0) return true;
        at += word.len + 1;
    }
    return false;
}

/* "tnSik:_parameters": letters as tools/gen_effects_table.py explains them. */
static void read_uses(pel_str uses, pel_effects *out) {
    static const char letters[] = "ncsikq"; /* in the order of pel_use */
    size_t i = 0;
    for (; i < uses.len && !strchr(":!#", uses.ptr[i]); i++) {
        char letter = uses.ptr[i];
        bool is_capital = letter >= 'A' && letter <= 'Z';
        const char *at = strchr(letters, is_capital ? letter - 'A' + 'a' : letter);
        if (letter == 't') out->is_class = true;
        if (letter == 'v') out->is_value = true;
        if (letter == 'e') out->is_enum = true;
        if (letter == 'g') out->has_no_getters = true;
        if (letter == 'a') out->needs_plain_arguments = true;
        if (letter == 'd') out->is_without_slots = true;
        if (!at || !*at) continue;
        uint8_t bit = (uint8_t)(1u << (at - letters));
        out->pure |= bit;
        if (is_capital) out->quiet |= bit;
    }
    out->fields = pel_str_from(uses, i);
}

/* The module by the name that the tables have; room holds it where it is put together. */
static pel_str current_name(pel_str module, char *room, size_t size) {
    for (size_t i = 0; i < PEL_COUNT(renamed); i++) {
        size_t len = strlen(renamed[i].old), now = strlen(renamed[i].now);
        if (module.len < len || memcmp(module.ptr, renamed[i].old, len) != 0) continue;
        if (module.len > len && module.ptr[len] != '.') continue;
        if (module.len - len + now > size) continue;
        memcpy(room, renamed[i].now, now);
        memcpy(room + now, module.ptr + len, module.len - len);
        return (pel_str){ room, module.len - len + now };
    }
    return module;
}

pel_effects pel_effects_of(pel_str module, pel_str name) {
    char room[256];
    pel_effects found = { .fields = { "", 0 } };
    module = current_name(module, room, sizeof room);
    const char *dot = module.len ? memchr(module.ptr, '.', module.len) : NULL;
    const char *source = table_of(pel_str_cut(module, 0, dot ? (size_t)(dot - module.ptr) : module.len));
    if (!source || !module.len || !name.len) return found;
    text table = body_of(source);
    for (const char *line = find_module(table, module); line < table.end;) {
        const char *stop = memchr(line, '\n', (size_t)(table.end - line));
        if (!stop) stop = table.end;
        pel_str first = word_at(line, stop);
        if (pel_str_cmp(first, module) != 0) break;
        found.is_module_known = true;
        pel_str uses = word_at(first.ptr + first.len + 1, stop);
        pel_str hash = word_at(uses.ptr + uses.len + 1, stop);
        if (has_name(hash.ptr + hash.len + 1, stop, name)) {
            read_uses(uses, &found);
            break;
        }
        line = stop + 1;
    }
    return found;
}

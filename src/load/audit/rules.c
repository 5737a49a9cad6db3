/* What the kinds of findings mean. */
#include "load/audit/audit.h"

static const pel_rule rules[] = {
#define RULE(id, title, text) { id, title, text },
#include "load/audit/rules.def"
#undef RULE
};

const pel_rule *pel_rule_at(size_t i) { return i < PEL_COUNT(rules) ? &rules[i] : NULL; }

const pel_rule *pel_rule_of(pel_str id) {
    for (size_t i = 0; i < PEL_COUNT(rules); i++)
        if (pel_str_is(id, rules[i].id)) return &rules[i];
    return NULL;
}

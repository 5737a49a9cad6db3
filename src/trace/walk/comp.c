/* Comprehensions and lambdas: frames of their own, written where the author wrote them. */
#include "trace/walk/stmt.h"

#define WRITTEN_OUT 8 /* items */

static pel_id code_of(const pel_walk *w, const pel_node *node) {
    for (pel_id code = 1; code < w->log->codes.n; code++)
        if (w->s->authors[code].node == node) return code;
    return 0;
}

static bool below(const pel_log *log, pel_id activation, pel_id ancestor) {
    while (activation > ancestor) activation = log->activations.at[activation].parent;
    return activation == ancestor;
}

/* The frame of a generator begins where it is first asked for an item: in a later call, or in a callee. */
static pel_id find_frame(pel_walk *w, const pel_lane *lane, pel_id code, const pel_map *taken) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = lane->at; r < lane->end; r++) {
        const pel_record *record = &activation->records[r];
        if (record->kind == PEL_R_CHILD && w->log->activations.at[record->value].code == code &&
            !pel_map_has(taken, record->value))
            return record->value;
    }
    pel_id after = lane->activation;
    for (pel_id id = after + 1; id < w->s->extents[after].end; id++)
        if (w->log->activations.at[id].code == code && !pel_map_has(taken, id) && below(w->log, id, after)) return id;
    return 0;
}

pel_nodes pel_generators_of(const pel_node *node) {
    switch (node->kind) {
    case PEL_ListComp: return node->ListComp.generators;
    case PEL_SetComp: return node->SetComp.generators;
    case PEL_GeneratorExp: return node->GeneratorExp.generators;
    case PEL_DictComp: return node->DictComp.generators;
    default: return (pel_nodes){ 0 };
    }
}

typedef struct made {
    pel_node *node, *text;
    bool went_round;   /* some lane got something from the first generator */
    bool reached;      /* some lane came to the element */
    uint32_t filtered; /* so many generators, at whose end data let nothing through: by a test, or for want of items */
    bool by_data;      /* a test on data says which elements there are */
    bool effect, lost;
    const pel_taint *taint;
} made;

static void walk_element(pel_walk *w, pel_front front, made *m) {
    pel_node *const from[2] = { m->node->kind == PEL_DictComp ? m->node->DictComp.key : m->node->ListComp.elt,
                                m->node->kind == PEL_DictComp ? m->node->DictComp.value : NULL };
    pel_node **const to[2] = { m->node->kind == PEL_DictComp ? &m->text->DictComp.key : &m->text->ListComp.elt,
                               m->node->kind == PEL_DictComp ? &m->text->DictComp.value : NULL };
    for (int i = 0; i < 2 && from[i]; i++) {
        pel_val *val = pel_eval(w, front, from[i]);
        *to[i] = val->text;
        m->effect |= val->effect;
        m->lost |= val->lost;
        m->taint = pel_taint_join(w->ctx, m->taint, pel_taint_any(val->taint));
    }
    m->reached = true;
}

static void let_nothing_through(made *m, uint32_t generators) {
    if (m->filtered < generators) m->filtered = generators;
}

/* The first iterable belongs to the frame around, which evaluated it: item is what it gives. Tests on data choose the
 * lanes of what is inside only, so the level goes back at the end. */
static void walk_generator(pel_walk *w, pel_front front, made *m, uint32_t k, const pel_taint *item) {
    uint32_t level = w->level;
    pel_nodes generators = pel_generators_of(m->node);
    if (k == generators.n) {
        walk_element(w, front, m);
        return;
    }
    pel_nodes *out = m->node->kind == PEL_DictComp ? &m->text->DictComp.generators : &m->text->ListComp.generators;
    pel_node *from = generators.at[k], *to = out->at[k];
    if (k > 0) {
        pel_val *iter = pel_eval(w, front, from->comprehension.iter);
        to->comprehension.iter = iter->text;
        m->effect |= iter->effect;
        m->lost |= iter->lost;
        item = pel_dynamic(w, front, iter) ? &pel_tainted : iter->taint;
    }
    pel_rounds rounds = pel_split_rounds(w, front, m->node);
    if (k > 0 && rounds.body.n == 0 && pel_varies(item)) let_nothing_through(m, k + 1);
    if (rounds.body.n == 0) return;
    m->went_round = true;
    pel_store(w, rounds.body, from->comprehension.target, &(pel_lane_stored){ .taint = item },
              &to->comprehension.target);
    pel_front going = rounds.body;
    bool by_data = false;
    to->comprehension.ifs = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < from->comprehension.ifs.n && going.n; i++) {
        pel_test test = pel_eval_test(w, going, from->comprehension.ifs.at[i]);
        pel_front next = pel_front_new(w, going.n);
        next.n = 0;
        for (uint32_t l = 0; l < going.n; l++)
            if (test.truth[l]) next.at[next.n++] = going.at[l];
        if (test.text && (test.dynamic || test.effect || next.n != going.n))
            pel_nodes_push(w->ctx, &to->comprehension.ifs, test.text);
        m->lost |= test.lost;
        by_data |= test.dynamic;
        m->by_data |= test.dynamic;
        w->level += test.dynamic && next.n < going.n;
        going = next;
    }
    if (going.n)
        walk_generator(w, going, m, k + 1, NULL);
    else if (by_data)
        let_nothing_through(m, k + 1);
    w->level = level;
}

static pel_node *copy_generators(pel_walk *w, const pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    pel_nodes *list = node->kind == PEL_DictComp ? &text->DictComp.generators : &text->ListComp.generators;
    *list = pel_nodes_of(w->ctx, list->at, list->n);
    for (uint32_t i = 0; i < list->n; i++) list->at[i] = pel_shallow(w, list->at[i]);
    return text;
}

static bool is_same_name(const pel_node *a, const pel_node *b) {
    return a->kind == PEL_Name && b->kind == PEL_Name && a->Name.id == b->Name.id;
}

/* {k: v for k, v in kwargs.items() if ...}: the name of the dict, NULL if it is none of these. */
static pel_name filtered_dict(const pel_node *node) {
    const pel_node *generator = node->DictComp.generators.at[0], *iter = generator->comprehension.iter,
                   *target = generator->comprehension.target;
    if (node->DictComp.generators.n != 1 || iter->kind != PEL_Call || iter->Call.func->kind != PEL_Attribute ||
        !pel_name_is(iter->Call.func->Attribute.attr, "items") || iter->Call.func->Attribute.value->kind != PEL_Name)
        return NULL;
    bool unpacks = target->kind == PEL_Tuple && target->Tuple.elts.n == 2;
    bool keeps = unpacks && is_same_name(target->Tuple.elts.at[0], node->DictComp.key) &&
                 is_same_name(target->Tuple.elts.at[1], node->DictComp.value);
    return keeps ? iter->Call.func->Attribute.value->Name.id : NULL;
}

/* Whether all lanes have a dict with the same keys in the same order. */
static bool have_same_keys(const pel_walk *w, pel_front front, const pel_id *dicts) {
    const pel_value *first = pel_value_at(w->log, dicts[0]);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *dict = pel_value_at(w->log, dicts[i]);
        if (dict->kind != PEL_V_DICT || dict->n != first->n) return false;
        for (uint32_t k = 0; k < dict->n; k += 2)
            if (!pel_value_same(w->log, dict->items[k], first->items[k])) return false;
    }
    return true;
}

/* kwargs = {k: v for k, v in kwargs.items() if k in known}: what is left of the parameters that kwargs was. */
static void filter_keys(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    pel_name name = filtered_dict(node);
    const pel_parts *parts = name && pel_env_slot(w, name)->gone ? pel_env_slot(w, name)->parts : NULL;
    if (!parts || !parts->keys || !have_same_keys(w, front, val->at)) return;
    const pel_value *dict = pel_value_at(w->log, val->at[0]);
    pel_parts *left = pel_new(w->ctx, pel_parts);
    left->keys = pel_new_array(w->ctx, parts->n + 1u, pel_name);
    left->items = pel_new_array(w->ctx, parts->n + 1u, pel_val *);
    pel_node *text = pel_node_new(w->ctx, PEL_Dict);
    for (uint32_t p = 0; p < parts->n; p++) {
        if (!pel_item_named(w->log, dict, parts->keys[p])) continue;
        left->keys[left->n] = parts->keys[p];
        left->items[left->n++] = parts->items[p];
        pel_nodes_push(w->ctx, &text->Dict.keys, pel_make_text(w->ctx, pel_name_str(parts->keys[p])));
        pel_nodes_push(w->ctx, &text->Dict.values, pel_copy(w->ctx, parts->items[p]->text));
    }
    if (left->n * 2 != dict->n) return;
    pel_note_node(w->s, text, PEL_NOTE_KEYWORDS);
    val->text = text;
    val->parts = left;
    val->taint = pel_constant(PEL_WHY_PARTS); /* its parts have their own */
}

static bool all_plain(const pel_walk *w, const pel_value *value) {
    for (uint32_t i = 0; i < value->n; i++)
        if (!pel_plain(w->s, value->items[i])) return false;
    return true;
}

/* Whether each element is a value, or a container of such that is made anew. */
static bool makes_elements(const pel_walk *w, const pel_node *node, pel_id id) {
    const pel_node *element = node->kind == PEL_DictComp ? node->DictComp.value : node->ListComp.elt;
    bool makes = element->kind == PEL_List || element->kind == PEL_Dict || element->kind == PEL_Set;
    const pel_value *value = pel_value_at(w->log, id);
    for (uint32_t i = 0; i < value->n; i++)
        if (!pel_plain(w->s, value->items[i]) && !(makes && all_plain(w, pel_value_at(w->log, value->items[i]))))
            return false;
    return true;
}

/* Elements that nothing but constants reached: written out, if they are few or can't be written in another way. */
static void write_out(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    if (val->effect || pel_varies(val->taint) || node->kind == PEL_GeneratorExp) return;
    if (!pel_all_same(w, front, val->at) || !pel_is_table(w, val->at[0])) return;
    if ((!val->lost && pel_value_at(w->log, val->at[0])->n > WRITTEN_OUT) || !makes_elements(w, node, val->at[0]))
        return;
    pel_node *table = pel_value_expression(w->ctx, w->s->program, val->at[0]);
    if (!table) return;
    val->text = table;
    val->lost = false;
}

/* The lanes of a comprehension that runs in a frame of its own. */
static pel_front enter_frames(pel_walk *w, pel_front front, pel_id code, const pel_kids *kids) {
    pel_front inner = pel_front_new(w, front.n);
    inner.n = 0;
    pel_map taken = { 0 };
    for (uint32_t i = 0; i < front.n && code; i++) {
        pel_lane lane = *pel_lane_at(w, front, i);
        pel_id frame = 0;
        for (uint32_t k = 0; k < kids->n && !frame; k++)
            if (kids->at[k].lane == i && w->log->activations.at[kids->at[k].activation].code == code)
                frame = kids->at[k].activation;
        if (!frame) frame = find_frame(w, &lane, code, &taken);
        if (!frame) continue; /* a generator that nobody asked */
        pel_map_set(w->ctx, &taken, frame, 1);
        w->s->calls.linked[frame] = true;
        inner.at[inner.n++] = w->lanes.n;
        pel_push(w->ctx, &w->lanes,
                 ((pel_lane){ frame, lane.owner, 0, w->log->activations.at[frame].n_records, PEL_LANE_RUNS }));
    }
    return inner;
}

/* Those of one that runs in the frame around it, as they do since 3.12: the part of the log that is its loop's. The
 * last record of the loop has what was made. */
static pel_front enter_loops(pel_walk *w, pel_front front, const pel_node *node, pel_id *values) {
    pel_front inner = pel_front_new(w, front.n);
    inner.n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_record *head = pel_next_record(w, pel_lane_at(w, front, i));
        if (!head || head->kind == PEL_R_RETURN || pel_insn_of(w, head)->op != PEL_OP_FOR_ITER ||
            !pel_inside(pel_position_of(w, head), node))
            continue;
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, lane);
        uint32_t last = lane->at;
        while (last < lane->end && (activation->records[last].at != head->at ||
                                    activation->records[last].kind > PEL_R_PUSH || !pel_loop_ends(w, activation, last)))
            last++;
        if (last == lane->end) pel_lost(w, node, "the comprehension does not come to its end");
        pel_lane part = { lane->activation, lane->owner, lane->at, last + 1, PEL_LANE_RUNS };
        lane->at = last + 1;
        values[i] = activation->records[last].kind == PEL_R_PUSH ? activation->records[last].value : 0;
        inner.at[inner.n++] = w->lanes.n;
        pel_push(w->ctx, &w->lanes, part);
    }
    return inner;
}

static pel_node *call_of(pel_walk *w, const char *name, pel_node *arg) {
    return pel_make_call(w->ctx, pel_make_name(w->ctx, pel_intern_c(w->ctx, name), PEL_Load),
                         arg ? pel_nodes_one(w->ctx, arg) : (pel_nodes){ 0 }, (pel_nodes){ 0 });
}

/* There are no elements. is_certain: whatever the first generator gives. */
static void write_empty(pel_walk *w, pel_front front, const pel_node *node, const pel_val *iter, bool is_certain,
                        pel_val *val) {
    if (pel_dynamic(w, front, iter) && !is_certain) {
        bool has_length = true;
        for (uint32_t i = 0; i < front.n; i++) {
            uint8_t kind = pel_value_at(w->log, iter->at[i])->kind;
            has_length &= kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_DICT || kind == PEL_V_RANGE;
        }
        pel_guard(w, node, has_length ? iter->text : call_of(w, "list", iter->text), false,
                  "nothing was iterated over when this was recorded");
    }
    if (node->kind == PEL_SetComp)
        val->text = call_of(w, "set", NULL);
    else if (node->kind == PEL_GeneratorExp)
        val->text = call_of(w, "iter", pel_node_new(w->ctx, PEL_Tuple));
    else
        val->text = pel_node_new(w->ctx, node->kind == PEL_ListComp ? PEL_List : PEL_Dict);
    val->effect = iter->effect;
}

/* Data let no element through: what would be made of one was not recorded. */
static void raise_for_elements(pel_walk *w, const made *m, pel_nodes *generators) {
    generators->n = m->filtered;
    pel_node *raises = pel_make_call(w->ctx, pel_stub_name(w->s), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    if (m->node->kind == PEL_DictComp) {
        m->text->DictComp.key = raises;
        m->text->DictComp.value = pel_make_none(w->ctx);
    } else {
        m->text->ListComp.elt = raises;
    }
}

typedef struct walking {
    pel_walk *w;
    pel_front front;
    made *m;
    const pel_taint *item;
} walking;

static void walk_generators(pel_ctx *ctx, void *arg) {
    (void)ctx;
    walking *job = arg;
    walk_generator(job->w, job->front, job->m, 0, job->item);
}

/* KINDS[name](**options) for each of a table: rounds that call different functions, or ask for what can't be written,
 * have no text in common, but each has one. True if val is the list of these. */
static bool walk_rounds(walking *job, pel_val *val) {
    pel_walk *w = job->w;
    pel_node *node = job->m->node;
    bool is_listable = node->kind == PEL_ListComp && node->ListComp.generators.n == 1 &&
                       node->ListComp.generators.at[0]->comprehension.ifs.n == 0 && pel_is_constant(job->item);
    pel_lane_place before = pel_remember(w, job->front);
    made m = *job->m;
    pel_err err;
    if (is_listable) {
        w->diverged = false;
        if (pel_attempt(w->ctx, walk_generators, job, &err) && !job->m->lost && !w->diverged) {
            w->diverged = before.walk.diverged;
            return false;
        }
        bool regroups = w->s->regroup && !before.regroup; /* then the next round of all walks sees other lanes */
        pel_go_back(w, &before);
        *job->m = m;
        if (!regroups && pel_list_rounds(w, job->front, node, val)) return true;
    }
    walk_generators(w->ctx, job);
    return false;
}

static bool are_live(const pel_walk *w, pel_front front, const pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!pel_live(w->s, values[i])) return false;
    return true;
}

static bool binds(const pel_node *target, pel_name name) {
    if (target->kind == PEL_Starred) return binds(target->Starred.value, name);
    if (target->kind == PEL_Name) return target->Name.id == name;
    if (target->kind != PEL_Tuple && target->kind != PEL_List) return false;
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (binds(target->Tuple.elts.at[i], name)) return true;
    return false;
}

bool pel_is_variable_of(const pel_node *comprehension, pel_name name) {
    pel_nodes generators = pel_generators_of(comprehension);
    for (uint32_t i = 0; i < generators.n; i++)
        if (binds(generators.at[i]->comprehension.target, name)) return true;
    return false;
}

/* A comprehension's variables end with it, in whichever frame it ran: names of the function that they hid mean again
 * what they meant before. What `:=` bound in it is the function's, and stays. */
static void leave_scope(pel_walk *w, const pel_env *before, const pel_node *node) {
    pel_env after = { pel_new_array(w->ctx, w->env.n + 8u, pel_slot), 0 };
    for (uint32_t i = 0; i < w->env.n; i++)
        if (!pel_is_variable_of(node, w->env.at[i].name)) after.at[after.n++] = w->env.at[i];
    for (uint32_t i = 0; i < before->n; i++)
        if (pel_is_variable_of(node, before->at[i].name)) after.at[after.n++] = before->at[i];
    w->env = after;
}

pel_val *pel_eval_comprehension(pel_walk *w, pel_front front, pel_node *node) {
    bool counted = false;
    if (node->kind == PEL_DictComp && !node->DictComp.value) pel_lost(w, node, "{**x for ...} is not supported here");
    pel_id code = code_of(w, node);
    made m = { .node = node, .text = copy_generators(w, node) };
    pel_nodes *generators = node->kind == PEL_DictComp ? &m.text->DictComp.generators : &m.text->ListComp.generators;
    pel_node *first = generators->at[0];
    pel_val *val = pel_val_new(w, front, m.text);
    pel_own(w, front, node, first->comprehension.iter, NULL, NULL);
    pel_val *iter = pel_eval(w, front, first->comprehension.iter);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    pel_front inner = code ? enter_frames(w, front, code, &kids) : enter_loops(w, front, node, val->at);
    first->comprehension.iter = iter->text;
    if (inner.n) {
        const pel_author *outer = w->author;
        if (code) w->author = &w->s->authors[code];
        w->in_expression++;
        if (code) pel_own(w, inner, node, NULL, NULL, NULL); /* the first iterable comes as an argument */
        counted = pel_is_counted(w, front, iter);
        pel_env before = pel_env_copy(w, &w->env);
        walking job = { w, inner, &m, counted ? &pel_tainted : pel_taint_any(iter->taint) };
        bool is_listed = walk_rounds(&job, val) && !iter->effect;
        leave_scope(w, &before, node);
        w->in_expression--;
        w->author = outer;
        if (is_listed) {
            val->fixed = true;
            return val;
        }
    }
    if (!m.reached && !m.filtered) {
        write_empty(w, front, node, iter, m.went_round, val);
        val->taint = pel_constant(PEL_WHY_PARTS); /* nothing is in it, or that is asserted */
        return val;
    }
    if (!m.reached) raise_for_elements(w, &m, generators);
    val->effect = m.effect || iter->effect;
    val->lost = m.lost || iter->lost;
    val->taint = m.reached ? m.taint : &pel_tainted;
    val->taint = pel_taint_join(w->ctx, val->taint, pel_taint_any(iter->taint));
    if (m.by_data && pel_is_constant(val->taint) && !are_live(w, front, val->at)) val->taint = &pel_tainted;
    if ((counted || m.by_data) && pel_is_constant(val->taint)) val->taint = &pel_tainted_count;
    val->fixed = true; /* a new object each time */
    write_out(w, front, node, val);
    if (node->kind == PEL_DictComp) filter_keys(w, front, node, val);
    return val;
}

/* ---- functions that are made where they stand ---- */

/* What the parameter of a nested function is where nobody passes it; the text of its function is what it was then. */
static void set_default(pel_walk *w, const pel_node *function, const pel_node *author, const pel_val *val) {
    for (uint32_t i = 0; i < w->s->groups.n; i++) {
        pel_group *group = w->s->groups.at[i];
        if (!group->is.nested || group->author->node != function) continue;
        for (uint32_t p = 0; p < group->n_params; p++) {
            pel_param *param = &group->params[p];
            if (param->author_default != author) continue;
            param->fallback = val->text;
            if (pel_taint_grow(w->ctx, &param->taint, val->taint)) w->s->facts.changed = true;
        }
    }
}

void pel_eval_defaults(pel_walk *w, pel_front front, const pel_node *function, const pel_node *args) {
    const pel_nodes lists[] = { args->arguments.defaults, args->arguments.kw_defaults };
    for (size_t k = 0; k < PEL_COUNT(lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++) {
            pel_node *author = lists[k].at[i];
            if (author && author->kind == PEL_Constant)
                pel_own(w, front, author, NULL, NULL, NULL); /* beside others, constants are loaded one by one */
            else if (author)
                set_default(w, function, author, pel_eval(w, front, author));
        }
}

pel_val *pel_eval_lambda(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_node_new(w->ctx, PEL_Lambda);
    text->Lambda.args = pel_node_new(w->ctx, PEL_arguments);
    pel_val *val = pel_val_constant(w, front, text, PEL_WHY_MADE);
    pel_eval_defaults(w, front, node, node->Lambda.args);
    pel_own(w, front, node, NULL, val->at, NULL);
    pel_id code = code_of(w, node);
    if (code && pel_ran(w->s, code))
        pel_push(w->ctx, &w->s->references, ((pel_reference){ text, code, NULL, false }));
    else
        val->text = pel_stub_name(w->s); /* never called: there is nothing to say about its body */
    val->fixed = true;
    return val;
}

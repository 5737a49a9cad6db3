/* A call in the lock-step walk: what the files that write calls share. */
#ifndef PEL_TRACE_WALK_CALL_H
#define PEL_TRACE_WALK_CALL_H

#include "trace/walk/walk.h"

typedef struct pel_call_argument {
    pel_val *val;
    pel_name keyword;
    bool star, stars; /* *value, **value */
} pel_call_argument;

typedef struct pel_call_site {
    pel_node *node; /* the author's */
    pel_val *func;  /* what stands before the parentheses */
    pel_val *base;  /* before the dot, if there is one */
    pel_id *callee; /* per lane: the value that is called, as far as known */
    pel_call_argument *args;
    uint32_t n_args;
    pel_kids kids;   /* the activations that began while it ran */
    bool calls_back; /* and none of them is what it calls */
    pel_val *val;    /* what it gave, and its text in the making */
} pel_call_site;

/* ---- walk/call.c ---- */
pel_id pel_function_code(const pel_log *log, pel_id value); /* of a function of the author's, or a method; else 0 */
/* The module that a call means to run, if it goes through nn.Module.__call__: self.layer(x), super().__call__(x). */
pel_id pel_called_module(const pel_walk *w, const pel_call_site *c, uint32_t lane);
bool pel_calls_modules(const pel_walk *w, pel_front front, const pel_call_site *c); /* in every lane */

/* ---- walk/call_link.c ---- */
/* Writes a call of target, of which children are the activations, one per lane; false if its parameters can't be told
 * from what is passed. */
bool pel_link_call(pel_walk *w, pel_front front, pel_call_site *c, pel_group *target, const pel_id *children);
/* Whether the callee got what stands before the dot (or what is called, or a new object) as its first argument. */
bool pel_has_receiver(const pel_walk *w, const pel_call_site *c, pel_id activation);
pel_param *pel_param_for(const pel_group *target, pel_name key); /* that a keyword means, or NULL */
/* An item of **kwargs that some calls don't have is passed on: without it the default of whoever gets it holds, so that
 * must be the default here too. False if it can't be. */
bool pel_settle_default(pel_walk *w, pel_param *mine, const pel_node *theirs);
/* The module that a bound method in a cell belongs to, as the caller knows it: old = module.forward. NULL if it
 * doesn't. */
pel_node *pel_bound_to(pel_walk *w, pel_front front, const pel_call_site *c);
bool pel_same_object(const pel_log *log, pel_id a, pel_id b); /* one module, or one object by its identity */
/* What the function does, or a function that it calls, concerns a variable of the file. */
void pel_note_sharing(pel_walk *w);

/* ---- walk/lazy.c ---- */
/* Whether a call makes an iterator whose items depend on data though no argument shows it. */
bool pel_is_lazy_data(const pel_walk *w, pel_front front, const pel_call_site *c, pel_str path);

/* ---- walk/passed.c: containers ---- */
/* list.append(rows, x), shuffle(rows): a call that may do anything does it to what it is given. */
void pel_note_given_away(pel_walk *w, pel_front front, const pel_call_site *c);

/* ---- walk/ancestry.c ---- */
/* Whether it asks of a tensor more than that it is one: a Parameter and others are as well. */
bool pel_asks_kind_of_tensor(const pel_walk *w, pel_front front, const pel_call_site *c, pel_str path);
/* isinstance(given, Box) that stays in the text: what callers give is of their own class, never of the output's. It
 * asks for the name, as assertions about arguments do; refused where other classes are asked for, too. */
void pel_ask_class_by_name(pel_walk *w, pel_front front, pel_call_site *c);
void pel_refuse_author_s_class(pel_walk *w, pel_front front, const pel_call_site *c, pel_str path);
/* layers.append(layer) */
void pel_refuse_changed_holder(pel_walk *w, pel_front front, const pel_call_site *c);

/* ---- walk/kept.c: what it calls back ---- */
pel_kids pel_called_back(pel_walk *w, const pel_kids *kids); /* what a text that is kept as it is calls back */

/* ---- walk/hooks.c ---- */
/* What changes something that the output does not have, or has under other names: hooks, variables of a file. */
void pel_refuse_callee(pel_walk *w, const pel_call_site *c, pel_front front);

/* ---- walk/outside.c ---- */
/* Of logging, casts and nn.Identity only a value is left: that value. NULL: the call is none of these. */
pel_val *pel_drop_call(pel_walk *w, pel_front front, const pel_call_site *c);
/* Writes the call as it stands, with its arguments. */
void pel_plain_call(pel_walk *w, pel_front front, pel_call_site *c);
/* Whether what a library's function gives, or what is in it, is one of several things that it was given. live: there
 * are tensors in it. */
bool pel_gives_chosen(const pel_walk *w, pel_front front, const pel_call_site *c, bool live);
/* The same, after what can be said better: properties by getattr, partials, modules that are not in the tree. */
void pel_call_outside(pel_walk *w, pel_front front, pel_call_site *c, const pel_id *children);
/* What runs here is called by a text that names no function of ours: what it passes is passed. next: the parameter that
 * the first positional argument means. */
void pel_mark_passed(pel_walk *w, const pel_call_site *c, pel_group *group, uint32_t next);
/* What a partial passes by itself, if the callee is one. */
void pel_mark_bound(pel_walk *w, pel_id callee, pel_group *group);
/* The same of the partials that a call makes. */
void pel_mark_bound_here(pel_walk *w, pel_front front, const pel_call_site *c);
/* The same for all that ran; and what is called from outside keeps its signature. */
void pel_mark_pinned(pel_walk *w, const pel_call_site *c, pel_front front, const pel_id *children);

/* ---- walk/kept.c ---- */
/* Function.apply(x): the class is written as the author has it, so what ran inside is not looked at. */
void pel_call_autograd(pel_walk *w, pel_front front, pel_call_site *c);
bool pel_is_autograd(const pel_walk *w, const pel_call_site *c);
/* The same of an operator that an author registered with torch.library. */
void pel_call_operator(pel_walk *w, pel_front front, pel_call_site *c);

#endif

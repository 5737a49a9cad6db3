#include "python/layout.h"

#define INDENT 4

typedef enum token_type {
    TEXT,
    LINE,
    BACKSLASH,
    IF_BROKEN,
    INDENT_MORE,
    INDENT_LESS,
    OPEN,
    CLOSE,
    START,
    END,
} token_type;

struct pel_token {
    uint8_t type;    /* enum token_type */
    uint8_t group;   /* OPEN: enum pel_group */
    bool multiline;  /* TEXT: width is that of its first line */
    bool has_lines;  /* OPEN of optional parentheses: there are places to break inside */
    uint32_t width;  /* flat */
    uint32_t other;  /* OPEN: its CLOSE */
    uint32_t hug;    /* OPEN of optional parentheses: the brackets that end it, or PEL_NO_GROUP */
    uint32_t tail;   /* OPEN of optional parentheses: where its last operator stands */
    uint32_t before; /* flush: flat width of the row up to here */
    uint32_t rest;   /* flush: width from here to the next place to break */
    union {
        pel_str text;
        pel_node *node;
    };
};

typedef enum mode {
    FLAT,
    BROKEN,
    FILLED,
    BARE, /* optional parentheses that were left out: own lines are flat, the groups inside decide */
} mode;

pel_layout pel_layout_to(pel_buf *out, uint32_t width, bool sets_positions) {
    pel_layout lay = { .ctx = out->ctx, .out = out, .width = width, .sets_positions = sets_positions };
    lay.last_brackets = PEL_NO_GROUP;
    lay.line = 1;
    for (size_t i = 0; i < out->len; i++)
        if (out->at[i] == '\n') {
            lay.line++;
            lay.line_start = i + 1;
        }
    return lay;
}

/* ---- writing the row ---- */

/* Columns: characters, not bytes. */
static uint32_t columns(pel_str text) {
    uint32_t n = 0;
    for (size_t i = 0; i < text.len; i++) n += (text.ptr[i] & 0xC0) != 0x80;
    return n;
}

static pel_token *push(pel_layout *lay, token_type type) {
    pel_push(lay->ctx, &lay->tokens, (pel_token){ .type = (uint8_t)type, .hug = PEL_NO_GROUP });
    return &lay->tokens.at[lay->tokens.n - 1];
}

void pel_lay(pel_layout *lay, pel_str text) {
    if (!text.len) return;
    const char *newline = memchr(text.ptr, '\n', text.len);
    pel_token *token = push(lay, TEXT);
    token->text = text;
    token->multiline = newline != NULL;
    token->width = columns(newline ? (pel_str){ text.ptr, (size_t)(newline - text.ptr) } : text);
    if (newline) lay->has_multiline = true;
}

void pel_lay_c(pel_layout *lay, const char *text) { pel_lay(lay, pel_str_of(text)); }

void pel_lay_name(pel_layout *lay, pel_name name) { pel_lay(lay, pel_name_str(name)); }

static void line(pel_layout *lay, token_type type, uint32_t width) {
    if (lay->nobreak) {
        if (width) pel_lay_c(lay, " ");
        return;
    }
    push(lay, type)->width = width;
    lay->n_lines++;
}

void pel_lay_soft(pel_layout *lay) { line(lay, LINE, 0); }
void pel_lay_line(pel_layout *lay) { line(lay, LINE, 1); }
void pel_lay_backslash(pel_layout *lay) { line(lay, BACKSLASH, 1); }

void pel_lay_apart(pel_layout *lay) {
    if (lay->nobreak) return;
    pel_token *token = push(lay, IF_BROKEN);
    token->text = PEL_STR("");
    token->width = lay->width + 1;
}

void pel_lay_if_broken(pel_layout *lay, const char *text) {
    if (lay->nobreak) return;
    push(lay, IF_BROKEN)->text = pel_str_of(text);
}

void pel_lay_indent(pel_layout *lay) {
    if (!lay->nobreak) push(lay, INDENT_MORE);
}

void pel_lay_dedent(pel_layout *lay) {
    if (!lay->nobreak) push(lay, INDENT_LESS);
}

uint32_t pel_lay_open(pel_layout *lay, pel_group group) {
    if (lay->nobreak) return PEL_NO_GROUP;
    push(lay, OPEN)->group = (uint8_t)group;
    return lay->tokens.n - 1;
}

void pel_lay_close(pel_layout *lay, uint32_t opened) {
    if (opened == PEL_NO_GROUP) return;
    lay->tokens.at[opened].other = lay->tokens.n;
    if (lay->tokens.at[opened].group == PEL_GROUP_BRACKETS) {
        lay->last_brackets = opened;
        lay->lines_at_brackets = lay->n_lines;
    }
    push(lay, CLOSE);
}

uint32_t pel_lay_open_parens(pel_layout *lay) {
    uint32_t opened = pel_lay_open(lay, PEL_GROUP_PARENS);
    pel_lay_if_broken(lay, "(");
    pel_lay_indent(lay);
    pel_lay_soft(lay);
    if (opened != PEL_NO_GROUP) lay->tokens.at[opened].other = lay->n_lines; /* until it is closed */
    return opened;
}

void pel_lay_close_parens(pel_layout *lay, uint32_t opened, pel_group group) {
    if (opened == PEL_NO_GROUP) return;
    pel_token *open = &lay->tokens.at[opened];
    open->group = (uint8_t)group;
    open->has_lines = lay->n_lines > open->other;
    bool ends_with_brackets = lay->n_lines == lay->lines_at_brackets;
    if (ends_with_brackets && lay->last_brackets != PEL_NO_GROUP && lay->last_brackets > opened)
        open->hug = lay->last_brackets;
    open->tail = lay->last_operator > opened ? lay->last_operator : opened;
    pel_lay_dedent(lay);
    pel_lay_soft(lay);
    lay->n_lines--; /* brackets that end what is inside end the whole */
    pel_lay_if_broken(lay, ")");
    pel_lay_close(lay, opened);
}

uint32_t pel_lay_here(const pel_layout *lay) { return lay->tokens.n; }

void pel_lay_undo(pel_layout *lay, uint32_t since) {
    lay->tokens.n = since;
    if (lay->last_brackets != PEL_NO_GROUP && lay->last_brackets >= since) lay->last_brackets = PEL_NO_GROUP;
}

char pel_lay_first_byte(const pel_layout *lay, uint32_t since) {
    for (uint32_t i = since; i < lay->tokens.n; i++)
        if (lay->tokens.at[i].type == TEXT && lay->tokens.at[i].text.len) return lay->tokens.at[i].text.ptr[0];
    return 0;
}

uint32_t pel_lay_width(const pel_layout *lay, uint32_t from, uint32_t to) {
    uint32_t width = 0;
    for (uint32_t i = from; i < to; i++) width += lay->tokens.at[i].width;
    return width;
}

void pel_lay_freeze(pel_layout *lay, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        pel_token *token = &lay->tokens.at[i];
        if (token->type == LINE) {
            token->type = TEXT;
            token->text = token->width ? PEL_STR(" ") : PEL_STR("");
            lay->n_lines--;
        } else if (token->type == IF_BROKEN) {
            token->type = TEXT;
            token->text = PEL_STR("");
        }
    }
}

void pel_lay_start(pel_layout *lay, pel_node *node) {
    if (lay->sets_positions) push(lay, START)->node = node;
}

void pel_lay_end(pel_layout *lay, pel_node *node) {
    if (lay->sets_positions) push(lay, END)->node = node;
}

/* ---- laying it out ---- */

static void measure(pel_layout *lay) {
    uint32_t before = 0, rest = 0;
    for (uint32_t i = 0; i < lay->tokens.n; i++) {
        lay->tokens.at[i].before = before;
        before += lay->tokens.at[i].width;
    }
    for (uint32_t i = lay->tokens.n; i-- > 0;) {
        pel_token *token = &lay->tokens.at[i];
        if (token->type == LINE || token->type == BACKSLASH)
            rest = 0;
        else if (token->type == TEXT)
            rest = token->multiline ? token->width : rest + token->width;
        else if (token->type == IF_BROKEN && token->text.ptr[0] == '(')
            rest = 1;
        token->rest = rest;
    }
}

typedef struct cursor {
    uint32_t column, indent;
} cursor;

static bool fits_flat(const pel_layout *lay, uint32_t open, uint32_t room) {
    const pel_token *tokens = lay->tokens.at;
    uint32_t close = tokens[open].other;
    if (lay->has_multiline)
        for (uint32_t i = open; i < close; i++)
            if (tokens[i].multiline) return tokens[i].before - tokens[open].before + tokens[i].width <= room;
    return tokens[close].before - tokens[open].before + tokens[close].rest <= room;
}

#define LIGHT_HEAD 24

/* Whether an operation is mostly its last operand, so that breaking at the operator would gain little. */
static bool is_tail_heavy(const pel_layout *lay, const pel_token *open, uint32_t room_inside) {
    uint32_t head = lay->tokens.at[open->tail].before - open->before;
    uint32_t whole = lay->tokens.at[open->other].before - open->before;
    return whole > room_inside && (whole - head > room_inside || head <= LIGHT_HEAD);
}

/* How a group that does not fit is laid out. */
static mode mode_of_broken(const pel_layout *lay, uint32_t at, mode around, cursor cur, uint32_t room) {
    const pel_token *open = &lay->tokens.at[at];
    uint32_t whole = lay->tokens.at[open->other].before - open->before;
    uint32_t room_inside = lay->width > cur.indent + INDENT ? lay->width - cur.indent - INDENT : 0;
    bool head_fits = open->hug != PEL_NO_GROUP && lay->tokens.at[open->hug].before - open->before + 1 <= room;
    switch (open->group) {
    case PEL_GROUP_BRACKETS: return BROKEN;
    case PEL_GROUP_CHAIN: return around == BARE ? BARE : BROKEN;
    case PEL_GROUP_FILL: return FILLED;
    case PEL_GROUP_HUG:
        if (open->has_lines) return head_fits || cur.indent + INDENT >= cur.column ? BARE : BROKEN;
        break;
    case PEL_GROUP_OPERATOR:
        if (open->has_lines) return head_fits && is_tail_heavy(lay, open, room_inside) ? BARE : BROKEN;
        break;
    case PEL_GROUP_INDEX:
        if (open->has_lines) return head_fits && whole > room_inside ? BARE : BROKEN;
        break;
    case PEL_GROUP_PARENS:
        if (open->has_lines) return BROKEN;
        break;
    }
    return whole <= room_inside ? BROKEN : BARE; /* nothing inside can break: only if it helps */
}

static mode mode_of(const pel_layout *lay, uint32_t open, mode around, cursor cur) {
    if (around == FLAT) return FLAT;
    uint32_t room = lay->width > cur.column ? lay->width - cur.column : 0;
    return fits_flat(lay, open, room) ? FLAT : mode_of_broken(lay, open, around, cur, room);
}

void pel_lay_newline(pel_layout *lay) {
    pel_put_byte(lay->out, '\n');
    lay->line++;
    lay->line_start = lay->out->len;
}

static void put_text(pel_layout *lay, pel_str text, cursor *cur) {
    size_t start = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n') {
            pel_put(lay->out, pel_str_cut(text, start, i));
            pel_lay_newline(lay);
            cur->column = 0;
            start = i + 1;
        }
    pel_str last = pel_str_from(text, start);
    pel_put(lay->out, last);
    cur->column += columns(last);
}

static void put_line(pel_layout *lay, const pel_token *token, mode around, cursor *cur) {
    bool breaks = around == BROKEN;
    /* a comma may follow that is only there in broken rows */
    if (around == FILLED) breaks = cur->column + token->width + token[1].rest >= lay->width;
    if (!breaks) {
        pel_put_spaces(lay->out, token->width);
        cur->column += token->width;
        return;
    }
    if (token->type == BACKSLASH) pel_put_c(lay->out, " \\");
    pel_lay_newline(lay);
    pel_put_spaces(lay->out, cur->indent);
    cur->column = cur->indent;
}

/* A group's mode depends on the column where it opens, so it is chosen on the way, from widths that measure found
 * before. Positions count bytes of UTF-8, as CPython's do; the cursor counts columns. */
void pel_lay_flush(pel_layout *lay, uint32_t indent) {
    measure(lay);
    pel_put_spaces(lay->out, indent);
    cursor cur = { indent, indent };
    mode around = BARE;
    for (uint32_t i = 0; i < lay->tokens.n; i++) {
        const pel_token *token = &lay->tokens.at[i];
        switch ((token_type)token->type) {
        case TEXT: put_text(lay, token->text, &cur); break;
        case LINE:
        case BACKSLASH: put_line(lay, token, around, &cur); break;
        case IF_BROKEN:
            if (around == BROKEN || around == FILLED) put_text(lay, token->text, &cur);
            break;
        case INDENT_MORE:
            if (around == BROKEN || around == FILLED) cur.indent += INDENT;
            break;
        case INDENT_LESS:
            if (around == BROKEN || around == FILLED) cur.indent -= INDENT;
            break;
        case OPEN:
            pel_push(lay->ctx, &lay->modes, (uint8_t)around);
            around = mode_of(lay, i, around, cur);
            break;
        case CLOSE: around = (mode)lay->modes.at[--lay->modes.n]; break;
        case START:
            token->node->lineno = lay->line;
            token->node->col_offset = (uint32_t)(lay->out->len - lay->line_start);
            break;
        case END:
            token->node->end_lineno = lay->line;
            token->node->end_col_offset = (uint32_t)(lay->out->len - lay->line_start);
            break;
        }
    }
    lay->tokens.n = 0;
    lay->last_brackets = PEL_NO_GROUP;
    lay->n_lines = 0;
    lay->has_multiline = false;
}

/* XML, token by token: enough to see what a reader of it would fetch or unfold. No entity is ever resolved. */
#ifndef PEL_IO_XML_H
#define PEL_IO_XML_H

#include "base/ctx.h"

typedef enum pel_xml_kind {
    PEL_XML_END,
    PEL_XML_OPEN,
    PEL_XML_CLOSE,
    PEL_XML_TEXT,        /* between tags, as it is there; a CDATA section is none */
    PEL_XML_DOCTYPE,     /* text: all of it, its own declarations too */
    PEL_XML_INSTRUCTION, /* <?name text?> */
} pel_xml_kind;

typedef struct pel_xml_token {
    pel_xml_kind kind;
    pel_str name; /* of OPEN, CLOSE, INSTRUCTION; with its prefix */
    pel_str text; /* of OPEN: the attributes */
    uint64_t at;
    bool is_empty; /* OPEN: <name/> */
} pel_xml_token;

typedef struct pel_xml {
    pel_str bytes;
    uint64_t at;
    int depth;
} pel_xml;

/* Whether bytes begin with a tag or an XML declaration, in UTF-8. */
bool pel_is_xml(pel_str bytes);
/* The next token; comments are passed over. Throws PEL_E_FORMAT where the text is no XML, PEL_E_TOO_DEEP. */
pel_xml_token pel_xml_next(pel_ctx *ctx, pel_xml *xml);
/* The value of an attribute as it is written; false if there is none. */
bool pel_xml_attribute(pel_str attributes, const char *name, pel_str *value);

#endif

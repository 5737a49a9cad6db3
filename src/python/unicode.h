/* What Python asks of Unicode: which characters make identifiers, their normal form, which are
 * printed as they are, and which are meant by name. The tables are those of Unicode 15.1 (Python 3.13). */
#ifndef PEL_PYTHON_UNICODE_H
#define PEL_PYTHON_UNICODE_H

#include "base/ctx.h"

bool pel_is_xid_start(uint32_t point); /* '_' too, as for str.isidentifier */
bool pel_is_xid_continue(uint32_t point);
bool pel_is_printable(uint32_t point);               /* str.isprintable: repr writes the others as escapes */
bool pel_is_printable_in(uint32_t point, int minor); /* the same in Python 3.<minor>, which may know less of Unicode */

/* The code point at s, which must be well-formed UTF-8 (lone surrogates may pass); *len is its length. */
uint32_t pel_utf8_point(const char *s, size_t *len);
/* Length of the well-formed UTF-8 sequence at the start of s, 0 if there is none. */
size_t pel_utf8_length(const unsigned char *s, size_t left);

/* NFKC of an identifier: every character of it must be XID_Continue. Empty if over a thousand combining marks
 * follow one letter: sorting more of them takes too long. */
pel_str pel_nfkc(pel_ctx *ctx, pel_str identifier);

/* The character that \N{name} means, aliases included. Case does not count. False if there is none. */
bool pel_unicode_named(pel_str name, uint32_t *point);

#endif

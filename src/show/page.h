/* The page's template: page.html. */
#ifndef PEL_SHOW_PAGE_H
#define PEL_SHOW_PAGE_H

#include "base/embedded.h"

extern const pel_embedded pel_pages[];

#endif

/* Text files that tools/embed.c puts into the library. */
#ifndef PEL_BASE_EMBEDDED_H
#define PEL_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct pel_embedded {
    const char *path; /* below the folder that was embedded; NULL in the row that ends the table */
    const char *text;
} pel_embedded;

#endif

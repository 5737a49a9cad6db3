/* What differs between operating systems, for the program: the library itself opens no file and starts nothing.
 * os_posix.c and os_windows.c each have all of it. Names of functions are those of POSIX where POSIX has them. */
#ifndef PEL_BASE_OS_H
#define PEL_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef _WIN32
#define PEL_OS_CAN_FORK 0
#else
#define PEL_OS_CAN_FORK 1
#endif

/* ---- files ---- */

/* Opens a file for reading; a FIFO that nobody writes to opens too, and is empty. -1: errno says why. */
int pel_os_open(const char *path);
/* Opens a file for writing, made if there is none, its content kept. */
int pel_os_create(const char *path);
/* The content of an open file in memory; NULL if it can't be mapped. If somebody cuts the file short afterwards,
 * `on_change` ends the process. */
void *pel_os_map(int file, size_t size, void (*on_change)(int));
void pel_os_unmap(void *at, size_t size);
/* Bytes at an offset; 0 at the end, -1 on a mistake. */
ptrdiff_t pel_os_read_at(int file, char *to, size_t size, uint64_t offset);
/* Blocks of the disk for what is to be written, in one go; where that can't be done, writing finds them. */
void pel_os_reserve(int file, uint64_t offset, uint64_t size);

/* What two names of one file or folder have in common. False: it can't be looked at. */
typedef struct pel_os_id {
    uint64_t device, file;
} pel_os_id;
bool pel_os_id_of(const char *path, pel_os_id *id);
bool pel_os_id_of_open(int file, pel_os_id *id);

/* stat that does not follow a last link. */
int pel_os_lstat(const char *path, struct stat *info);
bool pel_os_is_link(const char *path);
/* The path without links, . and .., with / between its parts; the caller frees it. NULL: there is no such file. */
char *pel_os_real_path(const char *path);
int pel_os_make_folder(const char *path); /* 0, or -1 with errno */

/* ---- this process, and others ---- */

long pel_os_processors(void);
/* Columns of the terminal that stdout is; 0: it is none. */
unsigned pel_os_columns(void);
/* The file of the running program. */
bool pel_os_program_path(char *path, size_t size);
/* Starts another program with pipes for its input and output; false: errno says why. It ends when its input does. */
bool pel_os_start(const char *program, char *const *argv, int *to, int *from);
/* stdin, stdout and stderr carry bytes as they are: a system that turns \n into \r\n stops doing so. */
void pel_os_plain_streams(void);
/* Runs another program instead of this one; returns only if that fails, with errno. */
void pel_os_become(const char *program, char *const *argv);

#endif

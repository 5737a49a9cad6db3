#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

extern char **environ;

/* Without waiting for a FIFO's other end; once it is open, reads wait as usual. */
int pel_os_open(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) fcntl(file, F_SETFL, 0);
    return file;
}

int pel_os_create(const char *path) { return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666); }

void *pel_os_map(int file, size_t size, void (*on_change)(int)) {
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (at == MAP_FAILED) return NULL;
    signal(SIGBUS, on_change);
    return at;
}

void pel_os_unmap(void *at, size_t size) { munmap(at, size); }

ptrdiff_t pel_os_read_at(int file, char *to, size_t size, uint64_t offset) {
    return pread(file, to, size, (off_t)offset);
}

void pel_os_reserve(int file, uint64_t offset, uint64_t size) {
#ifdef __linux__
    int ignored = fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    (void)ignored;
#else
    (void)file, (void)offset, (void)size;
#endif
}

static bool id_of(int failed, const struct stat *info, pel_os_id *id) {
    if (failed) return false;
    *id = (pel_os_id){ (uint64_t)info->st_dev, (uint64_t)info->st_ino };
    return true;
}

bool pel_os_id_of(const char *path, pel_os_id *id) {
    struct stat info;
    return id_of(stat(path, &info), &info, id);
}

bool pel_os_id_of_open(int file, pel_os_id *id) {
    struct stat info;
    return id_of(fstat(file, &info), &info, id);
}

int pel_os_lstat(const char *path, struct stat *info) { return lstat(path, info); }

bool pel_os_is_link(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

char *pel_os_real_path(const char *path) { return realpath(path, NULL); }

int pel_os_make_folder(const char *path) { return mkdir(path, 0777); }

long pel_os_processors(void) { return sysconf(_SC_NPROCESSORS_ONLN); }

unsigned pel_os_columns(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO)) return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col;
    return 80;
}

bool pel_os_program_path(char *path, size_t size) {
#ifdef __APPLE__
    uint32_t room = (uint32_t)size;
    return _NSGetExecutablePath(path, &room) == 0;
#else
    ssize_t len = readlink("/proc/self/exe", path, size - 1);
    if (len <= 0) return false;
    path[len] = '\0';
    return true;
#endif
}

bool pel_os_start(const char *program, char *const *argv, int *to, int *from) {
    int in[2], out[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(in) != 0) return false;
    if (pipe(out) != 0) {
        close(in[0]), close(in[1]);
        return false;
    }
    fcntl(in[1], F_SETFD, FD_CLOEXEC);
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, in[0]);
    posix_spawn_file_actions_addclose(&actions, out[1]);
    int mistake = posix_spawnp(&child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]);
    if (mistake) {
        close(in[1]), close(out[0]);
        errno = mistake;
        return false;
    }
    signal(SIGPIPE, SIG_IGN); /* a child that dies gives an error, not our end */
    *to = in[1];
    *from = out[0];
    return true;
}

void pel_os_become(const char *program, char *const *argv) { execvp(program, argv); }

void pel_os_plain_streams(void) {}

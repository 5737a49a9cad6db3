/* Windows, by its own functions where the C library's are not enough. make cross compiles it, and
 * runs it under wine where that is installed. Nobody has run it on Windows. */
#include "base/os.h"

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

int pel_os_open(const char *path) { return _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT); }

int pel_os_create(const char *path) {
    return _open(path, _O_WRONLY | _O_CREAT | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

/* A mapped file can't be cut short here: the system refuses that. */
void *pel_os_map(int file, size_t size, void (*on_change)(int)) {
    (void)size, (void)on_change;
    HANDLE mapping = CreateFileMappingA((HANDLE)_get_osfhandle(file), NULL, PAGE_READONLY, 0, 0, NULL);
    if (!mapping) return NULL;
    void *at = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    CloseHandle(mapping); /* the view keeps it */
    return at;
}

void pel_os_unmap(void *at, size_t size) {
    (void)size;
    UnmapViewOfFile(at);
}

ptrdiff_t pel_os_read_at(int file, char *to, size_t size, uint64_t offset) {
    OVERLAPPED where = { 0 };
    DWORD n = 0;
    where.Offset = (DWORD)offset;
    where.OffsetHigh = (DWORD)(offset >> 32);
    DWORD most = size > 1u << 30 ? 1u << 30 : (DWORD)size;
    if (ReadFile((HANDLE)_get_osfhandle(file), to, most, &n, &where)) return (ptrdiff_t)n;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : -1;
}

void pel_os_reserve(int file, uint64_t offset, uint64_t size) { (void)file, (void)offset, (void)size; }

/* stat gives no number of the file here. */
static bool id_of(HANDLE file, pel_os_id *id) {
    BY_HANDLE_FILE_INFORMATION info;
    if (file == INVALID_HANDLE_VALUE || !GetFileInformationByHandle(file, &info)) return false;
    *id = (pel_os_id){ info.dwVolumeSerialNumber, (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow };
    return true;
}

static HANDLE open_any(const char *path) {
    DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    return CreateFileA(path, 0, shared, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

bool pel_os_id_of(const char *path, pel_os_id *id) {
    HANDLE file = open_any(path);
    bool fine = id_of(file, id);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    return fine;
}

bool pel_os_id_of_open(int file, pel_os_id *id) { return id_of((HANDLE)_get_osfhandle(file), id); }

bool pel_os_is_link(const char *path) {
    DWORD attributes = GetFileAttributesA(path);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT);
}

/* A link is neither a file nor a folder where it must not be followed. */
int pel_os_lstat(const char *path, struct stat *info) {
    int result = stat(path, info);
    if (result == 0 && pel_os_is_link(path)) info->st_mode &= (unsigned short)~S_IFMT;
    return result;
}

char *pel_os_real_path(const char *path) {
    char real[4096];
    HANDLE file = open_any(path);
    if (file == INVALID_HANDLE_VALUE) return NULL;
    DWORD len = GetFinalPathNameByHandleA(file, real, sizeof real, FILE_NAME_NORMALIZED);
    CloseHandle(file);
    if (!len || len >= sizeof real) return NULL;
    const char *start = strncmp(real, "\\\\?\\", 4) == 0 ? real + 4 : real;
    char *made = _strdup(start);
    for (char *at = made; at && *at; at++)
        if (*at == '\\') *at = '/';
    return made;
}

int pel_os_make_folder(const char *path) { return _mkdir(path); }

long pel_os_processors(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (long)info.dwNumberOfProcessors;
}

unsigned pel_os_columns(void) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) return 0;
    return (unsigned)(info.srWindow.Right - info.srWindow.Left + 1);
}

bool pel_os_program_path(char *path, size_t size) {
    DWORD len = GetModuleFileNameA(NULL, path, (DWORD)size);
    if (!len || len >= size) return false;
    for (char *at = path; *at; at++)
        if (*at == '\\') *at = '/';
    return true;
}

/* Not written yet: the program has a use for it only with remote files. */
bool pel_os_start(const char *program, char *const *argv, int *to, int *from) {
    (void)program, (void)argv, (void)to, (void)from;
    errno = ENOSYS;
    return false;
}

/* There is no becoming: this process waits, and ends as the other did. */
void pel_os_become(const char *program, char *const *argv) {
    intptr_t result = _spawnvp(_P_WAIT, program, (const char *const *)argv);
    if (result != -1) exit((int)result);
}

void pel_os_plain_streams(void) {
    for (int stream = 0; stream < 3; stream++) _setmode(stream, _O_BINARY);
}

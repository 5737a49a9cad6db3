/* Runs a fuzz target over files and folders, without a fuzzer: what was found once is tested for ever. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    /* exactly as many bytes as there are, so that AddressSanitizer sees a read past them */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    if (getenv("REPLAY_VERBOSE")) fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    return 1;
}

static int replay(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return replay_file(path);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inner[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        int done = replay(inner);
        if (done < 0) {
            n = -1;
            break;
        }
        n += done;
    }
    closedir(folder);
    return n;
}

int main(int argc, char **argv) {
    int n = 0;
    for (int i = 1; i < argc; i++) {
        int done = replay(argv[i]);
        if (done < 0) return 1;
        n += done;
    }
    printf("%d inputs\n", n);
    return 0;
}

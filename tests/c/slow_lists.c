/* slurmd packs its lists slowly: whoever is let in meanwhile is seen. Each call is noted with its buffer in the file that
 * NOTES names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*packer)(void *, void *, void *, uint16_t);

static void note(const char *what, void *buffer) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %p\n", what, buffer);
    int file = open(getenv("NOTES"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0 || write(file, line, length) != length)
        _exit(3);
    close(file);
}

int slurm_pack_list(void *list, void *pack, void *buffer, uint16_t version) {
    packer real = (packer)dlsym(RTLD_NEXT, "slurm_pack_list");
    if (strcmp(program_invocation_short_name, "slurmd"))
        return real(list, pack, buffer, version);
    note("in", buffer);
    usleep(200000);
    int done = real(list, pack, buffer, version);
    note("out", buffer);
    return done;
}

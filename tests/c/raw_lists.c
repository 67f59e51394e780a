/* srun's own reader of --cpu-bind and --mem-bind, replaced by one that sends on the kind in RAW_CPU or RAW_MEM and the
 * list in RAW_LIST. Broken lists reach slurmd from programs that use Slurm's API, and here srun is one. */
#include <stdint.h>
#include <stdlib.h>

extern char *xstrdup(const char *text);

static int raw(const char *kind, char **list, uint32_t *bits) {
    const char *sent = getenv("RAW_LIST"), *mode = getenv(kind);
    if (mode) {
        *bits = strtoul(mode, 0, 16);
        *list = sent ? xstrdup(sent) : 0;
    }
    return 0;
}

int slurm_verify_cpu_bind(const char *given, char **list, uint32_t *bits) {
    return raw("RAW_CPU", list, bits);
}

int slurm_verify_mem_bind(const char *given, char **list, uint32_t *bits) {
    return raw("RAW_MEM", list, bits);
}

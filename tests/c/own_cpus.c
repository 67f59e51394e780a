/* Another maker's plugin: in each hook it writes down its own CPUs. */
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
SPANK_PLUGIN(other, 1);
static int leave(spank_t spank, const char *hook, char **arguments) {
    char line[256];
    FILE *own, *out;
    unsigned step = 0;
    if (spank_remote(spank) != 1)
        return 0;
    /* The extern step binds nothing. */
    if (spank_get_item(spank, S_JOB_STEPID, &step) || step == 4294967292u)
        return 0;
    own = fopen("/proc/thread-self/status", "r");
    out = fopen(arguments[0], "a");
    while (own && out && fgets(line, sizeof line, own))
        if (!strncmp(line, "Cpus_allowed_list:", 18))
            fprintf(out, "%s %s", hook, strchr(line, '\t') + 1);
    if (own) fclose(own);
    if (out) fclose(out);
    return 0;
}
#define HOOK(name) \
    int slurm_spank_##name(spank_t spank, int count, char **arguments) { return leave(spank, #name, arguments); }
HOOK(init_post_opt)
HOOK(user_init)
HOOK(task_init_privileged)
HOOK(task_init)
HOOK(exit)

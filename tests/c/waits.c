/* Another maker's SPANK plugin: where a file is, one slurmstepd takes it and waits for another file. */
#include <slurm/spank.h>
#include <stdio.h>
#include <unistd.h>
SPANK_PLUGIN(slow, 1);
int slurm_spank_init(spank_t spank, int count, char **arguments) {
    char hold[4096], held[4096], go[4096];
    if (spank_remote(spank) != 1 || count < 1)
        return 0;
    snprintf(hold, sizeof hold, "%s/hold", arguments[0]);
    snprintf(held, sizeof held, "%s/held", arguments[0]);
    snprintf(go, sizeof go, "%s/go", arguments[0]);
    if (rename(hold, held))
        return 0;
    while (access(go, F_OK))
        usleep(10000);
    return 0;
}

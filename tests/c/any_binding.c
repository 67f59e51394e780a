/* A SPANK plugin for commands of users that takes any text of --binding. */
#include <slurm/spank.h>
#include <slurm/slurm.h>

const char plugin_name[] = "berth";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;

static int take(int value, const char *text, int remote) {
    return 0;
}

int slurm_spank_init(spank_t spank, int count, char **arguments) {
    static struct spank_option option = {"binding", "TEXT", "anything", 1, 0, take};
    return spank_option_register(spank, &option);
}

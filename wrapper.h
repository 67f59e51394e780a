/* Slurm's public headers, for `slurm-sys --features headers` and its tests only.
 * Nothing that runs inside Slurm is built from them: bindings/layouts.json is. */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

/* A line of releases that Slurm will have some day: 99. */
long slurm_api_version(void) {
    return 99L << 16;
}

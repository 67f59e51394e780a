/* What the three programs share: time, and the one line that each task prints. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int usage(const char *text)
{
    fprintf(stderr, "usage: %s\n", text);
    return 2;
}

static int no_memory(void)
{
    fprintf(stderr, "there is not enough memory; ask for less\n");
    return 1;
}

/* "rate TASK CPU VALUE": the CPU is where the task was at its end. */
static int result(double rate, double kept)
{
    static volatile double sink;
    sink = kept;
    const char *task = getenv("SLURM_PROCID");
    printf("rate %s %d %.6g\n", task ? task : "0", sched_getcpu(), rate);
    return 0;
}

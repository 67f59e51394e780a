/* Each thread shows its task, its number and the CPUs that it may run on. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    #pragma omp parallel
    {
        cpu_set_t set;
        unsigned mask = 0;
        sched_getaffinity(0, sizeof set, &set);
        for (int cpu = 0; cpu < 32; cpu++)
            if (CPU_ISSET(cpu, &set))
                mask |= 1u << cpu;
        #pragma omp critical
        printf("%s %d/%d %x\n", getenv("SLURM_PROCID"), omp_get_thread_num(), omp_get_num_threads(), mask);
    }
}

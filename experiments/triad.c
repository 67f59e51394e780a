/* a[i] = b[i] + s * c[i] over arrays larger than any cache: it waits for the memory's bandwidth.
 * triad MIB ROUNDS: so much memory in all, so often; prints the rate in GB/s. */
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"

int main(int argc, char **argv)
{
    long mib = argc > 1 ? atol(argv[1]) : 0;
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    if (mib < 1 || mib > 1048576 || rounds < 1)
        return usage("triad MIB(1-1048576) ROUNDS");
    size_t count = (size_t)mib * 1048576 / (3 * sizeof(double));
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = malloc(count * sizeof *c);
    if (!a || !b || !c)
        return no_memory();
    /* The first touch places the pages: on the NUMA node of the CPU where this task runs now. */
    for (size_t i = 0; i < count; i++) {
        a[i] = 0;
        b[i] = (double)(i % 3);
        c[i] = 1;
    }
    double start = now();
    for (long round = 0; round < rounds; round++) {
        double factor = 3 + round % 2;
        for (size_t i = 0; i < count; i++)
            a[i] = b[i] + factor * c[i];
    }
    double spent = now() - start;
    return result(3.0 * sizeof(double) * count * rounds / spent / 1e9, a[count / 2]);
}

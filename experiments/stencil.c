/* A stencil of five points with OpenMP's threads in each task, as hybrid programs have it: the threads share a grid, wait
 * for each other after each sweep, and want to be side by side.
 * stencil SIZE ROUNDS: sweeps so often over a square grid; prints million points a second. */
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"

static void sweep(int size, const double *from, double *to)
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < size - 1; i++)
        for (int j = 1; j < size - 1; j++) {
            const double *at = from + (size_t)i * size + j;
            to[(size_t)i * size + j] = 0.25 * (at[-1] + at[1] + at[-size] + at[size]);
        }
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0;
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    if (size < 3 || size > 30000 || rounds < 1)
        return usage("stencil SIZE(3-30000) ROUNDS");
    size_t count = (size_t)size * size;
    double *from = malloc(count * sizeof *from), *to = malloc(count * sizeof *to);
    if (!from || !to)
        return no_memory();
    /* The first touch places the pages, so the threads that use a part also touch it first. */
#pragma omp parallel for schedule(static)
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            from[(size_t)i * size + j] = to[(size_t)i * size + j] = (i * j) % 7;
    double start = now();
    for (long round = 0; round < rounds; round++) {
        sweep(size, from, to);
        double *held = from;
        from = to;
        to = held;
    }
    double spent = now() - start;
    return result((double)count * rounds / spent / 1e6, from[count / 2]);
}

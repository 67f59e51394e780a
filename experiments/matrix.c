/* Dense matrix multiply, the core of HPL: it computes, and hardly waits for memory.
 * matrix SIZE ROUNDS: repeats it so often, and prints the rate in GFLOP/s. */
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"

enum { BLOCK = 48 };

static void multiply(int size, const double *a, const double *b, double *c)
{
    for (int ii = 0; ii < size; ii += BLOCK)
        for (int kk = 0; kk < size; kk += BLOCK)
            for (int i = ii; i < size && i < ii + BLOCK; i++)
                for (int k = kk; k < size && k < kk + BLOCK; k++) {
                    double factor = a[(size_t)i * size + k];
                    for (int j = 0; j < size; j++)
                        c[(size_t)i * size + j] += factor * b[(size_t)k * size + j];
                }
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0;
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    if (size < 1 || size > 20000 || rounds < 1)
        return usage("matrix SIZE(1-20000) ROUNDS");
    size_t count = (size_t)size * size;
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = calloc(count, sizeof *c);
    if (!a || !b || !c)
        return no_memory();
    for (size_t i = 0; i < count; i++) {
        a[i] = (double)(i % 7) - 3;
        b[i] = (double)(i % 5) - 2;
    }
    double start = now();
    for (long round = 0; round < rounds; round++)
        multiply(size, a, b, c);
    double spent = now() - start;
    /* The sum keeps the compiler from leaving the work out. */
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += c[i];
    return result(2.0 * size * size * size * rounds / spent / 1e9, sum);
}

/* Follows pointers through memory in random order: it waits for the memory's latency.
 * chase MIB SECONDS: so much memory, for so long; prints millions of loads a second. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"

/* One entry in each cache line. */
struct line {
    uint32_t next;
    char rest[60];
};

static uint64_t state = 88172645463325252u;

static uint64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* One cycle through all lines (Sattolo's shuffle). */
static void shuffle(struct line *lines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lines[i].next = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = random_number() % i, held = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = held;
    }
}

int main(int argc, char **argv)
{
    long mib = argc > 1 ? atol(argv[1]) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    if (mib < 1 || mib > 65536 || seconds <= 0)
        return usage("chase MIB(1-65536) SECONDS");
    uint32_t count = (uint32_t)((size_t)mib * 1048576 / sizeof(struct line)), at = 0;
    struct line *lines = malloc((size_t)count * sizeof *lines);
    if (!lines)
        return no_memory();
    shuffle(lines, count);
    double loads = 0, start = now(), spent;
    do {
        for (int i = 0; i < 10000; i++)
            at = lines[at].next;
        loads += 10000;
        spent = now() - start;
    } while (spent < seconds);
    return result(loads / spent / 1e6, at);
}

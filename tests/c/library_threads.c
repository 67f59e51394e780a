/* Two threads compute, one sleeps, and one, with the name of UCX's own thread, moves elsewhere. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
/* Two of these share a CPU, so the second that they compute takes two or more. */
static void *work(void *seconds) {
    struct timespec used;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec < *(time_t *)seconds);
    return NULL;
}
static void *doze(void *seconds) {
    pause();
    return NULL;
}
static void *helper(void *seconds) {
    cpu_set_t set;
    pthread_setname_np(pthread_self(), "async");
    CPU_ZERO(&set); CPU_SET(1, &set);
    sched_setaffinity(0, sizeof(set), &set);
    pause();
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    time_t seconds = 3;
    pthread_create(&threads[0], NULL, work, &seconds);
    pthread_create(&threads[1], NULL, doze, &seconds);
    pthread_create(&threads[2], NULL, helper, &seconds);
    work(&seconds);
    _exit(0);
}

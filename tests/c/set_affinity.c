/* Notes in the file that WATCH_FILE names who tells the kernel whose mask: the caller and its target in each line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(long target) {
    const char *name = getenv("WATCH_FILE");
    char line[64];
    int length = snprintf(line, sizeof line, "%d %ld\n", (int)getpid(), target);
    int file = name ? open(name, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0)
        return;
    if (write(file, line, length) < 0)
        abort();
    close(file);
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    int (*real)(pid_t, size_t, const cpu_set_t *) = dlsym(RTLD_NEXT, "sched_setaffinity");
    note(pid);
    return real(pid, size, set);
}

long syscall(long number, ...) {
    long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_sched_setaffinity)
        note(a[0]);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

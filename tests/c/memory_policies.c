/* A kernel that answers calls about memory policies as the variable KERNEL says: "none" has none, "refuse" takes no node.
 * Each call that sets a policy adds a letter to the file that KERNEL_CALLS names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int answers(const char *word) {
    const char *mode = getenv("KERNEL");
    return mode && !strcmp(mode, word);
}

static void note(void) {
    const char *name = getenv("KERNEL_CALLS");
    int file = name ? open(name, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file < 0)
        return;
    if (write(file, "x", 1) < 0)
        abort();
    close(file);
}

long syscall(long number, ...) {
    long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
    int sets = number == SYS_set_mempolicy;
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (sets)
        note();
    if (answers("none") && (sets || number == SYS_get_mempolicy)) {
        errno = ENOSYS;
        return -1;
    }
    if (answers("refuse") && sets) {
        errno = EINVAL;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Ends the process that probes devices, and no other one, as a driver that crashes would. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void crash(void) {
    char words[4096];
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = read(file, words, sizeof words);
    close(file);
    if (length > 0 && memmem(words, length, "--probe", 7))
        raise(SIGSEGV);
}

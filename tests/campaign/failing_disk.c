/* Disk calls that fail on demand, for LD_PRELOAD: those on files whose path has ".db" in it are counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static volatile long calls, first, last;
static volatile int error;

/* Let the calls from the first-th to the last-th fail with this error; none where first is 0. */
void disk_fail(long from, long to, int with) { first = from; last = to; error = with; }

/* How many calls there were. */
long disk_calls(void) { return calls; }

static int fails(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, ".db")) return 0;
    long call = __sync_add_and_fetch(&calls, 1);
    if (!first || call < first || call > last) return 0;
    errno = error;
    return 1;
}

#define FAILING(result, name, parameters, arguments)                                    \
    result name parameters {                                                            \
        static result (*real) parameters;                                               \
        if (!real) real = (result (*) parameters) dlsym(RTLD_NEXT, #name);              \
        return fails(file) ? -1 : real arguments;                                       \
    }

FAILING(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
FAILING(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at))
FAILING(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at))
FAILING(int, fsync, (int file), (file))
FAILING(int, fdatasync, (int file), (file))
FAILING(int, ftruncate, (int file, off_t size), (file, size))
FAILING(int, ftruncate64, (int file, off64_t size), (file, size))

/* Loaded before the C library: counts the calls by which a process changes files below one folder, and at the n-th of
 * them kills the process, or has the call fail or fall short, as a full or broken disk would.
 *
 * What to do is one text, by the variable TORTURE or by `torture_arm`, with fields that are separated by "|":
 *   folder | classes | n | kill, tear, fail or shorten | number of the error | 1 if it fails from then on | log
 * Each call that counts is a line of the log: its class and its name, and the path.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX], classes[16], action[16];
static long chosen, failure, lasting, journal = -1;
static atomic_long counted;

__attribute__((visibility("default"))) void torture_arm(const char *text) {
    char log[PATH_MAX] = "";
    folder[0] = 0;
    counted = 0;
    if (sscanf(text, "%4095[^|]|%15[^|]|%ld|%15[^|]|%ld|%ld|%4095[^|]", folder, classes, &chosen, action, &failure,
               &lasting, log) == 7)
        journal = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void arm_by_environment(void) {
    const char *text = getenv("TORTURE");
    if (text) torture_arm(text);
}

static int is_inside(int directory, const char *path) {
    char whole[PATH_MAX] = "";
    size_t length = strlen(folder);
    if (path[0] != '/') {  /* only where it begins is asked: links do not lead out of the folder */
        char link[64] = "/proc/self/cwd";
        if (directory != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        if (syscall(SYS_readlinkat, AT_FDCWD, link, whole, sizeof whole - 1) < 0) return 0;
        path = whole;
    }
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Whether it is this call's turn: W writes, S syncs, N names, R removes or empties, C creates. */
static int strikes(char class, const char *call, int directory, const char *path) {
    char line[PATH_MAX + 64];
    if (!folder[0] || !strchr(classes, class) || !is_inside(directory, path)) return 0;
    long number = atomic_fetch_add(&counted, 1) + 1;
    int length = snprintf(line, sizeof line, "%c %s %s\n", class, call, path);
    if (journal >= 0) syscall(SYS_write, journal, line, length < (int)sizeof line ? length : (int)sizeof line - 1);
    if (lasting ? number < chosen : number != chosen) return 0;
    if (!strcmp(action, "kill")) syscall(SYS_kill, getpid(), SIGKILL);
    errno = (int)failure;
    return strcmp(action, "count") != 0;
}

static int file_strikes(char class, const char *call, int file) {
    char link[64], path[PATH_MAX] = "";
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1) < 0 || path[0] != '/') return 0;
    return strikes(class, call, AT_FDCWD, path);
}

/* What becomes of a write that was struck: half of it for a kill in its middle and for a short one, else nothing. */
static ssize_t struck(int file, const void *bytes, size_t size, off_t at) {
    if (!strcmp(action, "fail")) return -1;
    size = size > 1 ? size / 2 : size;
    ssize_t done = at < 0 ? syscall(SYS_write, file, bytes, size) : syscall(SYS_pwrite64, file, bytes, size, at);
    if (!strcmp(action, "tear")) syscall(SYS_kill, getpid(), SIGKILL);
    return done;
}

static int fails(int whether) {  /* a call that cannot be done by half is not done when a kill in its middle strikes */
    if (whether && !strcmp(action, "tear")) syscall(SYS_kill, getpid(), SIGKILL);
    return whether && !strcmp(action, "fail");
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (file_strikes('W', "write", file)) return struck(file, bytes, size, -1);
    return syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off_t at) {
    if (file_strikes('W', "pwrite", file)) return struck(file, bytes, size, at);
    return syscall(SYS_pwrite64, file, bytes, size, at);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) __attribute__((alias("pwrite64")));

ssize_t writev(int file, const struct iovec *parts, int count) {
    if (count > 0 && file_strikes('W', "writev", file)) return struck(file, parts[0].iov_base, parts[0].iov_len, -1);
    return syscall(SYS_writev, file, parts, count);
}

ssize_t sendfile64(int to, int from, off_t *at, size_t size) {
    if (fails(file_strikes('W', "sendfile", to))) return -1;
    return syscall(SYS_sendfile, to, from, at, size);
}
ssize_t sendfile(int to, int from, off_t *at, size_t size) __attribute__((alias("sendfile64")));

ssize_t copy_file_range(int from, off_t *at, int to, off_t *there, size_t size, unsigned int flags) {
    if (fails(file_strikes('W', "copy_file_range", to))) return -1;
    return syscall(SYS_copy_file_range, from, at, to, there, size, flags);
}

int ftruncate64(int file, off_t size) {
    struct stat now;
    char class = !fstat(file, &now) && now.st_size > size ? 'R' : 'W';
    if (fails(file_strikes(class, "ftruncate", file))) return -1;
    return syscall(SYS_ftruncate, file, size);
}
int ftruncate(int file, off_t size) __attribute__((alias("ftruncate64")));

int fallocate64(int file, int mode, off_t at, off_t size) {
    if (fails(file_strikes('W', "fallocate", file))) return -1;
    return syscall(SYS_fallocate, file, mode, at, size);
}
int fallocate(int file, int mode, off_t at, off_t size) __attribute__((alias("fallocate64")));

int posix_fallocate64(int file, off_t at, off_t size) {
    if (fails(file_strikes('W', "posix_fallocate", file))) return errno;
    return syscall(SYS_fallocate, file, 0, at, size) < 0 ? errno : 0;
}
int posix_fallocate(int file, off_t at, off_t size) __attribute__((alias("posix_fallocate64")));

int fsync(int file) { return fails(file_strikes('S', "fsync", file)) ? -1 : syscall(SYS_fsync, file); }
int fdatasync(int file) { return fails(file_strikes('S', "fdatasync", file)) ? -1 : syscall(SYS_fdatasync, file); }

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    if (flags & (O_CREAT | O_TRUNC)) {
        int is_there = !syscall(SYS_faccessat, directory, path, F_OK);
        if (is_there ? fails((flags & O_TRUNC) && strikes('R', "open", directory, path))
                     : fails((flags & O_CREAT) && strikes('C', "open", directory, path)))
            return -1;
    }
    return syscall(SYS_openat, directory, path, flags, mode);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat64(int directory, const char *path, int flags, ...) { MODE(flags) return open_at(directory, path, flags, mode); }
int openat(int directory, const char *path, int flags, ...) { MODE(flags) return open_at(directory, path, flags, mode); }

int mkdirat(int directory, const char *path, mode_t mode) {
    return fails(strikes('C', "mkdir", directory, path)) ? -1 : syscall(SYS_mkdirat, directory, path, mode);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int renameat2(int from, const char *old, int to, const char *path, unsigned int flags) {
    return fails(strikes('N', "rename", to, path)) ? -1 : syscall(SYS_renameat2, from, old, to, path, flags);
}
int renameat(int from, const char *old, int to, const char *path) { return renameat2(from, old, to, path, 0); }
int rename(const char *old, const char *path) { return renameat2(AT_FDCWD, old, AT_FDCWD, path, 0); }

int linkat(int from, const char *old, int to, const char *path, int flags) {
    return fails(strikes('N', "link", to, path)) ? -1 : syscall(SYS_linkat, from, old, to, path, flags);
}
int link(const char *old, const char *path) { return linkat(AT_FDCWD, old, AT_FDCWD, path, 0); }

int unlinkat(int directory, const char *path, int flags) {
    return fails(strikes('R', "unlink", directory, path)) ? -1 : syscall(SYS_unlinkat, directory, path, flags);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

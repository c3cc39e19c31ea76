/*
 * A library for LD_PRELOAD that lets a program's writes fail, or the program die, at a chosen point.
 *
 * Only what changes files below FAULTS_UNDER counts, and only in a program called FAULTS_PROGRAM:
 * opening to write, write, rename, link, symlink, mkdir, unlink, ftruncate, fsync.
 *
 *   FAULTS_AT=N      the operation to meddle with, from 1; none when absent
 *   FAULTS_DO=WORD   ENOSPC, EIO, EROFS  that operation fails
 *                    FULL, READONLY      that one and all later ones that would need room, or would write, fail
 *                    KILL                the process dies before it
 *                    TORN                the process dies after half of it, when it is a write, else before it
 *                    SHORT               every write of two bytes or more writes half (no N needed)
 *                    EINTR               every second write is interrupted (no N needed)
 *   FAULTS_LOG=FILE  gets a line for each counted operation: WORD PATH [PATH], and "hit" for the chosen one
 *
 * System calls are made directly, so that nothing here depends on how the C library names its functions.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NEEDS_ROOM = 1, IS_WRITE = 2 };

static int ready, active, at, seen, writes, log_fd = -1;
static const char *under, *wanted;

static void set_up(void)
{
	char program[PATH_MAX];
	const char *only = getenv("FAULTS_PROGRAM"), *number = getenv("FAULTS_AT"), *log = getenv("FAULTS_LOG");
	ssize_t length;
	const char *name;

	if (ready)
		return;
	ready = 1;
	under = getenv("FAULTS_UNDER");
	wanted = getenv("FAULTS_DO");
	length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (length <= 0 || !under || !only)
		return;
	program[length] = 0;
	name = strrchr(program, '/');
	if (strcmp(name ? name + 1 : program, only))
		return;
	at = number ? atoi(number) : 0;
	if (!wanted)
		wanted = "";
	if (log)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	active = 1;
}

static void say(const char *word, const char *path, const char *other)
{
	char line[2 * PATH_MAX + 64];
	int length;

	if (log_fd < 0)
		return;
	length = snprintf(line, sizeof(line), "%s %s%s%s\n", word, path, other ? " " : "", other ? other : "");
	if (length > 0)
		(void)!syscall(SYS_write, log_fd, line, (size_t)length);
}

/* The path of an open file, or an empty text. */
static const char *path_of(int fd, char *buffer)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, buffer, PATH_MAX - 1);
	buffer[length > 0 ? length : 0] = 0;
	return buffer;
}

static int counts(const char *path)
{
	set_up();
	return active && path && !strncmp(path, under, strlen(under));
}

static int is(const char *word)
{
	return !strcmp(wanted, word);
}

/* Says what happens to this operation: 0 it goes on, -1 it fails with errno set. */
static int meddle(const char *word, const char *path, const char *other, int kind)
{
	seen++;
	say(word, path, other);
	if (!at || seen < at)
		return 0;
	if (seen == at) {
		say("hit", path, NULL);
		if (is("KILL") || (is("TORN") && !(kind & IS_WRITE)))
			syscall(SYS_kill, getpid(), SIGKILL);
		if (is("ENOSPC") || is("EIO") || is("EROFS")) {
			errno = is("ENOSPC") ? ENOSPC : is("EIO") ? EIO : EROFS;
			return -1;
		}
	}
	if (is("FULL") && (kind & NEEDS_ROOM)) {
		errno = ENOSPC;
		return -1;
	}
	if (is("READONLY") && strcmp(word, "fsync")) {
		errno = EROFS;
		return -1;
	}
	return 0;
}

static int is_writing(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
}

static int opened(int dir, const char *path, int flags, mode_t mode)
{
	/* Emptying a file that is there needs no room; making one does. */
	if (is_writing(flags) && counts(path) && meddle("open", path, NULL, flags & O_CREAT ? NEEDS_ROOM : 0))
		return -1;
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define MODE_OF(flags, mode)                              \
	do {                                              \
		if ((flags) & (O_CREAT | O_TMPFILE)) {    \
			va_list list;                     \
			va_start(list, flags);            \
			mode = (mode_t)va_arg(list, int); \
			va_end(list);                     \
		}                                         \
	} while (0)

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode);
	return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode);
	return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode);
	return opened(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	MODE_OF(flags, mode);
	return opened(dir, path, flags | O_LARGEFILE, mode);
}

int creat(const char *path, mode_t mode)
{
	return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode)
{
	return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_LARGEFILE, mode);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	char buffer[PATH_MAX];

	set_up();
	if (active && fd > 2 && counts(path_of(fd, buffer))) {
		if (is("SHORT") && length > 1)
			return syscall(SYS_write, fd, bytes, length / 2);
		if (is("EINTR") && writes++ % 2 == 0) {
			errno = EINTR;
			return -1;
		}
		if (meddle("write", buffer, NULL, NEEDS_ROOM | IS_WRITE))
			return -1;
		if (at && seen == at && is("TORN")) {
			(void)!syscall(SYS_write, fd, bytes, length / 2);
			syscall(SYS_kill, getpid(), SIGKILL);
		}
	}
	return syscall(SYS_write, fd, bytes, length);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	if (counts(to) && meddle("rename", from, to, 0))
		return -1;
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return renameat2(from_dir, from, to_dir, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (counts(to) && meddle("link", from, to, NEEDS_ROOM))
		return -1;
	return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int symlink(const char *target, const char *path)
{
	if (counts(path) && meddle("symlink", path, NULL, NEEDS_ROOM))
		return -1;
	return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	if (counts(path) && meddle("mkdir", path, NULL, NEEDS_ROOM))
		return -1;
	return (int)syscall(SYS_mkdirat, dir, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int unlinkat(int dir, const char *path, int flags)
{
	if (counts(path) && meddle("unlink", path, NULL, 0))
		return -1;
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static int synced(long number, int fd)
{
	char buffer[PATH_MAX];

	if (counts(path_of(fd, buffer)) && meddle("fsync", buffer, NULL, 0))
		return -1;
	return (int)syscall(number, fd);
}

int fsync(int fd)
{
	return synced(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return synced(SYS_fdatasync, fd);
}

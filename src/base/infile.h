/* Files that are read whole. */
#ifndef BASE_INFILE_H
#define BASE_INFILE_H

#include "base/base.h"

/* Reads a whole file and terminates it. *ret_bytes does not count the terminator. Free with free().
 *
 * A pipe or a device is read to its end; the call blocks while it gives nothing. Reading stops when a pipe or device
 * gives only zero bytes. TROUPE_EIO: the file cannot be read, is a folder, or changed while it was read.
 * TROUPE_ELIMIT: the file is larger than bytes_max. */
troupe_status infile_read(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error);
/* The same, but reading stops early when the file does not begin with `beginning`, still with TROUPE_OK: the caller
 * has to check the beginning and refuse the file. */
troupe_status infile_read_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error);
/* For paths that others choose: never blocks, and reads only files that have a size. A pipe, a device, an empty file,
 * or one of the files that the kernel makes up while they are read (/proc, /sys) is TROUPE_EIO. */
troupe_status infile_read_plain(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error);
/* In two calls. Opens such a file; *ret_file is closed by the caller. Then reads it; path: for messages. */
troupe_status infile_open_plain(const char *path, int *ret_file, struct troupe_error *error);
troupe_status infile_read_open(
	int file, const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error);

#endif

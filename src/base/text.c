#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		mem_run_out(0);
}

static locale_t numbers_locale(void)
{
	pthread_once(&c_locale_once, make_c_locale);
	return c_locale;
}

static void reserve(struct text *text, size_t more)
{
	if (text->count + more + 1 <= text->room)
		return;
	size_t room = text->room ? text->room : 64;
	while (room < text->count + more + 1)
		room *= 2;
	text->at = mem_realloc(text->at, room);
	text->room = room;
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
	reserve(text, count);
	memcpy(text->at + text->count, bytes, count);
	text->count += count;
	text->at[text->count] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args, again;
	locale_t before = uselocale(numbers_locale());
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	if (length < 0)
		mem_run_out(0);
	reserve(text, (size_t)length);
	vsnprintf(text->at + text->count, (size_t)length + 1, format, again);
	text->count += (size_t)length;
	va_end(again);
	va_end(args);
	uselocale(before);
}

void text_add_double(struct text *text, double value)
{
	char buffer[40];
	locale_t before = uselocale(numbers_locale());
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buffer, sizeof buffer, "%.*g", digits, value);
		if (strtod(buffer, NULL) == value)
			break;
	}
	uselocale(before);
	text_add_bytes(text, buffer, strlen(buffer));
}

void text_add_json(struct text *text, const char *string)
{
	text_add_bytes(text, "\"", 1);
	for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
		if (*c == '"' || *c == '\\')
			text_add(text, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			text_add(text, "\\u%04x", *c);
		else
			text_add_bytes(text, (const char *)c, 1);
	}
	text_add_bytes(text, "\"", 1);
}

void text_fini(struct text *text)
{
	free(text->at);
	*text = (struct text){0};
}

static bool only_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return !*at;
}

bool text_double(const char *text, double *ret_value)
{
	char *end;
	double value = strtod_l(text, &end, numbers_locale());
	if (end == text || !only_blanks(end))
		return false;
	*ret_value = value;
	return true;
}

bool text_int64(const char *text, int64_t *ret_value)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || !only_blanks(end) || errno)
		return false;
	*ret_value = value;
	return true;
}

bool text_uint64(const char *text, uint64_t *ret_value)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || !only_blanks(end) || errno || strchr(text, '-'))
		return false;
	*ret_value = value;
	return true;
}

bool text_bool(const char *text, bool *ret_value)
{
	while (isspace((unsigned char)*text))
		text++;
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true}, {"false", false}, {"1", true}, {"0", false}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t length = strlen(words[i].word);
		if (!strncasecmp(text, words[i].word, length) && only_blanks(text + length)) {
			*ret_value = words[i].value;
			return true;
		}
	}
	return false;
}

int text_doubles(const char *text, double *ret_values, int max)
{
	int count = 0;
	while (!only_blanks(text)) {
		char *end;
		double value = strtod_l(text, &end, numbers_locale());
		if (end == text || (*end && !isspace((unsigned char)*end)) || count == max)
			return -1;
		ret_values[count++] = value;
		text = end;
	}
	return count;
}

static const char *after_character(const char *at)
{
	for (at++; ((unsigned char)*at & 0xc0) == 0x80; at++)
		;
	return at;
}

/* Only the last * is ever tried again: what an earlier one took is a match that a later one can do with. */
bool text_glob(const char *glob, const char *text)
{
	const char *star = NULL, *from = NULL;
	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			from = text;
		} else if (*glob == '?') {
			glob++;
			text = after_character(text);
		} else if (*glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = from = after_character(from);
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

enum { READ_BYTES = 1 << 16 };

struct reading {
	const char *path;
	int file;
	bool plain;
	size_t expected; /* bytes of a plain file, when it was opened; 0: it does not say (as in /proc) */
	size_t bytes_max;
	const char *beginning;
	struct text text;
};

static troupe_status open_to_read(struct reading *r, struct troupe_error *error)
{
	struct stat info;
	r->file = AGAIN(open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	if (r->file < 0 || AGAIN(fstat(r->file, &info)))
		return fail(error, TROUPE_EIO, "%s: cannot open: %s", r->path, strerror(errno));
	if (S_ISDIR(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: is a folder: expected a file", r->path);
	r->plain = S_ISREG(info.st_mode);
	r->expected = r->plain ? (size_t)info.st_size : 0;
	return r->expected > r->bytes_max
		       ? fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", r->path, r->bytes_max)
		       : TROUPE_OK;
}

/* A device may go on for ever. Whether what it gives can be refused already. */
static bool is_hopeless(const struct reading *r, size_t from)
{
	const char *at = r->text.at + from, *end = r->text.at + r->text.count;
	if (r->beginning)
		return memcmp(r->text.at, r->beginning, MIN(strlen(r->beginning), r->text.count)) != 0;
	return !r->plain && at < end && !*at && !memcmp(at, at + 1, (size_t)(end - at) - 1);
}

static troupe_status read_all(struct reading *r, struct troupe_error *error)
{
	for (;;) {
		/* of a file that says how long it is all, and a byte more that must not be there */
		size_t from = r->text.count, part = r->expected ? r->expected - from + 1 : READ_BYTES;
		reserve(&r->text, part);
		ssize_t got = AGAIN(read(r->file, r->text.at + from, part));
		if (got < 0)
			return fail(error, TROUPE_EIO, "%s: cannot read: %s", r->path, strerror(errno));
		r->text.count += (size_t)got;
		r->text.at[r->text.count] = '\0';
		if (r->text.count > r->bytes_max)
			return fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", r->path, r->bytes_max);
		if (!got ? r->expected && r->text.count < r->expected : r->expected && r->text.count > r->expected)
			return fail(error, TROUPE_EIO, "%s: changed while it was read", r->path);
		if (!got || is_hopeless(r, from))
			return TROUPE_OK;
	}
}

troupe_status text_read_file_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error)
{
	struct reading r = {.path = path, .bytes_max = bytes_max, .beginning = beginning};
	troupe_status status = open_to_read(&r, error);
	if (!status)
		status = read_all(&r, error);
	if (r.file >= 0)
		(void)close(r.file);
	if (status) {
		text_fini(&r.text);
		return status;
	}
	*ret_text = mem_realloc(r.text.at, r.text.count + 1); /* many files are kept */
	*ret_bytes = r.text.count;
	return TROUPE_OK;
}

troupe_status text_read_file(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	return text_read_file_of(path, NULL, bytes_max, ret_text, ret_bytes, error);
}

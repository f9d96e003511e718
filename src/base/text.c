/* Text that programs read must not depend on the locale of the process, which belongs to the program that uses the
 * library. So numbers are printed and parsed in the C locale.
 *
 * Logs consist of doubles, each in the shortest form that reads back as the same double. Between 1e-15 and 1e15 the
 * digits come from exact 128-bit integers; the C library's way, tried with 15 to 17 digits, is about ten times as
 * slow and remains for the rest. */
#include "base/text.h"

#include "base/shown.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

void text_reserve(struct text *text, size_t more)
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
	text_reserve(text, count);
	if (count) /* no bytes may have no address */
		memcpy(text->at + text->count, bytes, count);
	text->count += count;
	text->at[text->count] = '\0';
}

void text_add_v(struct text *text, const char *format, va_list args)
{
	va_list again;
	locale_t before = uselocale(numbers_locale());
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	if (length < 0)
		mem_run_out(0);
	text_reserve(text, (size_t)length);
	vsnprintf(text->at + text->count, (size_t)length + 1, format, again);
	text->count += (size_t)length;
	va_end(again);
	uselocale(before);
}

void text_add(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	text_add_v(text, format, args);
	va_end(args);
}

/* By the C library: the least number of digits, from 15 to 17, that reads back as the same double. */
static void add_by_trying(struct text *text, double value)
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

#ifdef __SIZEOF_INT128__
/* The same in exact integers, about ten times as fast; logs consist of such numbers. value = mantissa * 2^exponent
 * with a mantissa of 53 bits, so value * 10^k = mantissa * 5^k / 2^shift, which fits into 128 bits while k <= 32. */
__extension__ typedef unsigned __int128 u128;

enum { FIVES = 28 };
#define FAST_MIN 1e-15
#define FAST_MAX 1e15

static u128 power_of_5(int k)
{
	static const uint64_t powers[FIVES] = {1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u,
		9765625u, 48828125u, 244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u,
		3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u,
		11920928955078125u, 59604644775390625u, 298023223876953125u, 1490116119384765625u,
		7450580596923828125u};
	return k < FIVES ? powers[k] : (u128)powers[FIVES - 1] * powers[k - FIVES + 1];
}

struct decimal {
	uint64_t digits; /* as one number */
	int count;       /* number of digits */
	int power;       /* of ten, of the first digit */
};

/* Rounds to `count` digits, ties to even, as printf() does. power: of the first digit before rounding. Returns
 * whether the result reads back as the same double. */
static bool round_to(uint64_t mantissa, int exponent, int power, int count, struct decimal *ret_decimal)
{
	int k = count - 1 - power, shift = -(exponent + k);
	u128 scaled = mantissa * power_of_5(k), one = (u128)1 << shift, rest = scaled & (one - 1);
	uint64_t digits = (uint64_t)(scaled >> shift), limit = 1;
	bool up = rest > one / 2 || (rest == one / 2 && digits % 2);
	for (int i = 0; i < count; i++)
		limit *= 10;
	digits += up;
	*ret_decimal = digits == limit ? (struct decimal){limit / 10, count, power + 1}
				       : (struct decimal){digits, count, power};
	/* half the distance to the next double, in the same units: 5^k / 2; just below a power of two, half as much */
	u128 off = up ? one - rest : rest, half = power_of_5(k);
	off *= !up && mantissa == (uint64_t)1 << 52 ? 4 : 2;
	return off < half || (off == half && mantissa % 2 == 0);
}

static void add_decimal(struct text *text, bool negative, struct decimal decimal)
{
	char digits[24], buffer[40];
	size_t at = 0;
	for (; decimal.digits % 10 == 0; decimal.count--)
		decimal.digits /= 10;
	for (int i = decimal.count; i > 0; i--, decimal.digits /= 10)
		digits[i - 1] = (char)('0' + decimal.digits % 10);
	if (negative)
		buffer[at++] = '-';
	bool small = decimal.power < -4;
	int before = small ? 1 : decimal.power + 1; /* digits before the point */
	for (int i = 0; i < before; i++)
		buffer[at++] = i < decimal.count ? digits[i] : '0';
	if (before <= 0)
		buffer[at++] = '0';
	if (decimal.count > before)
		buffer[at++] = '.';
	for (int i = before; i < decimal.count; i++)
		buffer[at++] = i < 0 ? '0' : digits[i];
	if (small) {
		buffer[at++] = 'e';
		buffer[at++] = '-';
		buffer[at++] = (char)('0' + -decimal.power / 10);
		buffer[at++] = (char)('0' + -decimal.power % 10);
	}
	text_add_bytes(text, buffer, at);
}

static bool add_fast(struct text *text, double value)
{
	double size = fabs(value);
	uint64_t bits;
	struct decimal decimal;
	if (!(size >= FAST_MIN && size < FAST_MAX))
		return false;
	memcpy(&bits, &size, sizeof bits);
	uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
	int exponent = (int)(bits >> 52) - 1075;
	int power = (exponent + 52) * 30103 / 100000 - (exponent + 52 < 0); /* exact, or one too small */
	int k = 16 - (power + 1);
	/* 17 digits with power + 1 mean that power was one too small */
	if (mantissa * power_of_5(k) >> -(exponent + k) >= 10000000000000000u)
		power++;
	for (int count = 15; count <= 17; count++)
		if (round_to(mantissa, exponent, power, count, &decimal))
			break;
	add_decimal(text, value < 0, decimal);
	return true;
}
#else
static bool add_fast(struct text *text, double value)
{
	(void)text;
	(void)value;
	return false;
}
#endif

void text_add_double(struct text *text, double value)
{
	if (value == 0)
		text_add_bytes(text, signbit(value) ? "-0" : "0", signbit(value) ? 2 : 1);
	else if (!add_fast(text, value))
		add_by_trying(text, value);
}

void text_add_json(struct text *text, const char *string)
{
	text_add_bytes(text, "\"", 1);
	for (size_t count = strlen(string); count;) {
		struct shown_character c = shown_at(string, count);
		if (c.code == '"' || c.code == '\\')
			text_add(text, "\\%c", (char)c.code);
		else if (!c.valid)
			text_add(text, "\\ufffd");
		else if (c.hidden && c.code >= 0x10000)
			text_add(
				text, "\\u%04x\\u%04x", 0xd800 + ((c.code - 0x10000) >> 10), 0xdc00 + (c.code & 0x3ff));
		else if (c.hidden)
			text_add(text, "\\u%04x", c.code);
		else
			text_add_bytes(text, string, c.bytes);
		string += c.bytes;
		count -= c.bytes;
	}
	text_add_bytes(text, "\"", 1);
}

void text_fini(struct text *text)
{
	free(text->at);
	*text = (struct text){0};
}

/* The number of bytes of the character at `at`; 0 if it is not valid. */
static size_t character_length(const unsigned char *at, size_t room)
{
	if (at[0] < 0x80)
		return 1;
	size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (length > room)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	bool too_long = at[0] < 0xc2 || (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
	bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
	bool beyond = at[0] > 0xf4 || (at[0] == 0xf4 && at[1] >= 0x90);
	return too_long || surrogate || beyond ? 0 : length;
}

bool text_is_utf8(const char *bytes, size_t count)
{
	for (size_t at = 0; at < count;) {
		size_t length = character_length((const unsigned char *)bytes + at, count - at);
		if (!length)
			return false;
		at += length;
	}
	return true;
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

/* Only the last * is tried again: an earlier * need not take more, because the last one can take it as well. */
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

uint32_t text_distance(const char *one, const char *other)
{
	enum { BYTES = 127 };
	uint32_t row[BYTES + 1]; /* of Levenshtein's table: from a beginning of `one` to each of `other` */
	size_t one_bytes = strnlen(one, BYTES), other_bytes = strnlen(other, BYTES);
	for (uint32_t j = 0; j <= other_bytes; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= one_bytes; i++) {
		uint32_t before = row[0]; /* of the row above, one to the left */
		row[0] = i;
		for (uint32_t j = 1; j <= other_bytes; j++) {
			uint32_t replaced = before + (one[i - 1] != other[j - 1]);
			before = row[j];
			row[j] = MIN(replaced, MIN(before, row[j - 1]) + 1);
		}
	}
	return row[other_bytes];
}

/* --- files -------------------------------------------------------------------------------------------------------- */

enum { READ_BYTES = 1 << 16, PROC_MAGIC = 0x9fa0, SYSFS_MAGIC_NUMBER = 0x62656572 };

struct reading {
	const char *path;
	int file;
	bool plain;
	size_t expected; /* bytes of a plain file when it was opened; 0: unknown (as in /proc) */
	size_t bytes_max;
	const char *beginning;
	struct text text;
};

static troupe_status cannot_open(const char *path, struct troupe_error *error)
{
	return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
}

static troupe_status begin_reading(struct reading *r, struct troupe_error *error)
{
	struct stat info;
	if (r->file < 0 || AGAIN(fstat(r->file, &info)))
		return cannot_open(r->path, error);
	if (S_ISDIR(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: is a folder: expected a file", r->path);
	r->plain = S_ISREG(info.st_mode);
	r->expected = r->plain ? (size_t)info.st_size : 0;
	return r->expected > r->bytes_max
		       ? fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", r->path, r->bytes_max)
		       : TROUPE_OK;
}

/* A device may never end. Whether the bytes read so far are reason enough to stop. */
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
		/* of a file of known length: the rest, and one more byte, which must not exist */
		size_t from = r->text.count, part = r->expected ? r->expected - from + 1 : READ_BYTES;
		text_reserve(&r->text, part);
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

/* Closes the file. */
static troupe_status text_read_whole(int file, const char *path, const char *beginning, size_t bytes_max,
	char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	struct reading r = {.path = path, .file = file, .bytes_max = bytes_max, .beginning = beginning};
	troupe_status status = begin_reading(&r, error);
	if (!status)
		status = read_all(&r, error);
	if (file >= 0)
		(void)close(file);
	if (status) {
		text_fini(&r.text);
		return status;
	}
	*ret_text = mem_realloc(r.text.at, r.text.count + 1); /* callers keep many files */
	*ret_bytes = r.text.count;
	return TROUPE_OK;
}

/* A file that the kernel makes up has no size, or, below /sys, a size that means nothing. */
static bool is_made_up(int file)
{
	struct statfs system;
	return !AGAIN(fstatfs(file, &system)) && (system.f_type == PROC_MAGIC || system.f_type == SYSFS_MAGIC_NUMBER);
}

troupe_status text_open_plain(const char *path, int *ret_file, struct troupe_error *error)
{
	struct stat named, opened;
	/* a device may do something when it is opened: so its name is looked at first, and then the open file */
	if (AGAIN(stat(path, &named)))
		return cannot_open(path, error);
	int file = S_ISREG(named.st_mode) ? AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) : -1;
	if (S_ISREG(named.st_mode) && file < 0)
		return cannot_open(path, error);
	bool plain = file >= 0 && !AGAIN(fstat(file, &opened)) && S_ISREG(opened.st_mode) && !is_made_up(file);
	if (plain && opened.st_size > 0) {
		*ret_file = file;
		return TROUPE_OK;
	}
	if (file >= 0)
		(void)close(file);
	return fail(error, TROUPE_EIO, "%s: %s", path,
		plain                    ? "an empty file: expected one with content"
		: S_ISDIR(named.st_mode) ? "is a folder: expected a file"
					 : "not a plain file: expected one");
}

troupe_status text_read_open(
	int file, const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	int own = AGAIN(fcntl(file, F_DUPFD_CLOEXEC, 0));
	return text_read_whole(own, path, NULL, bytes_max, ret_text, ret_bytes, error);
}

troupe_status text_read_plain(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error)
{
	int file = -1;
	troupe_status status = text_open_plain(path, &file, error);
	return status ? status : text_read_whole(file, path, beginning, bytes_max, ret_text, ret_bytes, error);
}

troupe_status text_read_file_of(const char *path, const char *beginning, size_t bytes_max, char **ret_text,
	size_t *ret_bytes, struct troupe_error *error)
{
	int file = AGAIN(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	return text_read_whole(file, path, beginning, bytes_max, ret_text, ret_bytes, error);
}

troupe_status text_read_file(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	return text_read_file_of(path, NULL, bytes_max, ret_text, ret_bytes, error);
}

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
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

troupe_status text_read_file(
	const char *path, size_t bytes_max, char **ret_text, size_t *ret_bytes, struct troupe_error *error)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
	struct text text = {0};
	char buffer[16384];
	size_t got;
	while ((got = fread(buffer, 1, sizeof buffer, file)) > 0 && text.count <= bytes_max)
		text_add_bytes(&text, buffer, got);
	bool bad = ferror(file) != 0;
	int why = errno;
	fclose(file);
	if (bad || text.count > bytes_max) {
		text_fini(&text);
		if (bad)
			return fail(error, TROUPE_EIO, "%s: cannot read: %s", path, strerror(why));
		return fail(error, TROUPE_ELIMIT, "%s: larger than %zu bytes", path, bytes_max);
	}
	if (!text.at)
		text_add_bytes(&text, "", 0);
	*ret_text = text.at;
	*ret_bytes = text.count;
	return TROUPE_OK;
}

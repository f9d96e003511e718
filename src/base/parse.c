/* In the C locale, as numbers are printed (base/text.h). */
#include "base/parse.h"

#include "base/c_locale.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool parse_only_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return !*at;
}

bool parse_double(const char *text, double *ret_value)
{
	char *end;
	double value = strtod_l(text, &end, c_locale_get());
	if (end == text || !parse_only_blanks(end))
		return false;
	*ret_value = value;
	return true;
}

bool parse_int64(const char *text, int64_t *ret_value)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (end == text || !parse_only_blanks(end) || errno)
		return false;
	*ret_value = value;
	return true;
}

bool parse_uint64(const char *text, uint64_t *ret_value)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || !parse_only_blanks(end) || errno || strchr(text, '-'))
		return false;
	*ret_value = value;
	return true;
}

bool parse_bool(const char *text, bool *ret_value)
{
	while (isspace((unsigned char)*text))
		text++;
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true}, {"false", false}, {"1", true}, {"0", false}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t length = strlen(words[i].word);
		if (!strncasecmp(text, words[i].word, length) && parse_only_blanks(text + length)) {
			*ret_value = words[i].value;
			return true;
		}
	}
	return false;
}

int parse_doubles(const char *text, double *ret_values, int max)
{
	int count = 0;
	while (!parse_only_blanks(text)) {
		char *end;
		double value = strtod_l(text, &end, c_locale_get());
		if (end == text || (*end && !isspace((unsigned char)*end)) || count == max)
			return -1;
		ret_values[count++] = value;
		text = end;
	}
	return count;
}

/* Reads values that only parts for the senses have: words of a list, counts with limits, colours, texts. The rules are
 * those of Gazebo where it has one: an empty element, or "__default__", stands for the default. A word that is not
 * known is a warning, because Gazebo runs such a world; a number that has no meaning is an error. */
#include "base/parse.h"
#include "sdf/load.h"

#include <stdio.h>
#include <string.h>

const char *load_text(const struct sdf_element *parent, const char *name)
{
	const char *text = sdf_child_text(parent, name);
	return text && *text && strcmp(text, "__default__") ? text : NULL;
}

/* libsdformat drops what is behind the point: 1.5 rays would be 1 ray, without a word. */
void load_count(struct load *load, const struct sdf_element *parent, const char *name, uint32_t lo, uint32_t hi,
	uint32_t *value)
{
	double read = *value;
	load_double(load, parent, name, lo, hi, &read);
	if (read != floor(read))
		load_error(load, sdf_child(parent, name, NULL),
			"<%s> is \"%.80s\": expected a whole number from %u to %u", name,
			sdf_child_text(parent, name), lo, hi);
	else
		*value = (uint32_t)read;
}

void load_uint(struct load *load, const struct sdf_element *parent, const char *name, uint32_t *value)
{
	load_count(load, parent, name, 0, UINT32_MAX, value);
}

void load_mask(struct load *load, const struct sdf_element *parent, const char *name, uint32_t *value)
{
	const char *text = load_text(parent, name);
	int64_t read;
	if (text && parse_int64(text, &read) && read < 0 && read >= INT32_MIN)
		*value = (uint32_t)read;
	else
		load_uint(load, parent, name, value);
}

int load_word(struct load *load, const struct sdf_element *at, const char *what, const char *text,
	const struct load_word *words, size_t count, int fallback)
{
	struct text expected = {0};
	const char *used = "";
	if (!text || !*text)
		return fallback;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(words[i].text, text))
			return words[i].value;
	for (size_t i = count; i-- > 0;)
		used = words[i].value == fallback ? words[i].text : used;
	for (size_t i = 0; i < count; i++)
		text_add(&expected, "%s%s", !i ? "" : i + 1 == count ? " or " : ", ", words[i].text);
	load_warn(load, at, "%s is \"%.40s\": expected %s; %s is used", what, text, expected.at, used);
	text_fini(&expected);
	return fallback;
}

int load_word_of(struct load *load, const struct sdf_element *parent, const char *name, const struct load_word *words,
	size_t count, int fallback)
{
	const struct sdf_element *at = sdf_child(parent, name, NULL);
	const char *text = load_text(parent, name);
	if (!text)
		return fallback;
	char what[64];
	snprintf(what, sizeof what, "<%s>", name);
	return load_word(load, at, what, text, words, count, fallback);
}

void load_colour(struct load *load, const struct sdf_element *parent, const char *name, struct sdf_colour *value)
{
	const struct sdf_element *at = sdf_child(parent, name, NULL);
	double read[5] = {0, 0, 0, 1};
	if (!at || !*at->text)
		return;
	int count = parse_doubles(at->text, read, ARRAY_LEN(read));
	bool ok = count == 3 || count == 4, bright = false;
	read[3] = count == 3 ? 1 : read[3];
	for (int i = 0; i < 4 && ok; i++) {
		ok = read[i] >= 0 && isfinite(read[i]); /* false for nan */
		bright = bright || read[i] > 1;
		read[i] = fmin(read[i], 1);
	}
	if (!ok) {
		load_error(load, at,
			"<%s> is \"%.80s\": expected a colour of 3 or 4 numbers from 0 to 1: red, green, blue, opacity",
			name, at->text);
		return;
	}
	if (bright)
		load_warn(load, at, "<%s> is \"%.80s\": expected numbers from 0 to 1; 1 is used instead of more", name,
			at->text);
	*value = (struct sdf_colour){read[0], read[1], read[2], read[3]};
}

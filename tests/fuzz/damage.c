/* Random bytes hardly ever get past the parser, so most changes here keep the text well-formed: whole elements move,
 * vanish, repeat and come from other files, numbers become those that hurt, references name something else. Elements
 * are found by scanning for tags, not by parsing: where the scan is wrong the change is just a wilder one. */
#include "damage.h"

#include "../random.h"

#include <ctype.h>
#include <string.h>

enum { TEXT_MAX = 400000 }; /* nothing is added beyond this many bytes */

static const char *const numbers[] = {"nan", "-inf", "inf", "1e308", "-1e308", "1e-320", "0", "-1", "", "1e9", "-1e9",
	"1e16", "-1e16", "1e-9", "99999999999999", "4294967295", "4294967296", "-0", "1e7", "1e-12", "1e30", "0.5", "2",
	"3.14159265358979", "1e4", "x", "0x10", "1 2", "0 0 0", "1,5"};
static const char *const words[] = {"x", "__root__", "__model__", "world", "::", "a::b::c", "&amp;", "&#0;", "&lol;",
	"<", ">", "--", "<![CDATA[", "0x10", "]]>", "<!--", "\xff", "true", "a::", "::a", "__x__", "quat_xyzw", "ray"};
static const char *const tags[] = {"model", "link", "joint", "frame", "world", "include", "collision", "visual",
	"sensor", "light", "actor", "plugin", "pose", "inertial", "geometry", "box", "sphere", "plane", "mesh", "axis",
	"axis2", "parent", "child", "static", "surface", "level", "performer", "physics", "mimic", "polyline", "camera",
	"lidar", "contact", "noise", "range", "clip", "image", "scan", "material", "scene"};
static const char *const names[] = {"name", "type", "relative_to", "attached_to", "expressed_in", "version", "merge",
	"placement_frame", "canonical_link", "auto", "degrees", "rotation_format", "default", "filename"};
static const char *const types[] = {"revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2",
	"screw", "gearbox", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.12", "imu", "camera", "true", "euler_rpy",
	"lidar", "contact", "multicamera", "navsat", "force_torque", "gaussian", "spot", "directional"};

struct span {
	size_t at, count;
};

size_t damage_below(struct damage *damage, size_t limit)
{
	return random_below64(&damage->state, limit);
}

#define PICK(damage, array) ((array)[damage_below((damage), ARRAY_LEN(array))])

static void replace(struct text *text, struct span cut, const char *with, size_t count)
{
	struct text out = {0};
	cut.at = MIN(cut.at, text->count);
	cut.count = MIN(cut.count, text->count - cut.at);
	if (text->count - cut.count + count > TEXT_MAX && count > cut.count)
		return;
	text_add_bytes(&out, "", 0);
	text_add_bytes(&out, text->at, cut.at);
	text_add_bytes(&out, with, count);
	text_add_bytes(&out, text->at + cut.at + cut.count, text->count - cut.at - cut.count);
	text_fini(text);
	*text = out;
}

static struct text copy_span(const struct text *text, struct span span)
{
	struct text copy = {0};
	text_add_bytes(&copy, text->at + span.at, span.count);
	return copy;
}

/* The next number at or after a random place. */
static struct span find_number(struct damage *damage, const struct text *text)
{
	size_t at = damage_below(damage, text->count);
	while (at < text->count && !strchr("0123456789", text->at[at]))
		at++;
	return (struct span){at, at < text->count ? strspn(text->at + at, "0123456789.e-") : 0};
}

/* The tag "<name ...>" at or after `at`, its name in *ret_name; count is 0 when there is none. */
static struct span tag_from(const struct text *text, size_t at, struct span *ret_name)
{
	for (; at + 1 < text->count; at++) {
		if (text->at[at] != '<' || !isalpha((unsigned char)text->at[at + 1]))
			continue;
		size_t end = at + 1;
		while (end < text->count && !strchr(" \t\r\n/>", text->at[end]))
			end++;
		*ret_name = (struct span){at + 1, end - at - 1};
		while (end < text->count && text->at[end] != '>')
			end++;
		return (struct span){at, MIN(end + 1, text->count) - at};
	}
	return (struct span){text->count, 0};
}

static bool is_tag(const struct text *text, size_t at, const char *before, const struct text *whole, struct span name)
{
	size_t length = strlen(before);
	return at + length + name.count < text->count && !memcmp(text->at + at, before, length) &&
	       !memcmp(text->at + at + length, whole->at + name.at, name.count) &&
	       strchr(" \t\r\n/>", text->at[at + length + name.count]);
}

/* A random element, with all that is in it. */
static struct span find_element(struct damage *damage, const struct text *text)
{
	struct span name = {0, 0}, tag = tag_from(text, damage_below(damage, text->count), &name);
	size_t depth = 1, at = tag.at + tag.count;
	if (!tag.count || text->at[at - 2 < text->count ? at - 2 : 0] == '/')
		return tag;
	for (; at < text->count && depth; at++) {
		if (text->at[at] != '<')
			continue;
		if (is_tag(text, at, "</", text, name)) {
			depth--;
		} else if (is_tag(text, at, "<", text, name)) {
			const char *close = memchr(text->at + at, '>', text->count - at);
			depth += !(close && close[-1] == '/');
		}
	}
	while (at < text->count && text->at[at - 1] != '>')
		at++;
	return (struct span){tag.at, at - tag.at};
}

/* The value in quotes of a random attribute. */
static struct span find_value(struct damage *damage, const struct text *text)
{
	size_t at = damage_below(damage, text->count);
	for (; at + 1 < text->count; at++)
		if (text->at[at] == '=' && (text->at[at + 1] == '"' || text->at[at + 1] == '\'')) {
			const char *close = memchr(text->at + at + 2, text->at[at + 1], text->count - at - 2);
			return (struct span){at + 2, close ? (size_t)(close - text->at) - at - 2 : 0};
		}
	return (struct span){text->count, 0};
}

/* The text between two tags. */
static struct span find_content(struct damage *damage, const struct text *text)
{
	size_t at = damage_below(damage, text->count);
	while (at < text->count && text->at[at] != '>')
		at++;
	size_t end = at = MIN(at + 1, text->count);
	while (end < text->count && text->at[end] != '<')
		end++;
	return (struct span){at, end - at};
}

static void with_span(struct text *text, struct span cut, const struct text *from, struct span span)
{
	struct text copy = copy_span(from, span);
	replace(text, cut, copy.at ? copy.at : "", copy.count);
	text_fini(&copy);
}

static void bytes(struct damage *damage, struct text *text)
{
	size_t at = damage_below(damage, text->count);
	const char *word = PICK(damage, words);
	switch (damage_below(damage, 4)) {
	case 0:
		text->at[at] = (char)(text->at[at] ^ (1 << damage_below(damage, 8)));
		break;
	case 1:
		replace(text, (struct span){at, damage_below(damage, 20)}, "", 0);
		break;
	case 2: {
		size_t count = damage_below(damage, 64);
		with_span(text, (struct span){damage_below(damage, text->count), 0}, text,
			(struct span){at, MIN(count, text->count - at)});
		break;
	}
	default:
		replace(text, (struct span){at, 0}, word, strlen(word));
	}
}

static void swap(struct damage *damage, struct text *text)
{
	struct span a = find_element(damage, text), b = find_element(damage, text);
	if (a.at > b.at) {
		struct span c = a;
		a = b;
		b = c;
	}
	if (a.at + a.count > b.at) /* one is in the other */
		return;
	struct text first = copy_span(text, a);
	with_span(text, a, text, b);
	replace(text, (struct span){b.at - a.count + b.count, b.count}, first.at ? first.at : "", first.count);
	text_fini(&first);
}

/* Puts an element inside many of its like. */
static void nest(struct damage *damage, struct text *text)
{
	struct span element = find_element(damage, text), name = {0, 0};
	struct span tag = tag_from(text, element.at, &name);
	size_t times = damage_below(damage, 3) ? damage_below(damage, 5) : damage_below(damage, 100);
	struct text out = {0};
	if (!tag.count || text->at[tag.at + tag.count - 1] != '>' || text->at[tag.at + tag.count - 2] == '/')
		return;
	for (size_t i = 0; i < times; i++)
		text_add_bytes(&out, text->at + tag.at, tag.count);
	text_add_bytes(&out, text->at + element.at, element.count);
	for (size_t i = 0; i < times; i++)
		text_add(&out, "</%.*s>", (int)name.count, text->at + name.at);
	replace(text, element, out.at, out.count);
	text_fini(&out);
}

static void rename_tag(struct damage *damage, struct text *text)
{
	struct span element = find_element(damage, text), name = {0, 0};
	struct span tag = tag_from(text, element.at, &name);
	const char *other = PICK(damage, tags);
	if (!tag.count || element.count < 2 * name.count + 5)
		return;
	if (text->at[tag.at + tag.count - 2] != '/') {
		struct span close = {element.at + element.count - name.count - 1, name.count};
		replace(text, close, other, strlen(other));
	}
	replace(text, name, other, strlen(other));
}

static void elements(struct damage *damage, struct text *text)
{
	struct span element = find_element(damage, text), to = find_element(damage, text);
	struct span name = {0, 0}, tag = tag_from(text, to.at, &name);
	struct span inside = {tag.at + tag.count, 0};
	switch (damage_below(damage, 8)) {
	case 0:
		replace(text, element, "", 0);
		break;
	case 1:
		with_span(text, (struct span){element.at, 0}, text, element);
		break;
	case 2:
		with_span(text, inside, text, element);
		break;
	case 3:
		swap(damage, text);
		break;
	case 4:
		nest(damage, text);
		break;
	case 5:
		rename_tag(damage, text);
		break;
	default:
		if (damage->donor_count) {
			const struct text *donor = &damage->donors[damage_below(damage, damage->donor_count)];
			with_span(text, damage_below(damage, 2) ? inside : to, donor, find_element(damage, donor));
		}
	}
}

static void attributes(struct damage *damage, struct text *text)
{
	struct span value = find_value(damage, text), name = {0, 0};
	const char *word = damage_below(damage, 2) ? PICK(damage, types) : PICK(damage, words);
	switch (damage_below(damage, 4)) {
	case 0:
		replace(text, value, word, strlen(word));
		break;
	case 1: /* the value of another one: another name, another reference */
		with_span(text, value, text, find_value(damage, text));
		break;
	case 2: {
		const char *other = PICK(damage, names);
		size_t at = value.at >= 2 ? value.at - 2 : 0, end = at;
		while (at > 0 && !isspace((unsigned char)text->at[at - 1]))
			at--;
		replace(text, (struct span){at, end - at}, other, strlen(other));
		break;
	}
	default: {
		struct text added = {0};
		struct span tag = tag_from(text, damage_below(damage, text->count), &name);
		struct span other = find_value(damage, text);
		if (!tag.count)
			break;
		text_add(&added, " %s='%.*s'", PICK(damage, names), (int)MIN(other.count, 60u), text->at + other.at);
		replace(text, (struct span){name.at + name.count, 0}, added.at, added.count);
		text_fini(&added);
	}
	}
}

static void values(struct damage *damage, struct text *text)
{
	const char *number = PICK(damage, numbers), *word = PICK(damage, words);
	switch (damage_below(damage, 8)) {
	case 0:
		replace(text, find_content(damage, text), word, strlen(word));
		break;
	case 1:
		with_span(text, find_content(damage, text), text, find_content(damage, text));
		break;
	case 2: /* a name as the text: <parent>, <child>, <ref> */
		with_span(text, find_content(damage, text), text, find_value(damage, text));
		break;
	default:
		replace(text, find_number(damage, text), number, strlen(number));
	}
}

void damage_once(struct damage *damage, struct text *text)
{
	switch (damage_below(damage, 12)) {
	case 0:
		bytes(damage, text);
		break;
	case 1:
	case 2:
	case 3:
		attributes(damage, text);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		elements(damage, text);
		break;
	default:
		values(damage, text);
	}
}

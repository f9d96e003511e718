/* Everything that a peer names passes one of these checks before it is kept, printed or handed to ZeroMQ. The rules for
 * topics are gz-transport's, so that no valid peer is refused; control characters are refused in addition, because
 * names are printed. An endpoint is taken only in the one form that gz-transport writes: zmq_connect() of a text that
 * an unknown program chose could open a local socket file or ask the resolver. */
#include "gateway/gz/names.h"

#include <stdlib.h>
#include <string.h>

static bool gz_names_is_plain(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c <= ' ' || c == 0x7f || c == '~' || c == '@')
			return false;
		if (i && ((text[i - 1] == '/' && c == '/') || (text[i - 1] == ':' && c == '=')))
			return false;
	}
	return true;
}

bool names_is_topic(const char *text, size_t count)
{
	return count > 0 && count <= NAMES_TOPIC_MAX && !(count == 1 && *text == '/') && gz_names_is_plain(text, count);
}

bool names_is_partition(const char *text, size_t count)
{
	return !count ||
	       (count <= NAMES_PARTITION_MAX && !(count == 1 && *text == '/') && gz_names_is_plain(text, count));
}

bool names_is_type(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char c = text[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			    c == '.'))
			return false;
	}
	return count > 0 && count <= NAMES_TYPE_MAX;
}

bool names_is_id(const char *text, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
			return false;
	return count > 0 && count <= NAMES_ID_MAX;
}

static void gz_names_add_between_slashes(struct text *out, const char *text)
{
	size_t count = strlen(text);
	if (count && text[count - 1] == '/')
		count--;
	if (count && *text != '/')
		text_add(out, "/");
	text_add_bytes(out, text, count);
}

void names_join(struct text *out, const char *partition, const char *topic)
{
	text_add(out, "@");
	gz_names_add_between_slashes(out, partition);
	text_add(out, "@");
	gz_names_add_between_slashes(out, topic);
}

const char *names_topic_in(const char *full, size_t count, const char *partition)
{
	size_t length = strlen(partition), skip;
	if (length && partition[length - 1] == '/')
		length--;
	if (count < 3 || *full != '@')
		return NULL;
	skip = 1;
	if (length && *partition != '/') {
		if (full[1] != '/')
			return NULL;
		skip++;
	}
	if (count < skip + length + 2 || memcmp(full + skip, partition, length) != 0 || full[skip + length] != '@')
		return NULL;
	skip += length + 1;
	return full[skip] == '/' && names_is_topic(full + skip, count - skip) ? full + skip : NULL;
}

const char *names_plain_type(const char *type)
{
	static const char *const prefixes[] = {"ignition.msgs.", "gz.msgs."};
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (!strncmp(type, prefixes[i], strlen(prefixes[i])))
			return type + strlen(prefixes[i]);
	return NULL;
}

bool names_same_type(const char *a, const char *b)
{
	const char *plain_a = names_plain_type(a), *plain_b = names_plain_type(b);
	return plain_a && plain_b ? !strcmp(plain_a, plain_b) : !strcmp(a, b);
}

void names_add_type(struct text *out, const char *type, bool ignition)
{
	const char *plain = names_plain_type(type);
	if (plain)
		text_add(out, "%s.msgs.%s", ignition ? "ignition" : "gz", plain);
	else
		text_add(out, "%s", type);
}

bool names_is_empty_type(const char *type)
{
	const char *plain = names_plain_type(type);
	return plain && !strcmp(plain, "Empty");
}

/* Digits without a sign, a blank or a leading zero, which inet_aton() would read as octal. */
static bool gz_names_take_number(const char **at, const char *end, uint32_t max, char then, uint32_t *ret_number)
{
	const char *begin = *at;
	uint32_t number = 0;
	while (*at < end && **at >= '0' && **at <= '9' && *at - begin < 5)
		number = number * 10 + (uint32_t)(*(*at)++ - '0');
	if (*at == begin || number > max || (*begin == '0' && *at - begin > 1))
		return false;
	if (then ? *at == end || *(*at)++ != then : *at != end)
		return false;
	*ret_number = number;
	return true;
}

bool names_endpoint_parse(const char *text, size_t count, struct names_endpoint *ret_endpoint)
{
	static const char scheme[] = "tcp://";
	const char *at = text, *end = text + count;
	uint32_t address = 0, part = 0;
	if (count > NAMES_ENDPOINT_MAX || count < sizeof scheme || memcmp(text, scheme, sizeof scheme - 1) != 0)
		return false;
	at += sizeof scheme - 1;
	for (int i = 0; i < 4; i++) {
		if (!gz_names_take_number(&at, end, 255, i < 3 ? '.' : ':', &part))
			return false;
		address = address << 8 | part;
	}
	if (!gz_names_take_number(&at, end, UINT16_MAX, 0, &part) || !part)
		return false;
	*ret_endpoint = (struct names_endpoint){address, (uint16_t)part};
	return true;
}

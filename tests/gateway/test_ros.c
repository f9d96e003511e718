/* Messages of Gazebo as CDR of ROS 2 (gateway/ros/ros.h): each message of tests/data/ros/cases has the bytes that stand
 * there, and comes back from them if programs may give it; damaged bytes are refused, and read within bounds.
 * tests/web/test_ros.sh has the same bytes read by another project's decoder, by way of the schemas that
 *
 *   test_ros --print FILE     prints: for each message of the file "TYPE TOPIC TEXT", "name NAME", "schema JSON" and
 *                             "cdr HEX" */
#include "../fault/check.h"
#include "gateway/ros/ros.h"
#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

static const struct message_limits limits = {.bytes_max = 1 << 20, .items_max = 10000};

struct one {
	char type[128], topic[128];
	const char *text;
	const struct ros_type *ros;
	struct text bytes, cdr;
};

static bool make(struct one *one, const char *line)
{
	struct troupe_error error = {0};
	ProtobufCMessage *message;
	int used = 0;
	*one = (struct one){0};
	if (sscanf(line, "%127s %127s %n", one->type, one->topic, &used) != 2)
		return false;
	one->text = line + used;
	one->ros = ros_type_find(one->type, *one->topic == '/' ? one->topic : NULL);
	if (!type_find(one->type) || message_of_text(type_find(one->type), one->text, &limits, &message, &error)) {
		check(false, "%s: %s", line, error.text);
		return false;
	}
	message_add_bytes(&one->bytes, message);
	message_free(message);
	if (one->ros &&
		ros_of_bytes(one->ros, one->bytes.count ? one->bytes.at : "", one->bytes.count, &one->cdr, &error))
		check(false, "%s: %s", line, error.text);
	return one->ros && one->cdr.count;
}

static void drop(struct one *one)
{
	text_fini(&one->bytes);
	text_fini(&one->cdr);
}

static void add_hex(const struct text *bytes, struct text *out)
{
	for (size_t i = 0; i < bytes->count; i++)
		text_add(out, "%02x", (unsigned char)bytes->at[i]);
}

static void print(const char *line)
{
	struct one one;
	struct text out = {0}, schema = {0};
	if (make(&one, line)) {
		ros_add_schema(one.ros, &schema);
		text_add(&out, "%s\nname %s\nschema ", line, one.ros->name);
		text_add_json(&out, schema.at ? schema.at : "");
		text_add(&out, "\ncdr ");
		add_hex(&one.cdr, &out);
		puts(out.at);
	}
	text_fini(&out);
	text_fini(&schema);
	drop(&one);
}

/* What comes back from CDR has the message's bytes: the messages of the file that may be given have no header. */
static void check_back(const struct one *one)
{
	struct text back = {0};
	struct troupe_error error = {0};
	if (ros_to_bytes(one->ros, one->cdr.at, one->cdr.count, &back, &error))
		check(false, "%s %s: not read back: %s", one->type, one->text, error.text);
	else
		check(back.count == one->bytes.count && (!back.count || !memcmp(back.at, one->bytes.at, back.count)),
			"%s %s: other bytes come back", one->type, one->text);
	for (size_t count = 0; count < one->cdr.count; count++) {
		char *cut = malloc(count + 1); /* of its own, so that a sanitizer sees a read behind its end */
		if (!cut)
			abort();
		memcpy(cut, one->cdr.at, count);
		cut = realloc(cut, count ? count : 1);
		back.count = 0;
		bool empty = !strcmp(one->type, "gz.msgs.Empty") && count >= 4;
		check(empty || ros_to_bytes(one->ros, cut, count, &back, &error), "%s: %zu bytes of it are taken",
			one->type, count);
		free(cut);
	}
	text_fini(&back);
}

static void check_case(const char *line, const char *hex)
{
	struct one one;
	if (make(&one, line)) {
		struct text found = {0};
		add_hex(&one.cdr, &found);
		check(!strcmp(found.at, hex), "%s: expected %s, found %s", line, hex, found.at);
		text_fini(&found);
		if (ros_is_taken(one.ros))
			check_back(&one);
	} else {
		check(false, "%s: no CDR", line);
	}
	drop(&one);
}

static void check_refusals(void)
{
	struct text out = {0};
	struct troupe_error error = {0};
	const struct ros_type *image = ros_type_find("gz.msgs.Image", NULL),
			      *text = ros_type_find("gz.msgs.StringMsg", NULL);
	check(!ros_type_find("gz.msgs.WorldStatistics", NULL) && !ros_type_find("gz.msgs.Nothing", NULL),
		"types without a counterpart");
	check(ros_of_bytes(image, "\x30\x02", 2, &out, &error) == TROUPE_OK && out.count, "a picture of one format");
	out.count = 0;
	check(ros_of_bytes(image, "\x30\x07", 2, &out, &error) == TROUPE_EINVAL &&
			strstr(error.text, "pixel_format_type 7"),
		"a picture whose format ROS 2 does not have");
	check(ros_of_bytes(image, "\x0a\x7f", 2, &out, &error) == TROUPE_ECOMMAND && !out.count, "damaged bytes");
	check(ros_to_bytes(text, "\0\1\0\0\3\0\0\0a\0b", 11, &out, &error) == TROUPE_ECOMMAND,
		"a string with a zero in it");
	check(ros_to_bytes(text, "\0\1\0\0\2\0\0\0\xff", 10, &out, &error) == TROUPE_ECOMMAND,
		"a string that is no UTF-8");
	check(ros_to_bytes(text, "\0\1\0\0\xff\xff\xff\xff\0", 9, &out, &error) == TROUPE_ECOMMAND,
		"a length too large");
	check(ros_to_bytes(text, "\0\6\0\0\2\0\0\0a", 10, &out, &error) == TROUPE_ECOMMAND, "another form of CDR");
	check(ros_to_bytes(text, "\0\0\0\0\0\0\0\2a", 10, &out, &error) == TROUPE_OK && out.count == 3,
		"the other byte order");
	text_fini(&out);
}

int main(int argc, char **argv)
{
	const char *source = getenv("SOURCE_DIR");
	char *path = mem_printf("%s%s",
		argc > 2 ? argv[2]
		: source ? source
			 : ".",
		argc > 2 ? "" : "/tests/data/ros/cases");
	struct troupe_error error;
	char *text, *rest = NULL;
	size_t count;
	if (text_read_file(path, 1 << 20, &text, &count, &error)) {
		printf("%s\n", error.text);
		return 1;
	}
	char *last = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "gz.", 3) && argc > 2)
			print(line);
		else if (!strncmp(line, "cdr ", 4) && argc <= 2 && last)
			check_case(last, line + 4);
		last = strncmp(line, "gz.", 3) ? NULL : line;
	}
	if (argc <= 2) {
		check_refusals();
		printf("%d passed, %d failed\n", passed, failed);
	}
	free(path);
	free(text);
	return failed > 0;
}

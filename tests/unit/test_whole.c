/* What a server says of a world with two of everything (tests/data/whole/world.sdf): each message that it publishes and
 * each answer to a question, with all fields, are those of tests/data/whole/expected. Other tests look at the fields
 * that they need; here the others are looked at, too. Then a model goes and all is reset: the messages are the same
 * again. Numbers may differ in the last digits, and names of files have @ for the folder of the sources.
 *
 * When a message changes, tests/unit/test_whole with TROUPE_WHOLE_WRITE=FILE writes what it has found to FILE. */
#include "clients.h"

#include "base/infile.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(whole, .fini = clients_end, .timeout = 60);

#define WHOLE_LEAST 1e-9
enum { WHOLE_STEPS = 101, WHOLE_BYTES = 1 << 24, WHOLE_DEPTH = 4, WHOLE_TOPICS = 64 };
#define WHOLE_FOLDER SOURCE_DIR "/tests/data/whole"

static const char *const whole_folders[] = {SOURCE_DIR "/tests/data/mesh", NULL};

/* What depends on the machine or on its clock. */
static bool whole_is_left_out(const char *name)
{
	static const char *const left_out[] = {"/stats", "/world/w/stats", "/world/w/secondaries", "/world/w/view",
		"/world/w/hash", "/world/w/touching", "/world/w/replies", "/world/w/scene/deletion", "/world/w/levels",
		"/clock", "/world/w/clock"};
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		if (!strcmp(name, left_out[i]))
			return true;
	return strstr(name, "/blocking") != NULL;
}

/* Whether a line of a message begins a line here: not the end of a part, and no number deep inside. */
static bool whole_begins(const char *line)
{
	const size_t depth = strspn(line, " "), length = strcspn(line, "\n");
	return line[depth] != '}' && (depth < WHOLE_DEPTH || (depth == WHOLE_DEPTH && line[length - 1] == '{'));
}

/* The length of the name of the folder of the sources, as configure had it or as the system has it, that begins there;
 * 0: none. */
static size_t whole_folder_at(const char *at)
{
	static char real[PATH_MAX];
	if (!*real && !realpath(SOURCE_DIR, real))
		(void)snprintf(real, sizeof real, "%s", SOURCE_DIR);
	return !strncmp(at, SOURCE_DIR "/", sizeof SOURCE_DIR) ? strlen(SOURCE_DIR)
	       : !strncmp(at, real, strlen(real))              ? strlen(real)
							       : 0;
}

/* The lines of a message, fewer and longer, and without the folder of the sources. */
static void whole_fold(const char *text, struct text *out)
{
	for (const char *at = text; *at; at++)
		if (whole_folder_at(at)) {
			text_add(out, "@");
			at += whole_folder_at(at) - 1;
		} else if (!strncmp(at, "\\012", 4)) { /* a string of several lines */
			text_add(out, "\n");
			at += 3;
		} else if (*at != '\n') {
			text_add_bytes(out, at, 1);
		} else {
			const bool begins = at[1] == '\0' || whole_begins(at + 1);
			text_add(out, begins ? "\n" : " ");
			at += begins ? 0 : strspn(at + 1, " ");
		}
}

static uint64_t whole_first; /* the step before the first one that is listened to: a reset does not set steps back */

static double whole_round(double value)
{
	return fabs(value) < WHOLE_LEAST ? 0 : value;
}

/* Numbers that are zero but for rounding are zero, so that their fields are left out on each machine. */
static void whole_settle(ProtobufCMessage *message)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
		char *at = (char *)message + field->offset;
		const bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
		const size_t count = repeated ? *(size_t *)(void *)((char *)message + field->quantifier_offset) : 1;
		void *values = repeated ? *(void **)(void *)at : at;
		for (size_t k = 0; k < count; k++)
			if (field->type == PROTOBUF_C_TYPE_DOUBLE)
				((double *)values)[k] = whole_round(((double *)values)[k]);
			else if (field->type == PROTOBUF_C_TYPE_FLOAT)
				((float *)values)[k] = (float)whole_round(((float *)values)[k]);
			else if (field->type == PROTOBUF_C_TYPE_UINT64 && !strcmp(field->name, "step"))
				((uint64_t *)values)[k] -= whole_first;
			else if (field->type == PROTOBUF_C_TYPE_MESSAGE && ((ProtobufCMessage **)values)[k])
				whole_settle(((ProtobufCMessage **)values)[k]);
	}
}

static void whole_add(struct text *out, const char *name, const struct troupe_message *message)
{
	ProtobufCMessage *whole = decode(message);
	struct text text = {0};
	whole_settle(whole);
	message_add_text(&text, whole, MESSAGE_LINES);
	text_add(out, "--- %s (%s)\n", name, message->type);
	whole_fold(text.at ? text.at : "", out);
	text_fini(&text);
	message_free(whole);
}

struct whole_topic {
	char *name;
	struct text last; /* its last message */
};

static int whole_compare_topics(const void *a, const void *b)
{
	return strcmp(((const struct whole_topic *)a)->name, ((const struct whole_topic *)b)->name);
}

static uint32_t whole_subscribe(struct troupe_server *server, struct troupe_client *client, struct whole_topic *topics)
{
	const struct troupe_topics *list = troupe_topics_list(server);
	uint32_t count = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->at[i].kind != TROUPE_TOPIC_PUBLISHED || whole_is_left_out(list->at[i].name))
			continue;
		cr_assert_lt(count, (uint32_t)WHOLE_TOPICS);
		topics[count++] = (struct whole_topic){.name = mem_strdup(list->at[i].name)};
		subscribe(client, list->at[i].name, 0);
	}
	troupe_topics_release(list);
	qsort(topics, count, sizeof *topics, whole_compare_topics);
	return count;
}

/* The last message of each topic in so many steps. */
static void whole_listen(struct troupe_server *server, struct text *out)
{
	struct troupe_client *client = client_of(server, 4096);
	struct whole_topic topics[WHOLE_TOPICS];
	struct troupe_message message;
	const uint32_t count = whole_subscribe(server, client, topics);
	whole_first = troupe_server_progress(server).steps;
	lib_step(server, WHOLE_STEPS);
	while (troupe_client_take(client, 0, &message)) {
		struct whole_topic key = {.name = mem_strdup(message.topic)};
		struct whole_topic *topic = bsearch(&key, topics, count, sizeof *topics, whole_compare_topics);
		cr_assert(topic, "%s: not asked for", message.topic);
		topic->last.count = 0;
		whole_add(&topic->last, topic->name, &message);
		free(key.name);
	}
	for (uint32_t i = 0; i < count; i++) {
		text_add(out, "%s", topics[i].last.count ? topics[i].last.at : "");
		text_fini(&topics[i].last);
		free(topics[i].name);
	}
	client_destroy(client);
}

/* The answers to all questions that need no number. */
static void whole_ask(struct troupe_server *server, struct text *out)
{
	static const struct {
		const char *type, *request;
	} asked[] = {{"gz.msgs.Empty", ""}, {"gz.msgs.SdfGeneratorConfig", ""}, {"gz.msgs.Boolean", "data: true"},
		{"gz.msgs.UInt32", "data: 3"}, {"gz.msgs.UInt32", "data: 4"}};
	struct troupe_client *client = client_of(server, 0);
	const struct troupe_topics *list = troupe_topics_list(server);
	struct troupe_message message;
	for (uint32_t i = 0; i < list->count; i++)
		for (size_t k = 0; k < ARRAY_LEN(asked); k++) {
			const struct troupe_topic *topic = &list->at[i];
			if (topic->kind != TROUPE_TOPIC_SERVICE || whole_is_left_out(topic->name) ||
				strcmp(topic->type, asked[k].type) != 0)
				continue;
			request(client, topic->name, topic->type, asked[k].request, k + 1);
			lib_step(server, 1);
			cr_assert(answer(client, k + 1, &message), "%s: no answer", topic->name);
			cr_assert_eq(message.status, TROUPE_OK, "%s", topic->name);
			char *name = mem_printf("%s {%s}", topic->name, asked[k].request);
			whole_add(out, name, &message);
			free(name);
		}
	troupe_topics_release(list);
	client_destroy(client);
}

static bool whole_is_number(char c)
{
	return isdigit((unsigned char)c) || c == '-' || c == '.';
}

/* Both go on behind a number that is the same but for its last digits. */
static bool whole_skip_number(const char **a, const char **b)
{
	char *ends[2];
	if (!whole_is_number(**a) || !whole_is_number(**b))
		return false;
	const double x = strtod(*a, &ends[0]), y = strtod(*b, &ends[1]);
	if (ends[0] == *a || ends[1] == *b || fabs(x - y) > 1e-10 * (1 + fabs(x)))
		return false;
	*a = ends[0];
	*b = ends[1];
	return true;
}

/* Where the two differ. */
static void whole_compare(const char *found, const char *expected, const char *when)
{
	const char *a = found, *b = expected, *section = found;
	uint32_t line = 1;
	while (*a || *b) {
		if (!strncmp(a, "\n--- ", 5))
			section = a + 1;
		line += *b == '\n';
		if (whole_skip_number(&a, &b))
			continue;
		cr_assert_eq(*a, *b, "%s, line %u, %.*s: '%.60s' instead of '%.60s'", when, line,
			(int)strcspn(section, "\n"), section, a, b);
		a++;
		b++;
	}
}

static void whole_write(const struct text *found)
{
	const char *path = getenv("TROUPE_WHOLE_WRITE");
	FILE *file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	(void)fwrite(found->at, 1, found->count, file);
	(void)fclose(file);
}

static char *whole_read(const char *path)
{
	struct troupe_error error;
	char *text;
	size_t bytes;
	cr_assert_eq(infile_read(path, WHOLE_BYTES, &text, &bytes, &error), TROUPE_OK, "%s", error.text);
	return text;
}

Test(whole, all_that_is_said_of_a_world)
{
	struct troupe_server_def def = lib_def(NULL, 1);
	struct text first = {0}, again = {0};
	def.world_path = WHOLE_FOLDER "/world.sdf";
	def.resource_paths = whole_folders;
	struct troupe_server *server = lib_create(&def);
	char *expected = whole_read(WHOLE_FOLDER "/expected");
	lib_step(server, 1);
	whole_listen(server, &first);
	whole_ask(server, &first);
	whole_write(&first);
	whole_compare(first.at, expected, "at first");
	lib_text(server, 0, "/world/w/remove", "name: 'table' type: MODEL");
	lib_step(server, 3);
	lib_text(server, 0, "/world/w/control", "reset {all: true}");
	lib_step(server, 1);
	whole_listen(server, &again);
	whole_ask(server, &again);
	whole_compare(again.at, expected, "after a reset");
	text_fini(&first);
	text_fini(&again);
	free(expected);
}

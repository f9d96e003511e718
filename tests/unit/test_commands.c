/* Files of commands: each form is read, what is wrong is named with the line where the statement begins, lengths are
 * limited, and commands are given in the order of their steps. The examples of the manual page are among them. */
#include "cli/commands.h"

#include "base/infile.h"
#include "base/text.h"
#include "topic/message.h"

#include <troupe/server.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(commands, .timeout = 60);

static troupe_status parse(const char *text, struct command_lines *commands, struct troupe_error *error)
{
	*commands = (struct command_lines){0};
	return commands_parse("c", strdup(text), strlen(text), commands, error);
}

static const struct {
	const char *file;
	uint32_t count;
	struct {
		uint64_t step;
		uint32_t line;
		const char *topic, *text;
	} all[3];
} good[] = {
	{"", 0, {{0}}},
	{"\n \t\n# x 'y\n\r\n", 0, {{0}}},
	{"3 /t a: 1", 1, {{3, 1, "/t", "a: 1"}}},
	{"3 /t a: 1 \t\r\n", 1, {{3, 1, "/t", "a: 1"}}},
	{" 3\t/t\t 'a: 1'  \r\n", 1, {{3, 1, "/t", "a: 1"}}},
	/* the empty message, in each form */
	{"3 /t ''\n", 1, {{3, 1, "/t", ""}}},
	{"3 /t \"\"\n", 1, {{3, 1, "/t", ""}}},
	{"3 /t \t\"\" \r\n4 /u a", 2, {{3, 1, "/t", ""}, {4, 2, "/u", "a"}}},
	{"3 /t\n4 /u \t\r\n5 /v", 3, {{3, 1, "/t", ""}, {4, 2, "/u", ""}, {5, 3, "/v", ""}}},
	{"3 /t # nothing\n", 1, {{3, 1, "/t", "# nothing"}}},
	{"9 /t a\n\n#\n3 /u b\n", 2, {{9, 1, "/t", "a"}, {3, 4, "/u", "b"}}},
	/* a quote holds line ends of each kind; the next statement begins on a line of its own */
	{"1 /t 'a\n# b\n\"'\n2 /u c\n", 2, {{1, 1, "/t", "a\n# b\n\""}, {2, 4, "/u", "c"}}},
	{"1 /t a: \"x\n2 /t 'y'\n\" b: 1 \n2 /u c\n", 2,
		{{1, 1, "/t", "a: \"x\n2 /t 'y'\n\" b: 1"}, {2, 4, "/u", "c"}}},
	{"\n1 /t a: 'x\n\"\n' \n2 /u c\n", 2, {{1, 2, "/t", "a: 'x\n\"\n'"}, {2, 5, "/u", "c"}}},
	{"1 /t a: \"\\\"\n\\\\\" b\n2 /u c", 2, {{1, 1, "/t", "a: \"\\\"\n\\\\\" b"}, {2, 3, "/u", "c"}}},
	/* a backslash escapes within a message, not in the quotes around it */
	{"1 /t 'a: 1\\'\n2 /u 'b'\n", 2, {{1, 1, "/t", "a: 1\\"}, {2, 2, "/u", "b"}}},
	/* ... but it does not in a comment, in a step or in a topic */
	{"1 /t a: 1 # don't\n2 /u b # \"\n3 /v c", 3,
		{{1, 1, "/t", "a: 1 # don't"}, {2, 2, "/u", "b # \""}, {3, 3, "/v", "c"}}},
	{"1 /t's a\n2 /u b", 2, {{1, 1, "/t's", "a"}, {2, 2, "/u", "b"}}},
	{"1 /t a: \"#\" b: '#'\n2 /u b", 2, {{1, 1, "/t", "a: \"#\" b: '#'"}, {2, 2, "/u", "b"}}},
};

Test(commands, every_form_is_read)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct command_lines commands;
		struct troupe_error error = {0};
		cr_assert_eq(parse(good[i].file, &commands, &error), TROUPE_OK, "%s: %s", good[i].file, error.text);
		cr_assert_eq(commands.all.count, good[i].count, "%s: %u commands", good[i].file, commands.all.count);
		for (uint32_t k = 0; k < good[i].count; k++) {
			const struct command_line *got = &commands.all.at[k];
			cr_assert_eq(got->step, good[i].all[k].step, "%s", good[i].file);
			cr_assert_eq(got->line, good[i].all[k].line, "%s: line %u", good[i].file, got->line);
			cr_assert_str_eq(got->topic, good[i].all[k].topic, "%s", good[i].file);
			cr_assert_str_eq(got->text, good[i].all[k].text, "%s: %s", good[i].file, got->text);
		}
		commands_fini(&commands);
	}
}

static const struct {
	const char *file, *error;
} bad[] = {
	{"1 /t a\nx /t b", "c:2: step 'x': expected a whole number of 0 or more"},
	{"Isn't this\nit", "c:1: step 'Isn't': expected a whole number of 0 or more"},
	{"It is 'not\nthis", "c:1: step 'It': expected a whole number of 0 or more"},
	{"1", "c:1: no topic: expected STEP TOPIC TEXT"},
	{"1\n/t", "c:1: no topic: expected STEP TOPIC TEXT"},
	{"1 /t\n'a'", "c:2: step ''a'': expected a whole number of 0 or more"},
	{"1 /t\na: 1", "c:2: step 'a:': expected a whole number of 0 or more"},
	{"1 /t \"\n2 /u a", "c:1: a quote in the text is not closed: expected its end"},
	{"1 /t 'a\n\n2 /t b\n", "c:1: 'a: expected the text in a pair of single quotes"},
	{"\n1 /t 'a\n' b\n2 /t b\n", "c:2: 'a\\n' b: expected the text in a pair of single quotes"},
	{"1 /t '", "c:1: ': expected the text in a pair of single quotes"},
	{"1 /t 'a'b'", "c:1: 'a'b': expected the text in a pair of single quotes"},
	{"\n1 /t a: \"\n2 /t b\n", "c:2: a quote in the text is not closed: expected its end"},
	{"1 /t a: 'b\\'\n2 /t b\n", "c:1: a quote in the text is not closed: expected its end"},
	{"1 /t a: \"\\", "c:1: a quote in the text is not closed: expected its end"},
	{"1 /t 'a\n\n\nb'\nx /t b", "c:5: step 'x': expected a whole number of 0 or more"},
};

Test(commands, what_is_wrong_is_named_with_the_line_where_it_begins)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct command_lines commands;
		struct troupe_error error = {0};
		cr_assert_eq(parse(bad[i].file, &commands, &error), TROUPE_ECOMMAND, "%s: accepted", bad[i].file);
		cr_assert_str_eq(error.text, bad[i].error, "%s: %s", bad[i].file, error.text);
		commands_fini(&commands);
	}
}

/* Parses a statement of so many bytes, which has two lines, and a short one. */
static troupe_status parse_long(size_t bytes, struct command_lines *commands, struct troupe_error *error)
{
	struct text text = {0};
	text_add(&text, "1 /t a: '\n");
	size_t begin = text.count;
	text_add(&text, "%*s'\n2 /u b", (int)(bytes - begin - 1), "");
	*commands = (struct command_lines){0};
	return commands_parse("c", text.at, text.count, commands, error);
}

Test(commands, length_is_limited)
{
	struct command_lines commands;
	struct troupe_error error;
	cr_assert_eq(parse_long(COMMANDS_STATEMENT_BYTES_MAX, &commands, &error), TROUPE_OK);
	cr_assert_eq(commands.all.count, 2);
	cr_assert_eq(commands.all.at[1].line, 3);
	commands_fini(&commands);
	cr_assert_eq(parse_long(COMMANDS_STATEMENT_BYTES_MAX + 1, &commands, &error), TROUPE_ELIMIT);
	cr_assert_str_eq(error.text, "c:1: a command of 16777217 bytes: expected at most 16777216");
	commands_fini(&commands);
}

static const struct {
	const char *topic_end;
	const char *type;
} taken[] = {
	{"/cmd_vel", "Twist"},
	{"/control", "WorldControl"},
	{"/state", "WorldControlState"},
	{"/create", "EntityFactory"},
	{"/create_multiple", "EntityFactory_V"},
	{"/set_pose", "Pose"},
	{"/set_pose_vector", "Pose_V"},
	{"/remove", "Entity"},
	{"/set_physics", "Physics"},
	{"/set_performer", "troupe.msgs.SetPerformer"},
	{"/reset_model", "Entity"},
	{"/set_velocity", "troupe.msgs.SetVelocity"},
	{"/set_joint", "troupe.msgs.SetJoint"},
	{"/enable_collision", "Entity"},
	{"/disable_collision", "Entity"},
	{"/light_config", "troupe.msgs.SetLight"},
	{"/wrench", "EntityWrench"},
	{"/wheel_slip", "WheelSlipParametersCmd"},
	{"/persistent", "EntityWrench"},
	{"/clear", "Entity"},
	{"/set_spherical_coordinates", "SphericalCoordinates"},
	{"/resume", "troupe.msgs.Resume"},
	{"/actuators", "Actuators"},
};

/* Parses the commands of a block of the manual page, and each as a message of its topic. Bit i: the block has the topic
 * taken[i]. */
static unsigned check_examples(const char *block, size_t count)
{
	struct command_lines commands = {0};
	struct troupe_error error = {0};
	unsigned seen = 0;
	cr_assert_eq(
		commands_parse("manual", strndup(block, count), count, &commands, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t i = 0; i < commands.all.count; i++) {
		const char *topic = commands.all.at[i].topic, *end = strrchr(topic, '/');
		ProtobufCMessage *message = NULL;
		size_t k = 0;
		while (k < ARRAY_LEN(taken) && strcmp(taken[k].topic_end, end))
			k++;
		cr_assert_lt(k, ARRAY_LEN(taken), "%s", topic);
		cr_assert_eq(message_of_text(type_find(taken[k].type), commands.all.at[i].text, &message_limits_usual,
				     &message, &error),
			TROUPE_OK, "%s: %s", topic, error.text);
		message_free(message);
		seen |= 1u << k;
	}
	commands_fini(&commands);
	return seen;
}

static const struct {
	const char *line;
	bool has_step;
	uint64_t step;
	const char *topic, *text, *error; /* topic NULL: no command; error NULL: no error */
} lines[] = {
	{"7 /t a: 1", true, 7, "/t", "a: 1", NULL},
	{" \t/t a: 1 # c\r", false, 0, "/t", "a: 1 # c", NULL},
	{"/t", false, 0, "/t", "", NULL},
	{"/t 'a: \"x\"'", false, 0, "/t", "a: \"x\"", NULL},
	{"", true, 0, NULL, NULL, NULL},
	{"  # 7 /t", true, 0, NULL, NULL, NULL},
	{"7", true, 0, NULL, NULL, "in:3: no topic: expected"},
	{"x /t", true, 0, NULL, NULL, "in:3: step 'x': expected"},
	{"7 t", true, 0, NULL, NULL, "in:3: topic 't': expected"},
	/* a quote does not go on on the next line */
	{"7 /t a: \"x", true, 0, NULL, NULL, "in:3: a quote in the text is not closed"},
	{"/t a: 'x", false, 0, NULL, NULL, "in:3: a quote in the text is not closed"},
	{"/t 'a: 1", false, 0, NULL, NULL, "in:3: 'a: 1: expected the text in a pair of single quotes"},
};

Test(commands, a_line_stands_alone)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct troupe_error error = {0};
		struct command_line line;
		bool has_step;
		char *bytes = strdup(lines[i].line);
		struct command_form form = {0};
		troupe_status status =
			commands_parse_line("in", 3, &form, bytes, strlen(bytes), &line, &has_step, &error);
		cr_assert_eq(status != TROUPE_OK, lines[i].error != NULL, "%s: %s", lines[i].line, error.text);
		cr_assert_eq(has_step, lines[i].has_step, "%s", lines[i].line);
		if (status)
			cr_assert(!strncmp(error.text, lines[i].error, strlen(lines[i].error)), "%s: %s", lines[i].line,
				error.text);
		else if (!lines[i].topic)
			cr_assert_null(line.topic, "%s", lines[i].line);
		else
			cr_assert(line.step == lines[i].step && line.line == 3 && !strcmp(line.topic, lines[i].topic) &&
					  !strcmp(line.text, lines[i].text),
				"%s: %s %s", lines[i].line, line.topic, line.text);
		free(bytes);
	}
}

static const struct {
	const char *file;
	bool timed;
	double time_s; /* of the last command */
	const char *error;
} heads[] = {
	{"time: simulated\n0.25 /t a\n1e1 /t b\n", true, 10, NULL},
	{"# head\n\n time:  simulated \r\n0 /t a\n", true, 0, NULL},
	{"time: steps\n25 /t a\n", false, 0, NULL},
	{"time: simulated\n", true, 0, NULL},
	{"time:\n", false, 0, "c:1: time: '': expected 'time: simulated' or 'time: steps'"},
	{"time: real\n", false, 0, "c:1: time: 'real': expected 'time: simulated' or 'time: steps'"},
	{"time: simulated now\n", false, 0, "c:1: time: 'simulated now': expected 'time: simulated'"},
	{"1 /t a\ntime: simulated\n", false, 0, "c:2: 'time: simulated' after a command: expected it before the first"},
	{"time: steps\ntime: simulated\n", false, 0, "c:2: 'time: simulated' after a command"},
	{"time: simulated\n-1 /t a\n", false, 0, "c:2: time '-1': expected a number of seconds, 0 or more"},
	{"time: simulated\ninf /t a\n", false, 0, "c:2: time 'inf': expected a number of seconds"},
	{"time: simulated\nnan /t a\n", false, 0, "c:2: time 'nan': expected a number of seconds"},
	{"time: simulated\nx /t a\n", false, 0, "c:2: time 'x': expected a number of seconds"},
	{"time: simulated\n1.5\n", false, 0, "c:2: no topic: expected SECONDS TOPIC TEXT"},
	{"1.5 /t a\n", false, 0,
		"c:1: step '1.5': expected a whole number of 0 or more; for seconds, a first line 'time: simulated'"},
	{"timer /t a\n", false, 0, "c:1: step 'timer'"},
};

Test(commands, the_first_line_says_to_what_they_are_bound)
{
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		struct command_lines commands;
		struct troupe_error error = {0};
		troupe_status status = parse(heads[i].file, &commands, &error);
		cr_assert_eq(status != TROUPE_OK, heads[i].error != NULL, "%s: %s", heads[i].file, error.text);
		if (status)
			cr_assert(!strncmp(error.text, heads[i].error, strlen(heads[i].error)), "%s: %s", heads[i].file,
				error.text);
		else
			cr_assert_eq(commands.form.timed, heads[i].timed, "%s", heads[i].file);
		if (!status && commands.all.count) {
			const struct command_line *last = &commands.all.at[commands.all.count - 1];
			cr_assert(
				last->timed == heads[i].timed && last->time_s == heads[i].time_s, "%s", heads[i].file);
		}
		commands_fini(&commands);
	}
}

/* Lines of standard input: the form of one line holds for the next ones. */
Test(commands, a_first_line_holds_for_lines_that_stand_alone)
{
	static const char *const given[] = {"# x", "time: simulated", "0.5 /t a", "/t b"};
	struct command_form form = {0};
	struct command_line line;
	struct troupe_error error = {0};
	bool has_step;
	for (uint32_t i = 0; i < ARRAY_LEN(given); i++) {
		char *bytes = strdup(given[i]);
		cr_assert_eq(commands_parse_line("in", i + 1, &form, bytes, strlen(bytes), &line, &has_step, &error),
			TROUPE_OK, "%s: %s", given[i], error.text);
		cr_assert_eq(line.topic != NULL, i >= 2, "%s", given[i]);
		cr_assert_eq(line.timed, i == 2, "%s", given[i]);
		cr_assert(i != 2 || line.time_s == 0.5, "%g", line.time_s);
		free(bytes);
	}
}

/* The examples of the manual page are accepted, and there is one of each form. */
Test(commands, examples_of_the_manual_are_read)
{
	struct troupe_error error = {0};
	char *page;
	size_t bytes;
	cr_assert_eq(infile_read(SOURCE_DIR "/src/doc/man/troupe-commands.5", 1 << 20, &page, &bytes, &error),
		TROUPE_OK, "%s", error.text);
	char *at = page, *end = strstr(page, "\n.SH OTHER SERVICES\n");
	cr_assert_not_null(end);
	unsigned seen = 0;
	while ((at = strstr(at, "\n.nf\n")) && at < end) {
		char *stop = strstr(at += 5, ".fi\n");
		cr_assert_not_null(stop);
		seen |= check_examples(at, (size_t)(stop - at));
	}
	cr_assert_eq(seen, (1u << ARRAY_LEN(taken)) - 1, "seen %x", seen);
	free(page);
}

/* A file need not be sorted: a model may be commanded in a line before the one that creates it, if the step is
 * later. */
Test(commands, are_given_in_the_order_of_their_steps)
{
	static const char file[] =
		"20 /model/late/cmd_vel linear: {x: 1}\n"
		"10 /world/w/create name: \"late\" sdf: \"<sdf version='1.9'><model name='m'><link name='l'/>"
		"<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model></sdf>\"\n";
	struct command_lines commands;
	struct troupe_error error = {0};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	def.world_path = "w.sdf";
	def.world_text = "<sdf version='1.9'><world name='w'/></sdf>";
	cr_assert_eq(parse(file, &commands, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(commands_queue(&commands, server, &error), TROUPE_OK, "%s", error.text);
	troupe_server_destroy(server);
	commands_fini(&commands);
}

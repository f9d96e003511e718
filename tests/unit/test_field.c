/* Messages as plug-ins see them: a place in each type of number, list, text, part and choice, also the second of two;
 * what a message does not have is 0, "" or nothing, and a number that a type cannot hold is cut. */
#include "sdf/sdf.h"
#include "system/setup.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(field, .timeout = 60);

struct desk { /* a system that is being configured */
	struct arena arena, messages;
	struct share share;
	struct setup setup;
	struct sdf_element element;
	struct sdf_plugin plugin;
	struct system system;
};

static struct desk *desk_open(void)
{
	struct desk *d = calloc(1, sizeof *d);
	d->setup = (struct setup){.arena = &d->arena, .share = &d->share};
	d->element = (struct sdf_element){.file = "w.sdf", .line = 7};
	d->plugin.element = &d->element;
	d->system = (struct system){
		.self = {.host = &system_host, .model = TROUPE_NOTHING}, .plugin = &d->plugin, .setup = &d->setup};
	field_open(&d->messages);
	return d;
}

static void desk_close(struct desk *d)
{
	field_open(NULL);
	arena_fini(&d->setup.scratch);
	arena_fini(&d->arena);
	arena_fini(&d->messages);
	share_fini(&d->share);
	free(d);
}

static const struct troupe_field *desk_field(struct desk *d, const char *type, const char *path)
{
	const struct troupe_field *field = setup_field(&d->system.self, type, path);
	cr_assert(field, "%s of %s: %s", path, type, d->setup.why.text);
	return field;
}

static struct troupe_message *desk_message(const char *type)
{
	return (struct troupe_message *)(void *)field_message(type_find(type), 1.25);
}

/* What configure() is told is wrong; it is taken back. */
static void desk_refused(struct desk *d, const char *words)
{
	cr_assert_eq(d->setup.status, TROUPE_EWORLD, "expected: %s", words);
	cr_assert(strstr(d->setup.why.text, words), "%s: expected %s", d->setup.why.text, words);
	cr_assert(!strncmp(d->setup.why.text, "w.sdf:7: ", strlen("w.sdf:7: ")), "%s", d->setup.why.text);
	d->setup.status = TROUPE_OK;
}

Test(field, numbers_of_each_type)
{
	const struct {
		const char *type;
		double low, high; /* that it can hold */
	} cases[] = {{"gz.msgs.Int32_V", INT32_MIN, INT32_MAX}, {"gz.msgs.UInt32_V", 0, UINT32_MAX},
		{"gz.msgs.Int64_V", -0x1p62, 0x1p62}, {"gz.msgs.UInt64_V", 0, 0x1p63},
		{"gz.msgs.Float_V", -HUGE_VAL, HUGE_VAL}, {"gz.msgs.Double_V", -HUGE_VAL, HUGE_VAL}};
	struct desk *d = desk_open();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct troupe_message *message = desk_message(cases[i].type);
		const struct troupe_field *field = desk_field(d, cases[i].type, "data");
		cr_assert_eq(field_count(message, field), 0);
		const double given[] = {7, -1e30, 1e30, 5, 8};
		for (size_t k = 0; k < ARRAY_LEN(given); k++)
			field_put(message, field, given[k]);
		cr_assert_eq(field_count(message, field), ARRAY_LEN(given));
		for (uint32_t k = 0; k < ARRAY_LEN(given); k++) {
			double cut = fmin(fmax(given[k], cases[i].low), cases[i].high);
			double wanted = strstr(cases[i].type, "Float") ? (double)(float)cut : cut;
			cr_assert_eq(field_get(message, field, k), wanted, "%s[%u]: %g", cases[i].type, k,
				field_get(message, field, k));
		}
		cr_assert_eq(field_get(message, field, ARRAY_LEN(given)), 0, "behind the last");
		if (isfinite(cases[i].low)) {
			field_put(message, field, NAN);
			cr_assert_eq(field_get(message, field, ARRAY_LEN(given)), 0, "%s", cases[i].type);
		}
		field_put_text(message, field, "7");
		cr_assert(!field_put_part(message, field), "a number has no parts");
		cr_assert_str_eq(field_get_text(message, field, 0), "");
		cr_assert(!field_get_part(message, field, 0));
		cr_assert_eq(field_count(message, field), ARRAY_LEN(given) + isfinite(cases[i].low));
	}
	desk_close(d);
}

Test(field, what_is_not_given)
{
	struct desk *d = desk_open();
	struct troupe_message *pose = desk_message("gz.msgs.Pose"), *other = desk_message("gz.msgs.Vector3d");
	const struct troupe_field *y = desk_field(d, "gz.msgs.Pose", "position.y"),
				  *name = desk_field(d, "gz.msgs.Pose", "name"),
				  *key = desk_field(d, "gz.msgs.Pose", "header.data");
	const struct troupe_field *part = desk_field(d, "gz.msgs.Pose", "position");
	cr_assert(field_get(pose, y, 0) == 0 && field_count(pose, y) == 0, "no position");
	cr_assert(!field_get_part(pose, part, 0) && !*field_get_text(pose, name, 0));
	cr_assert_eq(field_count(pose, key), 0);
	cr_assert(field_get(NULL, y, 0) == 0 && field_get(other, y, 0) == 0, "of no message, or another one");
	field_put(other, y, 3);
	field_put(NULL, y, 3);
	field_put(pose, name, 3);
	cr_assert(!field_put_part(other, part) && !*field_get_text(pose, name, 0));
	field_put(pose, y, 3);
	cr_assert(field_get(pose, y, 0) == 3 && field_count(pose, y) == 1 && field_get(pose, y, 1) == 0);
	struct troupe_message *place = field_put_part(pose, part);
	cr_assert(place && place == field_get_part(pose, part, 0), "the part that is there");
	cr_assert_eq(field_get(place, desk_field(d, "gz.msgs.Vector3d", "y"), 0), 3);
	field_open(NULL);
	field_put(pose, y, 4);
	field_put_text(pose, name, "n");
	cr_assert(field_get(pose, y, 0) == 3 && !*field_get_text(pose, name, 0), "no message may be made now");
	field_open(&d->messages);
	field_put_text(pose, name, "n");
	cr_assert_str_eq(field_get_text(pose, name, 0), "n");
	desk_close(d);
}

/* Lists that grow by turns: the room of one ends where that of another begins. */
Test(field, two_lists)
{
	struct desk *d = desk_open();
	struct troupe_message *messages[] = {desk_message("gz.msgs.Double_V"), desk_message("gz.msgs.Double_V")};
	const struct troupe_field *field = desk_field(d, "gz.msgs.Double_V", "data");
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t m = 0; m < 2; m++)
			field_put(messages[m], field, i + 1000 * m);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t m = 0; m < 2; m++)
			cr_assert_eq(field_get(messages[m], field, i), i + 1000 * m, "%u of list %u", i, m);
	desk_close(d);
}

/* Of a choice only what was chosen last is there. */
Test(field, choices)
{
	struct desk *d = desk_open();
	struct troupe_message *frame = desk_message("troupe.msgs.LockstepToClient"),
			      *light = desk_message("troupe.msgs.SetLight");
	const struct troupe_field *world = desk_field(d, "troupe.msgs.LockstepToClient", "welcome.world"),
				  *text = desk_field(d, "troupe.msgs.LockstepToClient", "ended.text"),
				  *failed = desk_field(d, "troupe.msgs.LockstepToClient", "ended.failed"),
				  *ended = desk_field(d, "troupe.msgs.LockstepToClient", "ended");
	const struct troupe_field *range = desk_field(d, "troupe.msgs.SetLight", "range"),
				  *off = desk_field(d, "troupe.msgs.SetLight", "is_light_off");
	field_put_text(frame, world, "w");
	cr_assert_str_eq(field_get_text(frame, world, 0), "w");
	cr_assert(field_count(frame, text) == 0 && !field_get_part(frame, ended, 0));
	field_put(frame, failed, 2);
	cr_assert(field_get(frame, failed, 0) == 1 && !*field_get_text(frame, world, 0), "the first one has gone");
	field_put_text(frame, text, "t");
	cr_assert(field_get(frame, failed, 0) == 1 && !strcmp(field_get_text(frame, text, 0), "t"), "both of one part");
	cr_assert(field_get(light, range, 0) == 0 && field_get(light, off, 0) == 0);
	field_put(light, off, 1);
	cr_assert(field_get(light, range, 0) == 0 && field_get(light, off, 0) == 1);
	field_put(light, range, 2.5);
	cr_assert(field_get(light, range, 0) == 2.5 && field_get(light, off, 0) == 1);
	desk_close(d);
}

Test(field, messages_that_match)
{
	struct desk *d = desk_open();
	struct troupe_message *a = desk_message("gz.msgs.Pose"), *b = desk_message("gz.msgs.Pose");
	const struct troupe_field *x = desk_field(d, "gz.msgs.Pose", "position.x"),
				  *place = desk_field(d, "gz.msgs.Pose", "position"),
				  *name = desk_field(d, "gz.msgs.Pose", "name"),
				  *keys = desk_field(d, "gz.msgs.Pose", "header.data");
	cr_assert(!field_matches(NULL, b, NULL, 0) && !field_matches(a, NULL, NULL, 0));
	cr_assert(!field_matches(a, desk_message("gz.msgs.Vector3d"), NULL, 0), "another type");
	cr_assert(field_matches(a, b, NULL, 0) && field_matches(a, b, x, 0) && field_matches(a, b, place, 0));
	field_put(a, x, 0);
	cr_assert(field_matches(a, b, x, 0), "a part that is not given has its defaults");
	field_put(a, x, 1);
	cr_assert(!field_matches(a, b, x, 0) && !field_matches(b, a, x, 0) && !field_matches(a, b, place, 0));
	cr_assert(!field_matches(a, b, NULL, 0) && field_matches(a, b, name, 0));
	field_put(b, x, 1.5);
	cr_assert(field_matches(a, b, NULL, 0.5) && !field_matches(a, b, NULL, 0.49) && !field_matches(a, b, x, 0.49));
	field_put_text(a, name, "n");
	cr_assert(!field_matches(a, b, name, 9) && field_matches(a, b, x, 1));
	field_put_text(b, name, "n");
	cr_assert(field_matches(a, b, name, 0));
	/* each value of a list that is wanted; others may be there, too */
	const struct troupe_field *key = desk_field(d, "gz.msgs.Header.Map", "key");
	field_put_text(field_put_part(a, keys), key, "one");
	field_put_text(field_put_part(a, keys), key, "two");
	cr_assert(field_matches(a, b, keys, 0));
	field_put_text(field_put_part(b, keys), key, "two");
	cr_assert(field_matches(a, b, keys, 0) && !field_matches(b, a, keys, 0));
	cr_assert(!field_matches(a, b, NULL, 9), "a header that is wanted counts");
	desk_close(d);
}

Test(field, bytes_that_match)
{
	struct desk *d = desk_open();
	const struct troupe_field *data = desk_field(d, "gz.msgs.Bytes", "data");
	const char *const texts[] = {"", "data: 'ab'", "data: 'ac'", "data: 'a'"};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
			const struct troupe_message *a =
				setup_read_message(&d->system.self, NULL, "gz.msgs.Bytes", NULL, texts[i]);
			const struct troupe_message *b =
				setup_read_message(&d->system.self, NULL, "gz.msgs.Bytes", NULL, texts[k]);
			cr_assert_eq(field_matches(a, b, data, 0), i == k, "%s, %s", texts[i], texts[k]);
		}
	struct troupe_message *message = desk_message("gz.msgs.Bytes");
	field_put(message, data, 65);
	field_put_text(message, data, "A");
	cr_assert(field_get(message, data, 0) == 0 && !*field_get_text(message, data, 0),
		"bytes are no number and no text");
	desk_close(d);
}

Test(field, texts_of_messages)
{
	struct desk *d = desk_open();
	struct troupe_system *self = &d->system.self;
	const struct troupe_field *y = desk_field(d, "gz.msgs.Pose", "position.y");
	cr_assert_eq(field_get(setup_read_message(self, NULL, "gz.msgs.Pose", "position.y", "2"), y, 0), 2);
	cr_assert_eq(field_get(setup_read_message(self, NULL, "gz.msgs.Pose", "position", "y: 3"), y, 0), 3);
	cr_assert_eq(field_get(setup_read_message(self, NULL, "gz.msgs.Pose", "position", "{y: 4}"), y, 0), 4);
	cr_assert_eq(field_get(setup_read_message(self, NULL, "gz.msgs.Pose", NULL, "position {y: 5}"), y, 0), 5);
	cr_assert_eq(d->setup.status, TROUPE_OK);
	cr_assert(!setup_read_message(self, NULL, "gz.msgs.Pose", "position.y", "two"));
	desk_refused(d, "gz.msgs.Pose 'position { y: two");
	cr_assert(!setup_read_message(self, NULL, "gz.msgs.Nothing", NULL, "x: 1"));
	desk_refused(d, "type 'gz.msgs.Nothing' is not known");
	cr_assert(!setup_read_message(self, NULL, "gz.msgs.Pose", "position.w", "1"));
	desk_refused(d, "type 'gz.msgs.Pose' has no field 'position.w'");
	const char *const paths[] = {"", "w", "name.x", "header.data.key", "position.", ".position"};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		cr_assert(!setup_field(self, "gz.msgs.Pose", paths[i]));
		desk_refused(d, "has no field");
	}
	cr_assert(!setup_field(self, "gz.msgs.Nothing", "x"));
	desk_refused(d, "type 'gz.msgs.Nothing' has no field 'x'");
	d->system.setup = NULL;
	cr_assert(
		!setup_field(self, "gz.msgs.Pose", "name") && !setup_read_message(self, NULL, "gz.msgs.Pose", NULL, ""),
		"after configure() there is nothing");
	desk_close(d);
}

Test(field, the_time_in_a_header)
{
	struct desk *d = desk_open();
	const struct {
		double given, s, ns;
	} cases[] = {{1.25, 1, 250000000}, {-1, 0, 0}, {NAN, 0, 0}, {1e12, 9e9, 0}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct troupe_message *message =
			(struct troupe_message *)(void *)field_message(type_find("gz.msgs.Pose"), cases[i].given);
		cr_assert_eq(field_get(message, desk_field(d, "gz.msgs.Pose", "header.stamp.sec"), 0), cases[i].s);
		cr_assert_eq(field_get(message, desk_field(d, "gz.msgs.Pose", "header.stamp.nsec"), 0), cases[i].ns);
	}
	cr_assert_eq(field_count(desk_message("gz.msgs.Double_V"), desk_field(d, "gz.msgs.Double_V", "data")), 0,
		"no header");
	desk_close(d);
}

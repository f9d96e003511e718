/* The host while a plug-in is configured: its parameters, words and topics.
 *
 * The first problem is kept and ends the plug-in: it is refused (an error with file:line), or left out with a warning,
 * as Gazebo does with plug-ins that do not fit their models. Later calls do no harm, so that a plug-in may look at the
 * results of several calls at once. */
#include "system/setup.h"

#include "base/text.h"
#include "geom/geom.h"
#include "topic/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RATE_MAX 1e9 /* Hz */

enum { TOPIC_BYTES_MAX = 255, TEXT_BYTES_MAX = TROUPE_ERROR_TEXT_BYTES };

static struct system *setup_own(struct troupe_system *self)
{
	return (struct system *)(void *)self;
}

struct setup *setup_of(const struct troupe_system *self)
{
	static _Thread_local struct arena arena;
	static _Thread_local struct share share;
	static _Thread_local struct setup late;
	if (system_of(self)->setup)
		return system_of(self)->setup;
	arena_fini(&arena);
	arena_fini(&late.scratch);
	share_fini(&share);
	vec_free(&late.warnings);
	arena = (struct arena){0};
	late = (struct setup){.arena = &arena, .share = &share};
	return &late;
}

const char *setup_copy(const struct setup *setup, const char *text)
{
	return share_text(setup->share, setup->arena, text);
}

/* --- problems ----------------------------------------------------------------------------------------------------- */

static const struct sdf_element *setup_place_of(const struct system *system, const struct troupe_element *at)
{
	return at ? setup_element_of(at) : system->plugin->element;
}

static bool setup_end_with(struct system *system, troupe_status status, const struct sdf_element *at, const char *text)
{
	struct setup *setup = setup_of(&system->self);
	if (!setup->status)
		setup->status = fail(&setup->why, status, "%s:%u: %s", at->file, at->line, text);
	return false;
}

/* Defines `text` as the formatted arguments after `format`. */
#define FORMATTED                                                                                                      \
	char text[TEXT_BYTES_MAX];                                                                                     \
	va_list args;                                                                                                  \
	va_start(args, format);                                                                                        \
	(void)vsnprintf(text, sizeof text, format, args);                                                              \
	va_end(args)

bool setup_refuse(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	return setup_end_with(setup_own(self), TROUPE_EWORLD, setup_place_of(setup_own(self), at), text);
}

bool setup_leave_out(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	return setup_end_with(setup_own(self), TROUPE_EINVAL, setup_place_of(setup_own(self), at), text);
}

bool setup_pass(struct troupe_system *self)
{
	setup_of(self)->passed = true;
	return false;
}

void setup_warn(struct troupe_system *self, const struct troupe_element *at, const char *format, ...)
{
	FORMATTED;
	const struct sdf_element *place = setup_place_of(setup_own(self), at);
	struct setup *setup = setup_of(self);
	vec_push(&setup->warnings, arena_printf(setup->arena, "%s:%u: %s", place->file, place->line, text));
}

/* A problem that sdf/ found. */
static void setup_keep(struct system *system, troupe_status status, const struct troupe_error *why)
{
	struct setup *setup = setup_of(&system->self);
	if (!status || setup->status)
		return;
	setup->status = status;
	setup->why = *why;
}

/* --- memory and parameters ---------------------------------------------------------------------------------------- */

void *setup_alloc(struct troupe_system *self, size_t bytes)
{
	return arena_alloc(setup_of(self)->arena, bytes);
}

/* The locale of the process does not matter: other programs read topics and texts of messages. */
const char *setup_print(struct troupe_system *self, const char *format, ...)
{
	struct text text = {0};
	va_list args;
	va_start(args, format);
	text_add_v(&text, format, args);
	va_end(args);
	const char *kept = setup_copy(setup_of(self), text.at);
	text_fini(&text);
	return kept;
}

const struct troupe_element *setup_child(
	const struct troupe_element *parent, const char *name, const struct troupe_element *after)
{
	if (name)
		return setup_as_element(sdf_child(setup_element_of(parent), name, setup_element_of(after)));
	return setup_as_element(after ? setup_element_of(after)->next : setup_element_of(parent)->child);
}

const char *setup_name_of(const struct troupe_element *element)
{
	return setup_element_of(element)->name;
}

const char *setup_text_of(const struct troupe_element *element)
{
	return setup_element_of(element)->text;
}

const char *setup_attribute(const struct troupe_element *element, const char *name)
{
	return sdf_attribute(setup_element_of(element), name);
}

double setup_number(struct troupe_system *self, const struct troupe_element *parent, const char *name, double otherwise)
{
	struct troupe_error why;
	setup_keep(setup_own(self),
		sdf_child_double(setup_element_of(parent), name, -HUGE_VAL, HUGE_VAL, &otherwise, &why), &why);
	return otherwise;
}

bool setup_boolean(struct troupe_system *self, const struct troupe_element *parent, const char *name, bool otherwise)
{
	struct troupe_error why;
	setup_keep(setup_own(self), sdf_child_bool(setup_element_of(parent), name, &otherwise, &why), &why);
	return otherwise;
}

const char *setup_text(const struct troupe_element *parent, const char *name, const char *otherwise)
{
	const char *text = sdf_child_text(setup_element_of(parent), name);
	return text && *text ? text : otherwise;
}

struct troupe_vec3 setup_vector(
	struct troupe_system *self, const struct troupe_element *parent, const char *name, struct troupe_vec3 otherwise)
{
	struct troupe_error why;
	struct vec3 v = otherwise;
	setup_keep(
		setup_own(self), sdf_child_vec3(setup_element_of(parent), name, -HUGE_VAL, HUGE_VAL, &v, &why), &why);
	return v;
}

struct troupe_pose setup_pose(struct troupe_system *self, const struct troupe_element *parent, const char *name)
{
	struct troupe_error why;
	struct pose pose = POSE_IDENTITY;
	const struct sdf_element *element = sdf_child(setup_element_of(parent), name, NULL);
	if (element) { /* sdf_child_pose() reads a child that is called <pose> */
		struct sdf_element child = *element, holder = {.file = element->file, .line = element->line};
		child.name = "pose";
		child.next = NULL;
		holder.name = holder.text = "";
		holder.child = &child;
		setup_keep(setup_own(self), sdf_child_pose(&holder, &pose, &why), &why);
	}
	return pose_flat(pose);
}

const char *setup_inside(struct troupe_system *self, const struct troupe_element *element)
{
	struct text out = {0};
	sdf_print_inside(setup_element_of(element), &out);
	const char *text = setup_copy(setup_of(self), out.at ? out.at : "");
	text_fini(&out);
	return text;
}

/* --- the table of parameters -------------------------------------------------------------------------------------- */

static troupe_status setup_check_one(
	const struct sdf_element *plugin, const struct troupe_parameter *p, struct troupe_error *error)
{
	double number;
	bool flag;
	struct vec3 v;
	switch (p->kind) {
	case TROUPE_NUMBER:
		return sdf_child_double(plugin, p->name, p->low, p->high, &number, error);
	case TROUPE_BOOL:
		return sdf_child_bool(plugin, p->name, &flag, error);
	case TROUPE_VECTOR:
		return sdf_child_vec3(plugin, p->name, p->low, p->high, &v, error);
	default:
		return TROUPE_OK;
	}
}

static const struct troupe_parameter *setup_find_parameter(const struct troupe_kind *kind, const char *name)
{
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static bool setup_asks_for_nothing(const struct sdf_element *element)
{
	return !element->child &&
	       (!*element->text || !strcmp(element->text, "false") || !element->text[strspn(element->text, "0.")]);
}

static troupe_status setup_unknown_parameter(
	const struct troupe_kind *kind, const struct sdf_element *element, struct troupe_error *error)
{
	struct text names = {0};
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		text_add(&names, "%s%s", names.count ? ", " : "", p->name);
	fail(error, TROUPE_EWORLD, "%s:%u: <%s> is no parameter of plugin '%s': expected %s%s", element->file,
		element->line, element->name, kind->names[0], names.count ? "one of " : "none",
		names.count ? names.at : "");
	text_fini(&names);
	return TROUPE_EWORLD;
}

troupe_status setup_check(struct system *system, const struct sdf_element *plugin, struct troupe_error *error)
{
	const struct troupe_kind *kind = system->self.kind;
	for (const struct sdf_element *e = plugin->child; e; e = e->next) {
		const struct troupe_parameter *p = setup_find_parameter(kind, e->name);
		if (!p && kind->flags & TROUPE_LENIENT)
			setup_warn(&system->self, setup_as_element(e),
				"<%s> is no parameter of plugin '%s': it has no effect", e->name, kind->names[0]);
		else if (!p)
			return setup_unknown_parameter(kind, e, error);
		else if (p->kind == TROUPE_UNUSED && !setup_asks_for_nothing(e))
			setup_warn(&system->self, setup_as_element(e), "<%s> of plugin '%s' has no effect%s%s", e->name,
				kind->names[0], p->what ? ": " : "", p->what ? p->what : "");
	}
	troupe_status status = TROUPE_OK;
	for (const struct troupe_parameter *p = kind->parameters; p && p->name && !status; p++)
		status = setup_check_one(plugin, p, error);
	return status;
}

/* --- words and topics --------------------------------------------------------------------------------------------- */

uint32_t setup_add_words(struct troupe_system *self, const char *name, enum troupe_word_kind kind, uint32_t count)
{
	struct system *system = setup_own(self);
	uint32_t first = system->words;
	if (!system->setup)
		return 0;
	if (count > SYSTEM_WORDS_MAX - first) {
		struct troupe_error why;
		setup_keep(system,
			fail(&why, TROUPE_ELIMIT,
				"%s:%u: plugin '%s' needs %" PRIu64 " words of state; the limit is %d",
				system->plugin->element->file, system->plugin->element->line, self->kind->names[0],
				(uint64_t)first + count, SYSTEM_WORDS_MAX),
			&why);
		return 0;
	}
	vec_push(&system->names, (struct system_words){setup_copy(system->setup, name), kind, count});
	system->words += count;
	return first;
}

/* The name, cleaned; NULL: it is too long, or empty. */
static const char *setup_topic_name(struct troupe_system *self, const struct troupe_element *at, const char *topic)
{
	struct setup *setup = setup_of(self);
	char *name = arena_printf(&setup->scratch, "/%s", topic ? topic : "");
	topic_name_clean(name);
	if (name[1] && strlen(name) <= TOPIC_BYTES_MAX)
		return setup_copy(setup, name);
	setup_refuse(self, at, "topic '%.40s' has %zu bytes: expected 2 to %d", name, strlen(name), TOPIC_BYTES_MAX);
	return NULL;
}

static message_type setup_type_of(struct troupe_system *self, const struct troupe_element *at, const char *type)
{
	message_type found = type ? type_find(type) : NULL;
	if (!found)
		setup_refuse(self, at, "type '%.100s' is not known: expected one of gz.msgs or troupe.msgs",
			type ? type : "");
	return found;
}

static bool setup_too_many(struct system *system, const char *does)
{
	char text[TEXT_BYTES_MAX];
	(void)snprintf(text, sizeof text, "the plugin %s more than %d topics", does, SYSTEM_TOPICS_MAX);
	return setup_end_with(system, TROUPE_ELIMIT, system->plugin->element, text);
}

bool setup_take(struct troupe_system *self, const struct troupe_element *at, const char *topic, const char *type,
	uint32_t input, uint32_t drives)
{
	struct system *system = setup_own(self);
	if (!system->setup)
		return false;
	const char *name = setup_topic_name(self, at, topic);
	message_type found = setup_type_of(self, at, type ? type : "gz.msgs.StringMsg");
	if (!name || !found)
		return false;
	if (system->topics.count == SYSTEM_TOPICS_MAX)
		return setup_too_many(system, "has");
	vec_push(&system->topics, (struct system_topic){name, found, input, drives, NULL, !type});
	return true;
}

bool setup_serve(struct troupe_system *self, const struct troupe_element *at, const char *name, const char *type,
	const char *reply, uint32_t input)
{
	struct system *system = setup_own(self);
	message_type found = setup_type_of(self, at, reply);
	if (!found || !setup_take(self, at, name, type, input, TROUPE_NOTHING))
		return false;
	system->topics.at[system->topics.count - 1].reply = found;
	return true;
}

/* Whether the plug-in has what the output needs. */
static bool setup_check_output(
	struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output)
{
	const struct troupe_kind *kind = self->kind;
	bool reckons = output->gives == TROUPE_GIVES_ODOMETRY || output->gives == TROUPE_GIVES_TF;
	if ((uint32_t)output->gives > TROUPE_GIVES_POSE)
		return setup_refuse(self, at, "output '%.100s' gives %d: expected one of enum troupe_gives",
			output->name, (int)output->gives);
	if (!(output->rate_hz >= 0 && output->rate_hz <= RATE_MAX))
		return setup_refuse(self, at, "output '%.100s' has a rate of %g Hz: expected 0 to %g", output->name,
			output->rate_hz, RATE_MAX);
	if (output->gives == TROUPE_GIVES_REPORT && !kind->report)
		return setup_refuse(self, at, "output '%.100s' needs report(), which '%.100s' has not", output->name,
			kind->names[0]);
	if (reckons && !kind->reckon)
		return setup_refuse(self, at, "output '%.100s' needs reckon(), which '%.100s' has not", output->name,
			kind->names[0]);
	return true;
}

bool setup_give(struct troupe_system *self, const struct troupe_element *at, const struct troupe_output *output,
	uint32_t *ret_output)
{
	struct system *system = setup_own(self);
	if (!system->setup)
		return false;
	const struct setup *setup = system->setup;
	const char *name = setup_topic_name(self, at, output->name);
	bool free_type = output->gives == TROUPE_GIVES_REPORT || output->gives == TROUPE_GIVES_PUBLISHED;
	message_type type = free_type ? setup_type_of(self, at, output->type) : NULL;
	if (!name || (free_type && !type) || !setup_check_output(self, at, output))
		return false;
	if (system->outputs.count == SYSTEM_TOPICS_MAX)
		return setup_too_many(system, "publishes");
	struct system_output copy = {*output, type};
	copy.def.name = name;
	copy.def.type = type ? type->name : NULL;
	copy.def.frame = output->frame ? setup_copy(setup, output->frame) : NULL;
	copy.def.child_frame = output->child_frame ? setup_copy(setup, output->child_frame) : NULL;
	copy.def.only = output->only ? setup_copy(setup, output->only) : NULL;
	if (ret_output)
		*ret_output = system->outputs.count;
	vec_push(&system->outputs, copy);
	return true;
}

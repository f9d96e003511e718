/* Messages and values: a problem becomes a message, and reading goes on with a default value.
 *
 * The number of messages that are kept is limited; the counts of errors and warnings are not. */
#include "sdf/load.h"

#include "sdf/xml.h"

#include <string.h>

/* Messages quote hostile input. So they are cut, and cleaned of control characters, as every error is. */
static void load_value_add_message(struct load *load, enum sdf_severity severity, troupe_status status,
	const struct sdf_element *element, const char *format, va_list args)
{
	struct sdf *sdf = load->sdf;
	struct troupe_error what, line;
	fail_v(&what, status, format, args);
	fail(&line, status, "%.200s:%u: %s", element ? element->file : sdf->path, element ? element->line : 1,
		what.text);
	*(severity == SDF_ERROR ? &sdf->error_count : &sdf->warning_count) += 1;
	if (severity == SDF_ERROR && !load->status) {
		load->status = status;
		load->first = line;
	}
	if (sdf->messages.count < SDF_MESSAGES_MAX)
		vec_push(&sdf->messages, (struct sdf_message){severity, arena_strdup(&sdf->arena, line.text)});
}

void load_error(struct load *load, const struct sdf_element *element, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	load_value_add_message(load, SDF_ERROR, TROUPE_EWORLD, element, format, args);
	va_end(args);
}

void load_limit(struct load *load, const struct sdf_element *element, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	load_value_add_message(load, SDF_ERROR, TROUPE_ELIMIT, element, format, args);
	va_end(args);
}

void load_warn(struct load *load, const struct sdf_element *element, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	load_value_add_message(load, SDF_WARNING, TROUPE_OK, element, format, args);
	va_end(args);
}

bool load_is_new(struct load *load, const char *kind)
{
	uint32_t ignored;
	if (map_find(&load->warned, kind, &ignored))
		return false;
	return map_add(&load->warned, arena_strdup(&load->sdf->arena, kind), 0);
}

void load_warn_once(struct load *load, const char *kind, const struct sdf_element *element, const char *format, ...)
{
	if (!load_is_new(load, kind))
		return;
	va_list args;
	va_start(args, format);
	load_value_add_message(load, SDF_WARNING, TROUPE_OK, element, format, args);
	va_end(args);
}

void load_report_value(struct load *load, const struct troupe_error *error, enum sdf_severity severity)
{
	struct sdf *sdf = load->sdf;
	*(severity == SDF_ERROR ? &sdf->error_count : &sdf->warning_count) += 1;
	if (severity == SDF_ERROR && !load->status) {
		load->status = error->status;
		load->first = *error;
	}
	if (sdf->messages.count < SDF_MESSAGES_MAX)
		vec_push(&sdf->messages, (struct sdf_message){severity, arena_strdup(&sdf->arena, error->text)});
}

void load_double(
	struct load *load, const struct sdf_element *parent, const char *name, double lo, double hi, double *value)
{
	struct troupe_error error;
	if (sdf_child_double(parent, name, lo, hi, value, &error))
		load_report_value(load, &error, SDF_ERROR);
}

/* Gazebo reads every word but "true" and "1" as false. */
void load_bool(struct load *load, const struct sdf_element *parent, const char *name, bool *value)
{
	struct troupe_error error;
	if (sdf_child_bool(parent, name, value, &error)) {
		load_report_value(load, &error, SDF_WARNING);
		*value = false;
	}
}

void load_vec3(
	struct load *load, const struct sdf_element *parent, const char *name, double lo, double hi, struct vec3 *value)
{
	struct troupe_error error;
	if (sdf_child_vec3(parent, name, lo, hi, value, &error))
		load_report_value(load, &error, SDF_ERROR);
}

struct pose load_pose(struct load *load, const struct sdf_element *parent, const char **ret_relative_to)
{
	struct troupe_error error;
	struct pose pose = POSE_IDENTITY;
	const struct sdf_element *element = sdf_child(parent, "pose", NULL);
	if (sdf_child_pose(parent, &pose, &error))
		load_report_value(load, &error, SDF_ERROR);
	if (!ret_relative_to) {
		const char *ignored = sdf_attribute(element, "relative_to");
		if (ignored && *ignored)
			load_warn_once(load, "inertial/pose", element,
				"relative_to of the <pose> of <%s> is ignored: it is relative to the link",
				parent->name);
		return pose;
	}
	*ret_relative_to = element ? load_reference(load, element, "relative_to") : NULL;
	const char *frame = sdf_attribute(element, "frame");
	if (frame && *frame)
		load_warn_once(load, "pose/frame", element,
			"the attribute frame of <pose> never had a meaning and is ignored: expected relative_to (SDF "
			"1.7)");
	return pose;
}

static bool load_value_is_reserved(const char *name)
{
	size_t length = strlen(name);
	return !strcmp(name, "world") || (length >= 4 && !strncmp(name, "__", 2) && !strcmp(name + length - 2, "__"));
}

static void load_value_names_of_version(struct load *load, uint32_t version)
{
	load->sdf->names_version = MIN(load->sdf->names_version, version);
}

const char *load_name(struct load *load, const struct sdf_element *element)
{
	const char *name = sdf_attribute(element, "name");
	if (!name || !*name) {
		load_error(load, element, "<%s> has no name: expected a name attribute", element->name);
		return "";
	}
	/* a flattened file may call a model "world"; so the name is refused only since 1.7, where names have a
	 * meaning */
	if (load_value_is_reserved(name) && load->version >= 107)
		load_error(load, element, "the name \"%.80s\" of <%s> is reserved: expected another one", name,
			element->name);
	else if (strstr(name, "::") && load->version >= 108)
		load_error(load, element, "the name \"%.80s\" of <%s> contains \"::\": expected a name without it",
			name, element->name);
	if (load_value_is_reserved(name))
		load_value_names_of_version(load, 106);
	if (strstr(name, "::"))
		load_value_names_of_version(load, 107);
	return name;
}

const char *load_reference(struct load *load, const struct sdf_element *element, const char *attribute)
{
	const char *text = sdf_attribute(element, attribute);
	if (!text || !*text)
		return NULL;
	if (strcmp(text, "__root__"))
		return text;
	load_error(
		load, element, "%s of <%s> is __root__: expected a frame of the same scope", attribute, element->name);
	return NULL;
}

bool load_room(struct load *load, const struct sdf_element *element, uint32_t count)
{
	if (count < SDF_MODELS_MAX)
		return true;
	if (load->status != TROUPE_ELIMIT)
		load_limit(load, element, "too many <%s> elements: expected at most %d", element->name, SDF_MODELS_MAX);
	return false;
}

uint32_t load_declare(struct load *load, struct frames_frame frame)
{
	uint32_t taken, index;
	bool known = map_find(&load->frames.scopes.at[frame.scope].names, frame.name, &taken);
	frames_add(&load->frames, frame, &index);
	if (!known || !*frame.name)
		return index;
	load_value_names_of_version(load, 106);
	const struct frames_frame *other = &load->frames.frames.at[taken];
	/* before 1.7 a joint could have the name of a link; references then mean the first of the two */
	if (other->kind == frame.kind || load->version >= 107)
		load_error(load, frame.element,
			"<%s> \"%.80s\": the name is taken by the <%s> of line %u: expected different names",
			frame.element->name, frame.name, other->element->name, other->element->line);
	else
		load_warn(load, frame.element,
			"<%s> \"%.80s\" has the name of the <%s> of line %u, which references will mean",
			frame.element->name, frame.name, other->element->name, other->element->line);
	return index;
}

void load_defer(struct load *load, struct load_placing placing)
{
	if (placing.relative_to)
		vec_push(&load->placings, placing);
}

struct load_builder load_build(struct load *load, const struct sdf_element *element)
{
	struct load_builder builder = {.element = arena_new(&load->sdf->arena, struct sdf_element)};
	*builder.element = *element;
	builder.element->child = builder.element->next = NULL;
	return builder;
}

void load_build_add(struct load *load, struct load_builder *builder, const struct sdf_element *child)
{
	if (load->copies >= LOAD_COPIES_MAX) {
		if (load->status != TROUPE_ELIMIT)
			load_limit(
				load, child, "includes copy too many elements: expected at most %d", LOAD_COPIES_MAX);
		return;
	}
	load->copies++;
	struct sdf_element *copy = arena_new(&load->sdf->arena, struct sdf_element);
	*copy = *child;
	copy->next = NULL;
	*(builder->last ? &builder->last->next : &builder->element->child) = copy;
	builder->last = copy;
}

void load_build_end(struct load *load, struct load_builder *builder, const struct sdf_element *child,
	const struct sdf_element *rest)
{
	load_build_add(load, builder, child);
	if (builder->last)
		builder->last->next = rest;
}

void load_build_attribute(struct load *load, struct load_builder *builder, const char *name, const char *value)
{
	struct sdf_element *element = builder->element;
	struct sdf_attribute *all = arena_array(&load->sdf->arena, struct sdf_attribute, element->attribute_count + 1);
	uint32_t count = 0;
	for (uint32_t i = 0; i < element->attribute_count; i++)
		if (strcmp(element->attributes[i].name, name))
			all[count++] = element->attributes[i];
	all[count++] = (struct sdf_attribute){name, value};
	element->attributes = all;
	element->attribute_count = count;
}

struct sdf_element *load_build_pose(struct load *load, const struct sdf_element *owner, struct pose pose)
{
	static const struct sdf_attribute as_quaternion = {"rotation_format", "quat_xyzw"};
	double values[7] = {pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w};
	struct text text = {0};
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		if (i)
			text_add(&text, " ");
		text_add_double(&text, values[i]);
	}
	struct sdf_element *element = arena_new(&load->sdf->arena, struct sdf_element);
	*element = (struct sdf_element){.name = "pose",
		.text = arena_strdup(&load->sdf->arena, text.at),
		.attributes = &as_quaternion,
		.attribute_count = 1,
		.file = owner->file,
		.line = owner->line};
	text_fini(&text);
	return element;
}

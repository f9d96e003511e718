/* Tells when a performer enters or leaves a box about the model: a Pose on the topic, with the performer's name and its
 * pose relative to the model; its header says "state" 1 or 0 and the "count" of those inside. Both boxes have the axes
 * of the world; only the place of <pose> counts. As in Gazebo. */
#include "builtin/parts.h"

#include <string.h>

enum { INSIDE_MAX = 256, HEADER_MAX = 16 };

struct detector_words {
	uint64_t count;
	uint64_t inside[INSIDE_MAX]; /* ids of models */
};

struct detector_config {
	struct troupe_vec3 half, at; /* half edges of the box; its middle in the model's frame */
	const char *name;
	uint32_t output, extra_count;
	const char *key[HEADER_MAX], *value[HEADER_MAX];
	const struct troupe_field *data, *data_key, *data_value, *pose_name, *pose_id, *place[7];
};

static const struct troupe_parameter detector_parameters[] = {
	BUILTIN_TEXT("topic", "default: /model/NAME/performer_detector/status"),
	BUILTIN_PARTS("geometry", "<box><size>: edges of the box in m; needed"),
	{"pose", TROUPE_POSE, 0, 0, "of the box in the model; its rotation has no effect"},
	BUILTIN_PARTS("header_data", "<key> and <value>, which are added to the headers"),
	BUILTIN_END,
};

static bool detector_find_fields(struct troupe_system *self)
{
	static const char *const paths[] = {"position.x", "position.y", "position.z", "orientation.w", "orientation.x",
		"orientation.y", "orientation.z"};
	const struct troupe_host *host = self->host;
	struct detector_config *config = self->config;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!(config->place[i] = host->field(self, "gz.msgs.Pose", paths[i])))
			return false;
	config->data = host->field(self, "gz.msgs.Pose", "header.data");
	config->data_key = host->field(self, "gz.msgs.Header.Map", "key");
	config->data_value = host->field(self, "gz.msgs.Header.Map", "value");
	config->pose_name = host->field(self, "gz.msgs.Pose", "name");
	config->pose_id = host->field(self, "gz.msgs.Pose", "id");
	return config->data && config->data_key && config->data_value && config->pose_name && config->pose_id;
}

static bool detector_read_box(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct detector_config *config = self->config;
	const struct troupe_element *geometry = host->child(plugin, "geometry", NULL);
	const struct troupe_element *box = geometry ? host->child(geometry, "box", NULL) : NULL;
	if (!box)
		return host->leave_out(self, geometry ? geometry : plugin, "expected <geometry><box>");
	struct troupe_vec3 size = host->vector(self, box, "size", troupe_vec3_make(1, 1, 1));
	if (!(size.x > 0 && size.y > 0 && size.z > 0))
		return host->refuse(self, box, "<size> is %g %g %g: expected more than 0 m", size.x, size.y, size.z);
	config->half = troupe_vec3_scale(size, 0.5);
	struct troupe_pose pose = host->pose(self, plugin, "pose");
	config->at = troupe_vec3_make(pose.x, pose.y, pose.z);
	return true;
}

static bool detector_read_header(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct detector_config *config = self->config;
	const struct troupe_element *e = NULL;
	while ((e = host->child(plugin, "header_data", e))) {
		const char *key = host->text(e, "key", ""), *value = host->text(e, "value", "");
		if (!*key || !*value) {
			host->warn(self, e, "<header_data> without <key> or <value>: it has no effect");
			continue;
		}
		if (config->extra_count == HEADER_MAX)
			return host->refuse(self, e, "more than %d <header_data>", HEADER_MAX);
		config->key[config->extra_count] = key;
		config->value[config->extra_count++] = value;
	}
	return true;
}

static bool detector_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct detector_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_output output = {.type = "gz.msgs.Pose", .gives = TROUPE_GIVES_PUBLISHED};
	config->name = host->print(self, "%s", host->owner_name(self));
	host->add_words(self, "performers inside", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "inside", TROUPE_WORD_INTEGER, INSIDE_MAX);
	return detector_read_box(self, plugin) && detector_read_header(self, plugin) && detector_find_fields(self) &&
	       builtin_give(self, plugin, "topic",
		       host->print(self, "model/%s/performer_detector/status", config->name), &output, &config->output);
}

static void detector_add_data(
	const struct troupe_system *self, struct troupe_message *message, const char *key, const char *value)
{
	const struct detector_config *config = self->config;
	struct troupe_message *data = self->host->put_part(message, config->data);
	self->host->put_text(data, config->data_key, key);
	self->host->put_text(data, config->data_value, value);
}

static void detector_add_pose(const struct troupe_system *self, struct troupe_message *message, struct troupe_pose pose)
{
	const struct detector_config *config = self->config;
	const double numbers[] = {pose.x, pose.y, pose.z, pose.qw, pose.qx, pose.qy, pose.qz};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		self->host->put(message, config->place[i], numbers[i]);
}

/* Decimal digits. The C library's printing depends on the locale, at least in principle. */
static const char *detector_digits(uint64_t number, char room[24])
{
	char *at = room + 23;
	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return at;
}

static void detector_tell(const struct troupe_system *self, const struct troupe_step *step,
	const struct troupe_performer *performer, bool inside, uint64_t count)
{
	const struct troupe_host *host = self->host;
	const struct detector_config *config = self->config;
	struct troupe_message *message = host->message(step, "gz.msgs.Pose");
	struct troupe_pose own = host->model_pose(step, self->model, TROUPE_NOW);
	struct troupe_pose other = host->model_pose(step, performer->model, TROUPE_NOW);
	char room[24];
	host->put_text(message, config->pose_name, host->model_name(step, performer->model));
	host->put(message, config->pose_id, (double)performer->id);
	detector_add_pose(self, message, troupe_pose_mul(troupe_pose_inverse(own), other));
	detector_add_data(self, message, "frame_id", config->name);
	detector_add_data(self, message, "state", inside ? "1" : "0");
	detector_add_data(self, message, "count", detector_digits(count, room));
	for (uint32_t i = 0; i < config->extra_count; i++)
		detector_add_data(self, message, config->key[i], config->value[i]);
	host->publish(self, step, config->output, message);
}

static bool detector_meets(
	const struct troupe_system *self, const struct troupe_step *step, const struct troupe_performer *performer)
{
	const struct detector_config *config = self->config;
	struct troupe_pose own = self->host->model_pose(step, self->model, TROUPE_NOW);
	struct troupe_pose other = self->host->model_pose(step, performer->model, TROUPE_NOW);
	struct troupe_vec3 middle = troupe_pose_point(own, config->at), size = performer->size;
	return fabs(middle.x - other.x) <= config->half.x + size.x / 2 &&
	       fabs(middle.y - other.y) <= config->half.y + size.y / 2 &&
	       fabs(middle.z - other.z) <= config->half.z + size.z / 2;
}

static uint64_t detector_find(const struct detector_words *w, uint64_t id)
{
	uint64_t i = 0;
	while (i < w->count && w->inside[i] != id)
		i++;
	return i;
}

static void detector_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct detector_words *w = words;
	struct troupe_performer performer;
	if (w->count > INSIDE_MAX) /* a damaged state */
		w->count = 0;
	for (uint32_t p = 0; self->host->performer(step, p, &performer); p++) {
		bool now = detector_meets(self, step, &performer);
		uint64_t i = detector_find(w, performer.id);
		bool before = i < w->count;
		if (now == before || (now && w->count == INSIDE_MAX))
			continue;
		if (now) {
			w->inside[w->count++] = performer.id;
		} else {
			w->inside[i] = w->inside[--w->count];
			w->inside[w->count] = 0;
		}
		detector_tell(self, step, &performer, now, w->count);
	}
}

const struct troupe_kind builtin_performer_detector = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("PerformerDetector"),
	.parameters = detector_parameters,
	.configure = detector_configure,
	.update = detector_update,
};

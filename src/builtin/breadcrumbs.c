/* Leaves copies of a model behind: each message on its topic creates one, at the <pose> of the model in <breadcrumb>
 * relative to the model of the plug-in. The copies are called NAME_0, NAME_1, ...; <topic>/remaining tells how many may
 * still come.
 *
 * <disable_physics_time> after its creation a copy stays where it is: a static model takes its place. (In Gazebo a
 * joint holds it.) The static model is made from the SDF, so joints of the copy are as in the file again. */
#include "builtin/parts.h"

#include <string.h>

enum { PENDING_MAX = 64, LOOSE_MAX = 64, ENTITY_MODEL = 2 };

struct breadcrumbs_words {
	uint64_t pending;  /* messages since the last breadcrumbs_update() */
	uint64_t deployed; /* copies so far */
	/* With <disable_physics_time>: the first copy that can move, and for copy i at i % LOOSE_MAX when it ends. */
	struct loose {
		uint64_t first, until_ns[LOOSE_MAX];
	} loose[];
};

struct breadcrumbs_config {
	int64_t max_deployments; /* negative: any number */
	bool allow_renaming, performs;
	struct troupe_vec3 volume; /* of a performer */
	struct troupe_pose offset;
	const char *name, *sdf, *static_sdf; /* the last: with <disable_physics_time> only */
	uint64_t loose_ns;
	const struct troupe_field *entity_name, *entity_type;
	uint32_t remaining;
	const struct troupe_field *count, *factory_sdf, *factory_name, *factory_renaming, *performer, *edges[3],
		*place[7];
};

static const struct troupe_parameter breadcrumbs_parameters[] = {
	BUILTIN_TEXT("topic", "default: /model/NAME/breadcrumbs/BREADCRUMB/deploy"),
	BUILTIN_BETWEEN("max_deployments", -2147483647, 2147483647,
		"how many copies are made at most; default -1: any number; 0: the plug-in does nothing"),
	BUILTIN_BETWEEN(
		"disable_physics_time", 0, BUILTIN_NUMBER_MAX, "s until a copy becomes static; default 0: never"),
	BUILTIN_BOOL(
		"allow_renaming", "a copy whose name is taken gets another one, and is not left out; default false"),
	BUILTIN_UNUSED("topic_statistics", "there are no statistics of topics"),
	BUILTIN_PARTS("performer_volume", "<geometry> with a <box>: copies become performers of that size"),
	BUILTIN_PARTS("breadcrumb", "<sdf> with a <model>; needed"),
	BUILTIN_END,
};

static const struct troupe_words breadcrumbs_word_names[] = {
	{"messages", TROUPE_WORD_INTEGER},
	{"copies", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_INTEGER},
};

static bool breadcrumbs_find_fields(struct troupe_system *self)
{
	static const char *const paths[] = {"pose.position.x", "pose.position.y", "pose.position.z",
		"pose.orientation.w", "pose.orientation.x", "pose.orientation.y", "pose.orientation.z"};
	static const char factory[] = "gz.msgs.EntityFactory";
	const struct troupe_host *host = self->host;
	struct breadcrumbs_config *config = self->config;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!(config->place[i] = host->field(self, factory, paths[i])))
			return false;
	return (config->count = host->field(self, "gz.msgs.Int32", "data")) &&
	       (config->performer = host->field(self, "troupe.msgs.SetPerformer", "data")) &&
	       (config->edges[0] = host->field(self, "troupe.msgs.SetPerformer", "size.x")) &&
	       (config->edges[1] = host->field(self, "troupe.msgs.SetPerformer", "size.y")) &&
	       (config->edges[2] = host->field(self, "troupe.msgs.SetPerformer", "size.z")) &&
	       (config->entity_name = host->field(self, "gz.msgs.Entity", "name")) &&
	       (config->entity_type = host->field(self, "gz.msgs.Entity", "type")) &&
	       (config->factory_sdf = host->field(self, factory, "sdf")) &&
	       (config->factory_name = host->field(self, factory, "name")) &&
	       (config->factory_renaming = host->field(self, factory, "allow_renaming"));
}

static bool breadcrumbs_read_model(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct breadcrumbs_config *config = self->config;
	const struct troupe_element *breadcrumb = host->child(plugin, "breadcrumb", NULL);
	const struct troupe_element *sdf = breadcrumb ? host->child(breadcrumb, "sdf", NULL) : NULL;
	const struct troupe_element *model = sdf ? host->child(sdf, "model", NULL) : NULL;
	if (!model)
		return host->leave_out(self, plugin, "expected a <breadcrumb> with an <sdf> with a <model>");
	config->name = host->attribute(model, "name");
	if (!config->name || !*config->name)
		return host->refuse(self, model, "the <model> of the <breadcrumb> has no name");
	config->offset = host->pose(self, model, "pose");
	config->sdf = host->inside(self, breadcrumb);
	return true;
}

/* The SDF with <static>, after the tag of its first model. NULL: it has no such tag, or <static> of its own. */
static const char *breadcrumbs_make_static(
	struct troupe_system *self, const struct troupe_element *model, const char *sdf)
{
	const char *tag = strstr(sdf, "<model"), *end = tag ? strchr(tag, '>') : NULL;
	if (!end || end[-1] == '/' || self->host->child(model, "static", NULL))
		return NULL;
	return self->host->print(self, "%.*s<static>true</static>%s", (int)(end + 1 - sdf), sdf, end + 1);
}

static void breadcrumbs_read_loose(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct breadcrumbs_config *config = self->config;
	double time_s = host->number(self, plugin, "disable_physics_time", 0);
	const struct troupe_element *sdf = host->child(host->child(plugin, "breadcrumb", NULL), "sdf", NULL);
	if (!time_s)
		return;
	if (!config->performs && !config->allow_renaming)
		config->static_sdf = breadcrumbs_make_static(self, host->child(sdf, "model", NULL), config->sdf);
	if (!config->static_sdf) {
		host->warn(self, plugin,
			"<disable_physics_time> has no effect: expected a <model> without <static>, and neither "
			"<performer_volume> nor <allow_renaming>");
		return;
	}
	config->loose_ns = (uint64_t)(time_s * 1e9 + 0.5);
	host->add_words(self, "first that can move", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "can move until", TROUPE_WORD_INTEGER, LOOSE_MAX);
}

static bool breadcrumbs_read_performer(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct breadcrumbs_config *config = self->config;
	const struct troupe_element *volume = host->child(plugin, "performer_volume", NULL);
	const struct troupe_element *geometry = volume ? host->child(volume, "geometry", NULL) : NULL;
	const struct troupe_element *box = geometry ? host->child(geometry, "box", NULL) : NULL;
	if (!volume)
		return true;
	if (!box)
		return host->leave_out(self, volume, "expected a <geometry> with a <box> in <performer_volume>");
	config->volume = host->vector(self, box, "size", troupe_vec3_make(1, 1, 1));
	config->performs = true;
	if (config->volume.x > 0 && config->volume.y > 0 && config->volume.z > 0)
		return true;
	return host->refuse(self, box, "<size> in <performer_volume>: expected three numbers above 0");
}

static bool breadcrumbs_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct breadcrumbs_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *at = NULL;
	config->max_deployments = (int64_t)host->number(self, plugin, "max_deployments", -1);
	config->allow_renaming = host->boolean(self, plugin, "allow_renaming", false);
	if (!config->max_deployments)
		return host->pass(self);
	if (!breadcrumbs_read_model(self, plugin) || !breadcrumbs_read_performer(self, plugin) ||
		!breadcrumbs_find_fields(self))
		return false;
	breadcrumbs_read_loose(self, plugin);
	const char *topic =
		builtin_topic(self, plugin, "topic", host->print(self, "breadcrumbs/%s/deploy", config->name), &at);
	const struct troupe_output remaining = {.name = host->print(self, "%s/remaining", topic),
		.type = "gz.msgs.Int32",
		.gives = TROUPE_GIVES_PUBLISHED};
	return host->take(self, at ? at : plugin, topic, "gz.msgs.Empty", 0, TROUPE_NOTHING) &&
	       host->give(self, at ? at : plugin, &remaining, &config->remaining);
}

static void breadcrumbs_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	struct breadcrumbs_words *w = words;
	(void)self;
	(void)input;
	(void)message;
	if (w->pending < PENDING_MAX)
		w->pending++;
}

/* "NAME_NUMBER"; decimal digits, whatever the locale. Names that do not fit are cut. */
static void breadcrumbs_name_copy(const char *name, uint64_t number, char *room, size_t size)
{
	char digits[24];
	size_t count = 0, used = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (*name && used + count + 2 < size)
		room[used++] = *name++;
	room[used++] = '_';
	while (count)
		room[used++] = digits[--count];
	room[used] = '\0';
}

static void breadcrumbs_create(const struct troupe_system *self, const struct troupe_step *step, const char *name,
	const char *sdf, struct troupe_pose pose)
{
	const struct troupe_host *host = self->host;
	const struct breadcrumbs_config *config = self->config;
	const double numbers[] = {pose.x, pose.y, pose.z, pose.qw, pose.qx, pose.qy, pose.qz};
	struct troupe_message *factory = host->message(step, "gz.msgs.EntityFactory");
	host->put_text(factory, config->factory_sdf, sdf);
	host->put_text(factory, config->factory_name, name);
	host->put(factory, config->factory_renaming, config->allow_renaming);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		host->put(factory, config->place[i], numbers[i]);
	host->request(self, step, "create", factory);
}

static void breadcrumbs_make_performer(
	const struct troupe_system *self, const struct troupe_step *step, const char *name)
{
	const struct troupe_host *host = self->host;
	const struct breadcrumbs_config *config = self->config;
	struct troupe_message *performer = host->message(step, "troupe.msgs.SetPerformer");
	host->put_text(performer, config->performer, name);
	host->put(performer, config->edges[0], config->volume.x);
	host->put(performer, config->edges[1], config->volume.y);
	host->put(performer, config->edges[2], config->volume.z);
	host->request(self, step, "level/set_performer", performer);
}

/* Nothing happens to a copy that is gone, or whose level is not loaded now. */
static void breadcrumbs_hold(const struct troupe_system *self, const struct troupe_step *step, uint64_t number)
{
	const struct troupe_host *host = self->host;
	const struct breadcrumbs_config *config = self->config;
	char name[256];
	breadcrumbs_name_copy(config->name, number, name, sizeof name);
	uint32_t model = host->find_model(step, name);
	if (model == TROUPE_NOTHING || !host->model_moves(step, model))
		return;
	struct troupe_message *entity = host->message(step, "gz.msgs.Entity");
	host->put_text(entity, config->entity_name, name);
	host->put(entity, config->entity_type, ENTITY_MODEL);
	host->request(self, step, "remove", entity);
	breadcrumbs_create(self, step, name, config->static_sdf, host->model_pose(step, model, TROUPE_NOW));
}

static uint64_t breadcrumbs_now_ns(const struct troupe_step *step)
{
	return (uint64_t)(step->time_s * 1e9 + 0.5);
}

static void breadcrumbs_hold_those_due(
	const struct troupe_system *self, const struct troupe_step *step, struct breadcrumbs_words *w)
{
	struct loose *loose = w->loose;
	if (loose->first > w->deployed || w->deployed - loose->first > LOOSE_MAX) /* a damaged state */
		loose->first = w->deployed;
	for (; loose->first < w->deployed && loose->until_ns[loose->first % LOOSE_MAX] < breadcrumbs_now_ns(step);
		loose->first++)
		breadcrumbs_hold(self, step, loose->first);
}

/* If LOOSE_MAX copies can move, the oldest one is held now. */
static void breadcrumbs_let_move(
	const struct troupe_system *self, const struct troupe_step *step, struct breadcrumbs_words *w)
{
	const struct breadcrumbs_config *config = self->config;
	struct loose *loose = w->loose;
	if (w->deployed - loose->first == LOOSE_MAX)
		breadcrumbs_hold(self, step, loose->first++);
	loose->until_ns[w->deployed % LOOSE_MAX] = breadcrumbs_now_ns(step) + config->loose_ns;
}

/* False: the name is taken. */
static bool breadcrumbs_deploy(
	const struct troupe_system *self, const struct troupe_step *step, struct breadcrumbs_words *w)
{
	const struct breadcrumbs_config *config = self->config;
	char name[256];
	if (config->max_deployments >= 0 && w->deployed >= (uint64_t)config->max_deployments) {
		self->host->log_line(self, "no copies of '%.80s' are left", config->name);
		return true;
	}
	breadcrumbs_name_copy(config->name, w->deployed, name, sizeof name);
	if (!config->allow_renaming && self->host->find_model(step, name) != TROUPE_NOTHING) {
		self->host->log_line(self, "there is a model '%.80s' already: the copy is left out", name);
		return false;
	}
	breadcrumbs_create(self, step, name, config->sdf,
		troupe_pose_mul(self->host->model_pose(step, self->model, TROUPE_NOW), config->offset));
	if (config->performs)
		breadcrumbs_make_performer(self, step, name);
	if (config->loose_ns)
		breadcrumbs_let_move(self, step, w);
	w->deployed++;
	return true;
}

static void breadcrumbs_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct breadcrumbs_config *config = self->config;
	struct breadcrumbs_words *w = words;
	uint64_t pending = w->pending;
	w->pending = 0;
	if (config->loose_ns)
		breadcrumbs_hold_those_due(self, step, w);
	for (uint64_t i = 0; i < pending && i < PENDING_MAX; i++) {
		if (!breadcrumbs_deploy(self, step, w))
			return;
		struct troupe_message *left = self->host->message(step, "gz.msgs.Int32");
		self->host->put(left, config->count, (double)config->max_deployments - (double)w->deployed);
		self->host->publish(self, step, config->remaining, left);
	}
}

/* Those that may move are held after a while. */
static bool breadcrumbs_waits(const struct troupe_system *self, const void *words)
{
	const struct breadcrumbs_config *config = self->config;
	const struct breadcrumbs_words *w = words;
	return !w->pending && !config->loose_ns;
}

const struct troupe_kind builtin_breadcrumbs = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("Breadcrumbs"),
	.parameters = breadcrumbs_parameters,
	.words = breadcrumbs_word_names,
	.configure = breadcrumbs_configure,
	.command = breadcrumbs_command,
	.update = breadcrumbs_update,
	.waits = breadcrumbs_waits,
};

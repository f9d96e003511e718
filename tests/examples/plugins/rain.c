/* A plug-in of the world: lets boxes fall at random places, one in each period, and removes the oldest when there are
 * too many. It acts by requests to the services of the world, which are done in the step in which it asks. */
#include <troupe/plugin.h>

enum { ENTITY_MODEL = 2 }; /* of gz.msgs.Entity.Type */

struct config {
	double period_s, width_m, height_m;
	uint32_t most;
	const struct troupe_field *sdf, *name, *x, *y, *z, *gone, *type;
};

struct words {
	uint64_t fallen, gone;
};

static const struct troupe_parameter parameters[] = {
	{"period", TROUPE_NUMBER, 1e-3, 1e6, "s between two boxes; default 0.5"},
	{"width", TROUPE_NUMBER, 0, 1e3, "m, of the square into which they fall; default 4"},
	{"height", TROUPE_NUMBER, 0, 1e3, "m; default 3"},
	{"most", TROUPE_NUMBER, 1, 1000, "boxes at one time; default 20"},
	{NULL, TROUPE_PARTS, 0, 0, NULL},
};
static const struct troupe_words words_of[] = {
	{"fallen", TROUPE_WORD_INTEGER}, {"gone", TROUPE_WORD_INTEGER}, {NULL, TROUPE_WORD_INTEGER}};

static const char box[] =
	"<sdf version='1.9'><model name='drop'><link name='link'><inertial><mass>1</mass></inertial>"
	"<collision name='c'><geometry><box><size>0.2 0.2 0.2</size></box></geometry></collision>"
	"<visual name='v'><geometry><box><size>0.2 0.2 0.2</size></box></geometry></visual></link></model></sdf>";

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->period_s = host->number(self, plugin, "period", 0.5);
	config->width_m = host->number(self, plugin, "width", 4);
	config->height_m = host->number(self, plugin, "height", 3);
	config->most = (uint32_t)host->number(self, plugin, "most", 20);
	config->sdf = host->field(self, "gz.msgs.EntityFactory", "sdf");
	config->name = host->field(self, "gz.msgs.EntityFactory", "name");
	config->x = host->field(self, "gz.msgs.EntityFactory", "pose.position.x");
	config->y = host->field(self, "gz.msgs.EntityFactory", "pose.position.y");
	config->z = host->field(self, "gz.msgs.EntityFactory", "pose.position.z");
	config->gone = host->field(self, "gz.msgs.Entity", "name");
	config->type = host->field(self, "gz.msgs.Entity", "type");
	return config->sdf && config->name && config->x && config->y && config->z && config->gone && config->type;
}

/* A name without printf(): any function of C that has no state may be used, but nothing here needs more. */
static const char *name_of(uint64_t number, char text[32])
{
	char *at = text + 31;
	*at = '\0';
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	*--at = '_';
	for (const char *from = "pord"; *from; from++)
		*--at = *from;
	return at;
}

static void drop(const struct troupe_system *self, const struct troupe_step *step, uint64_t number)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	char text[32];
	struct troupe_message *create = host->message(step, "gz.msgs.EntityFactory");
	host->put_text(create, config->sdf, box);
	host->put_text(create, config->name, name_of(number, text));
	host->put(create, config->x, config->width_m * (host->random(self, 0, number) - 0.5));
	host->put(create, config->y, config->width_m * (host->random(self, 1, number) - 0.5));
	host->put(create, config->z, config->height_m);
	host->request(self, step, "create", create);
}

static void take_away(const struct troupe_system *self, const struct troupe_step *step, uint64_t number)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	char text[32];
	const char *name = name_of(number, text);
	if (host->find_model(step, name) == TROUPE_NOTHING) /* somebody else has removed it */
		return;
	struct troupe_message *remove = host->message(step, "gz.msgs.Entity");
	host->put_text(remove, config->gone, name);
	host->put(remove, config->type, ENTITY_MODEL);
	host->request(self, step, "remove", remove);
}

static void update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	struct words *w = words;
	if (step->time_s < (double)w->fallen * config->period_s)
		return;
	drop(self, step, w->fallen++);
	if (w->fallen - w->gone > config->most)
		take_away(self, step, w->gone++);
}

static const struct troupe_kind rain = {
	.size = sizeof rain,
	.flags = TROUPE_IN_WORLD,
	.names = (const char *const[]){"Rain", NULL},
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.update = update,
};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "rain",
	.version = "1",
	.kinds = (const struct troupe_kind *const[]){&rain, NULL},
};

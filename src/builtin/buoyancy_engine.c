/* A bladder that takes in or lets out fluid, to dive and to rise:
 *
 *     force = fluid_density (volume - neutral_volume) gravity, upwards at the link's origin
 *
 * The volume goes to the commanded one at <max_inflation_rate>. From <surface> on, if it is given, the volume displaces
 * nothing, and the weight of neutral_volume is left. Parameters, defaults and topics are those of Gazebo's
 * BuoyancyEngine. */
#include "builtin/parts.h"

struct buoyancy_engine_config {
	uint32_t link, output;
	double least, neutral, usual, most, rate, density, surface;
	const struct troupe_field *data;
};

struct buoyancy_engine_words {
	double wanted, volume; /* m3 */
};

static const struct troupe_words buoyancy_engine_words_of[] = {
	{"wanted volume", TROUPE_WORD_DOUBLE}, {"volume", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static const struct troupe_parameter buoyancy_engine_parameters[] = {
	BUILTIN_TEXT("link_name", "the link on which the force acts"),
	BUILTIN_TEXT("namespace", "the topic is /model/NAMESPACE/buoyancy_engine; default: /buoyancy_engine"),
	BUILTIN_BETWEEN("min_volume", 0, BUILTIN_NUMBER_MAX, "m3, default 0.00003"),
	BUILTIN_BETWEEN("neutral_volume", 0, BUILTIN_NUMBER_MAX, "m3, default 0.0003"),
	BUILTIN_BETWEEN("default_volume", 0, BUILTIN_NUMBER_MAX, "m3, at the start, default 0.0003"),
	BUILTIN_BETWEEN("max_volume", 0, BUILTIN_NUMBER_MAX, "m3, default 0.00099"),
	BUILTIN_BETWEEN("max_inflation_rate", 0, BUILTIN_NUMBER_MAX, "m3/s, default 0.000003"),
	BUILTIN_BETWEEN("fluid_density", 0, BUILTIN_NUMBER_MAX, "kg/m3, default 1000"),
	BUILTIN_NUMBER("surface", "m, height of the surface of the fluid; default: none"),
	BUILTIN_END,
};

static bool buoyancy_engine_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct buoyancy_engine_config *config = self->config = host->alloc(self, sizeof *config);
	const char *space = host->text(plugin, "namespace", "");
	const char *topic = *space ? host->print(self, "model/%s/buoyancy_engine", space) : "buoyancy_engine";
	struct troupe_output output = {.name = host->print(self, "%s/current_volume", topic),
		.type = "gz.msgs.Double",
		.gives = TROUPE_GIVES_REPORT};
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link))
		return false;
	config->least = host->number(self, plugin, "min_volume", 0.00003);
	config->neutral = host->number(self, plugin, "neutral_volume", 0.0003);
	config->usual = host->number(self, plugin, "default_volume", 0.0003);
	config->most = host->number(self, plugin, "max_volume", 0.00099);
	config->rate = host->number(self, plugin, "max_inflation_rate", 0.000003);
	config->density = host->number(self, plugin, "fluid_density", 1000);
	config->surface = host->number(self, plugin, "surface", HUGE_VAL);
	config->data = host->field(self, "gz.msgs.Double", "data");
	if (config->least > config->most)
		return host->refuse(self, plugin, "<min_volume>, %g, is above <max_volume>: expected at most %g",
			config->least, config->most);
	return host->take(self, plugin, topic, "gz.msgs.Double", 0, TROUPE_NOTHING) &&
	       host->give(self, plugin, &output, &config->output);
}

static void buoyancy_engine_init(const struct troupe_system *self, void *words)
{
	double usual = ((const struct buoyancy_engine_config *)self->config)->usual;
	*(struct buoyancy_engine_words *)words = (struct buoyancy_engine_words){usual, usual};
}

static void buoyancy_engine_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct buoyancy_engine_config *config = self->config;
	(void)input;
	((struct buoyancy_engine_words *)words)->wanted =
		builtin_clamp(self->host->get(message, config->data, 0), config->least, config->most);
}

static void buoyancy_engine_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct buoyancy_engine_config *config = self->config;
	struct buoyancy_engine_words *w = words;
	double most = config->rate * step->dt;
	w->volume += builtin_clamp(w->wanted - w->volume, -most, most);
	bool dives = host->link_pose(step, config->link, TROUPE_NOW).z < config->surface;
	double displaced = (dives ? w->volume : 0) - config->neutral;
	struct troupe_vec3 force = troupe_vec3_scale(host->gravity(self), -config->density * displaced);
	host->link_force(step, config->link, troupe_vec3_make(0, 0, 0), (struct troupe_wrench){force, {0, 0, 0}});
}

static bool buoyancy_engine_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	(void)step;
	(void)output;
	self->host->put(message, ((const struct buoyancy_engine_config *)self->config)->data,
		((const struct buoyancy_engine_words *)words)->volume);
	return true;
}

const struct troupe_kind builtin_buoyancy_engine = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("BuoyancyEngine"),
	.parameters = buoyancy_engine_parameters,
	.words = buoyancy_engine_words_of,
	.configure = buoyancy_engine_configure,
	.init = buoyancy_engine_init,
	.command = buoyancy_engine_command,
	.pre_update = buoyancy_engine_pre_update,
	.report = buoyancy_engine_report,
};

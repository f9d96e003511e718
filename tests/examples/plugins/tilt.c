/* A sensor: how far its model leans from upright, in rad, with noise. It publishes gz.msgs.Double on /model/NAME/tilt.
 *
 * What it says follows from the present state alone, so it is report(): it has no words, and costs nothing while nobody
 * listens. The noise of a sample is a number of a random sequence at the time of the step: asked again, it is the
 * same. */
#include <troupe/plugin.h>

struct config {
	double stddev;
	const struct troupe_field *data;
};

static const struct troupe_parameter parameters[] = {
	{"stddev", TROUPE_NUMBER, 0, 10, "deviation of the noise, rad; default 0"},
	{"rate", TROUPE_NUMBER, 0, 1e6, "Hz, of simulated time; default 10"},
	{NULL, TROUPE_PARTS, 0, 0, NULL},
};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->stddev = host->number(self, plugin, "stddev", 0);
	config->data = host->field(self, "gz.msgs.Double", "data");
	struct troupe_output output = {
		.name = host->print(self, "/model/%s/tilt", host->owner_name(self)),
		.type = "gz.msgs.Double",
		.gives = TROUPE_GIVES_REPORT,
		.rate_hz = host->number(self, plugin, "rate", 10),
	};
	return config->data && host->give(self, plugin, &output, NULL);
}

static bool report(const struct troupe_system *self, const struct troupe_step *step, const void *words, uint32_t output,
	struct troupe_message *message)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	struct troupe_quat q = troupe_pose_turn(host->model_pose(step, self->model, TROUPE_NOW));
	double upright = troupe_quat_rotate(q, troupe_vec3_make(0, 0, 1)).z;
	double tilt = host->acos(upright > 1 ? 1 : upright < -1 ? -1 : upright);
	(void)words, (void)output;
	double noise = host->random_normal(self, 0, troupe_random_index(step));
	host->put(message, config->data, tilt + config->stddev * noise);
	return true;
}

static const struct troupe_kind tilt = {
	.size = sizeof tilt,
	.flags = TROUPE_IN_MODEL,
	.names = (const char *const[]){"Tilt", NULL},
	.parameters = parameters,
	.configure = configure,
	.report = report,
};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "tilt",
	.version = "1",
	.kinds = (const struct troupe_kind *const[]){&tilt, NULL},
};

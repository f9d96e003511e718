/* A controller: drives a cart along the wall on its right, by its lidar.
 *
 * It reads a sensor and gives commands to another plug-in (DiffDrive), so it is update(), which is called between steps
 * and sees the whole world. A lidar that measures ten times a second has something new in every hundredth step of 1 ms;
 * in the other steps there is nothing to do, because DiffDrive keeps to the last command.
 *
 *     cc -std=c11 -shared -fPIC follow_wall.c -o libfollow_wall.so $(pkg-config --cflags troupe)
 *     troupe run wall.sdf --plugin-path . --until 60 */
#include <troupe/plugin.h>

struct config {
	const char *lidar;
	double distance_m, speed;
	uint32_t drive; /* the output */
	const struct troupe_field *ahead, *turn;
};

struct words {
	double turn; /* the last command, for people who look at the state */
};

static const struct troupe_parameter parameters[] = {
	{"lidar", TROUPE_TEXT, 0, 0, "name of the sensor; default lidar"},
	{"distance", TROUPE_NUMBER, 0.1, 10, "to the wall, m; default 1"},
	{"speed", TROUPE_NUMBER, 0, 5, "m/s; default 0.5"},
	{NULL, TROUPE_PARTS, 0, 0, NULL},
};
static const struct troupe_words words_of[] = {{"turn", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	config->lidar = host->text(plugin, "lidar", "lidar");
	config->distance_m = host->number(self, plugin, "distance", 1);
	config->speed = host->number(self, plugin, "speed", 0.5);
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->turn = host->field(self, "gz.msgs.Twist", "angular.z");
	struct troupe_output drive = {
		.name = host->print(self, "/model/%s/cmd_vel", host->owner_name(self)),
		.type = "gz.msgs.Twist",
		.gives = TROUPE_GIVES_PUBLISHED,
	};
	return config->ahead && config->turn && host->give(self, plugin, &drive, &config->drive);
}

/* The least range between two angles, in rad, 0 ahead, to the left positive. */
static double least(const struct troupe_scan_reading *scan, double from, double to)
{
	const double *ranges = (const double *)(const void *)(scan + 1);
	double found = HUGE_VAL;
	for (uint32_t i = 0; i < (uint32_t)scan->columns; i++) {
		double angle = scan->min_rad + scan->step_rad * i;
		if (angle >= from && angle <= to && ranges[i] < found)
			found = ranges[i];
	}
	return found;
}

static double between(double value, double most)
{
	return value > most ? most : value < -most ? -most : value;
}

static void update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	struct words *w = words;
	uint32_t lidar = host->find_sensor(step, self->model, config->lidar), count;
	double time_s;
	const struct troupe_scan_reading *scan = NULL;
	if (lidar != TROUPE_NOTHING)
		scan = (const void *)host->reading(step, self->model, lidar, &count, &time_s);
	if (!scan || count <= sizeof *scan / sizeof(double))
		return;
	double ahead = least(scan, -0.3, 0.3), right = least(scan, -1.8, -1.3), before = least(scan, -1.1, -0.7);
	/* turn left at a corner; else keep to the distance, and look where the wall goes */
	double error = (right < 4 * config->distance_m ? right : 4 * config->distance_m) - config->distance_m;
	bool blocked = ahead < 1.3 * config->distance_m || before < 0.9 * config->distance_m;
	w->turn = blocked ? 1 : between(-0.8 * error, 0.6);
	struct troupe_message *twist = host->message(step, "gz.msgs.Twist");
	host->put(twist, config->ahead, blocked ? 0.1 * config->speed : config->speed);
	host->put(twist, config->turn, w->turn);
	host->publish(self, step, config->drive, twist);
}

static const struct troupe_kind follow_wall = {
	.size = sizeof follow_wall,
	.flags = TROUPE_IN_MODEL | TROUPE_READS_SENSORS,
	.names = (const char *const[]){"FollowWall", NULL},
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.update = update,
};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "follow_wall",
	.version = "1",
	.kinds = (const struct troupe_kind *const[]){&follow_wall, NULL},
};

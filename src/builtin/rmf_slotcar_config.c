/* Chargers are places of the world, so each robot reads them from the world's element. */
#include "builtin/rmf_slotcar_config.h"

#include <string.h>

/* --- setup -------------------------------------------------------------------------------------------------------- */

static void rmf_slotcar_config_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct rmf_slotcar_config *config)
{
	const struct {
		const char *name;
		double *value, usual;
	} numbers[] = {
		{"nominal_drive_speed", &config->drive.speed_max, 0.5},
		{"nominal_drive_acceleration", &config->drive.acceleration_usual, 0.05},
		{"max_drive_acceleration", &config->drive.acceleration_max, 0.1},
		{"nominal_turn_speed", &config->turn.speed_max, 0.39269908169872414},
		{"nominal_turn_acceleration", &config->turn.acceleration_usual, 0.31415926535897931},
		{"max_turn_acceleration", &config->turn.acceleration_max, 3.1415926535897931},
		{"stop_distance", &config->stop_distance, 1},
		{"stop_radius", &config->stop_radius, 1},
		{"lookahead_distance", &config->ahead, 8},
		{"min_turning_radius", &config->radius, 0},
		{"nominal_voltage", &config->voltage, 12},
		{"nominal_capacity", &config->capacity_Ah, 24},
		{"charging_current", &config->charging_A, 2},
		{"mass", &config->mass, 20},
		{"inertia", &config->inertia, 10},
		{"friction_coefficient", &config->friction, 0.3},
		{"nominal_power", &config->power_W, 10},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = self->host->number(self, plugin, numbers[i].name, numbers[i].usual);
	config->drive.near = config->turn.near = 0.01;
	config->reverses = self->host->boolean(self, plugin, "reversible", true);
}

static double rmf_slotcar_config_attribute(
	const struct troupe_host *host, const struct troupe_element *element, const char *name)
{
	const char *text = host->attribute(element, name);
	double value = text ? builtin_number_of(text) : 0;
	return isfinite(value) ? value : 0;
}

static void rmf_slotcar_config_read_chargers(struct troupe_system *self, struct rmf_slotcar_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *list = host->child(host->world(self), "rmf_charger_waypoints", NULL), *at = NULL;
	config->chargers = host->alloc(self, RMF_SLOTCAR_CHARGERS_MAX * sizeof *config->chargers);
	while (list && (at = host->child(list, "rmf_vertex", at)) && config->charger_count < RMF_SLOTCAR_CHARGERS_MAX) {
		const char *level = host->attribute(at, "level");
		config->chargers[config->charger_count++] = (struct rmf_slotcar_charger){
			rmf_slotcar_config_attribute(host, at, "x"), rmf_slotcar_config_attribute(host, at, "y"),
			host->print(self, "%s", level ? level : "")};
	}
	config->level = config->charger_count ? config->chargers[0].level : "L1";
}

static bool rmf_slotcar_config_find_fields(struct troupe_system *self, struct rmf_slotcar_config *config)
{
	struct rmf_slotcar_fields *f = &config->field;
	const struct builtin_field wanted[] = {
		{&f->robot[RMF_SLOTCAR_PATH], "troupe.msgs.RobotPathRequest", "robot_name"},
		{&f->robot[RMF_SLOTCAR_MODE], "troupe.msgs.RobotModeRequest", "robot_name"},
		{&f->robot[RMF_SLOTCAR_PAUSE], "troupe.msgs.RobotPauseRequest", "robot_name"},
		{&f->path, "troupe.msgs.RobotPathRequest", "path"},
		{&f->task, "troupe.msgs.RobotPathRequest", "task_id"},
		{&f->mode, "troupe.msgs.RobotModeRequest", "mode.mode"},
		{&f->mode_request, "troupe.msgs.RobotModeRequest", "mode.mode_request_id"},
		{&f->pause, "troupe.msgs.RobotPauseRequest", "type"},
		{&f->checkpoint, "troupe.msgs.RobotPauseRequest", "at_checkpoint"},
		{&f->pause_request, "troupe.msgs.RobotPauseRequest", "mode_request_id"},
		{&f->t_s, "troupe.msgs.RobotLocation", "t.sec"},
		{&f->t_ns, "troupe.msgs.RobotLocation", "t.nsec"},
		{&f->x, "troupe.msgs.RobotLocation", "x"},
		{&f->y, "troupe.msgs.RobotLocation", "y"},
		{&f->yaw, "troupe.msgs.RobotLocation", "yaw"},
		{&f->obeys, "troupe.msgs.RobotLocation", "obey_approach_speed_limit"},
		{&f->limit, "troupe.msgs.RobotLocation", "approach_speed_limit"},
		{&f->level, "troupe.msgs.RobotLocation", "level_name"},
		{&f->index, "troupe.msgs.RobotLocation", "index"},
		{&f->name, "troupe.msgs.RobotState", "name"},
		{&f->state_task, "troupe.msgs.RobotState", "task_id"},
		{&f->sequence, "troupe.msgs.RobotState", "seq"},
		{&f->state_mode, "troupe.msgs.RobotState", "mode.mode"},
		{&f->state_request, "troupe.msgs.RobotState", "mode.mode_request_id"},
		{&f->battery, "troupe.msgs.RobotState", "battery_percent"},
		{&f->location, "troupe.msgs.RobotState", "location"},
		{&f->left, "troupe.msgs.RobotState", "path"},
		{&f->switch_name, "gz.msgs.Selection", "name"},
		{&f->switch_on, "gz.msgs.Selection", "selected"},
	};
	return builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted);
}

static bool rmf_slotcar_config_open_topics(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_slotcar_config *config = self->config;
	const struct troupe_output state = {
		.name = "/robot_state", .type = "troupe.msgs.RobotState", .gives = TROUPE_GIVES_PUBLISHED};
	return host->take(self, plugin, "/robot_path_requests", "troupe.msgs.RobotPathRequest", RMF_SLOTCAR_PATH,
		       TROUPE_NOTHING) &&
	       host->take(self, plugin, "/robot_mode_requests", "troupe.msgs.RobotModeRequest", RMF_SLOTCAR_MODE,
		       TROUPE_NOTHING) &&
	       host->take(self, plugin, "/robot_pause_requests", "troupe.msgs.RobotPauseRequest", RMF_SLOTCAR_PAUSE,
		       TROUPE_NOTHING) &&
	       host->take(self, plugin, "/charge_state", "gz.msgs.Selection", RMF_SLOTCAR_CHARGE, TROUPE_NOTHING) &&
	       host->give(self, plugin, &state, &config->output);
}

static void rmf_slotcar_config_name_words(struct troupe_system *self)
{
	const struct troupe_host *host = self->host;
	host->add_words(self, "task", TROUPE_WORD_INTEGER, RMF_SLOTCAR_TASK_WORDS);
	host->add_words(self, "names of levels", TROUPE_WORD_INTEGER, RMF_SLOTCAR_LEVELS_MAX * RMF_SLOTCAR_NAME_WORDS);
	host->add_words(self, "has path, is new, places, next place, levels, level", TROUPE_WORD_INTEGER, 6);
	host->add_words(self, "docks, mode request, pause, checkpoint", TROUPE_WORD_INTEGER, 4);
	host->add_words(self, "drains, charges, at once", TROUPE_WORD_INTEGER, 3);
	host->add_words(self, "failed, stopped, backwards, waits, mode, told, sequence", TROUPE_WORD_INTEGER, 7);
	host->add_words(self, "charge, speed and rate, velocity before", TROUPE_WORD_DOUBLE, 6);
	for (int i = 0; i < RMF_SLOTCAR_PLACES_MAX; i++) {
		host->add_words(self, "place: x, y, yaw, limit", TROUPE_WORD_DOUBLE, 4);
		host->add_words(self, "place: time, index, level", TROUPE_WORD_INTEGER, 3);
	}
}

bool rmf_slotcar_config_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_slotcar_config *config = self->config = host->alloc(self, sizeof *config);
	config->name = host->owner_name(self);
	config->link = host->frame_link(self);
	if (!host->must_move(self))
		return false;
	const char *steering = host->text(plugin, "steering", "diff_drive");
	config->steers = !strcmp(steering, "ackermann");
	if (!config->steers && strcmp(steering, "diff_drive") != 0)
		return host->refuse(self, host->child(plugin, "steering", NULL),
			"<steering> is '%.40s': expected diff_drive or ackermann", steering);
	rmf_slotcar_config_read_numbers(self, plugin, config);
	rmf_slotcar_config_read_chargers(self, config);
	rmf_slotcar_config_name_words(self);
	return rmf_slotcar_config_find_fields(self, config) && rmf_slotcar_config_open_topics(self, plugin);
}

/* A battery whose voltage falls linearly with its charge:
 *
 *   i_raw = P / v - (c / t while it is charged below 90 %)    P: load in W while it drains; t: charging time in h
 *   i    += dt / tau (i_raw - i)
 *   q    -= i dt / 3600                                        Ah
 *   v     = e0 + e1 (1 - q / c) - r i
 *
 * as in Gazebo with its <fix_issue_225>; without it, Gazebo drains too fast, which is not copied, and gives the
 * percentage as a number from 0 to 1, which is. An empty battery lets go of the joints of its model.
 *
 * The battery begins to drain at the beginning with <start_draining>, with a message on a <power_draining_topic>, or
 * when systems drive a joint of the model, and ends with a message on a <stop_power_draining_topic>. So as in Gazebo a
 * robot that has moved drains its battery when it stands, too. */
#include "builtin/parts.h"

#include <string.h>

enum { START, STOP, CHARGE, CHARGE_NO_MORE }; /* inputs */

/* gz.msgs.BatteryState.PowerSupplyStatus */
enum { CHARGING = 1, DISCHARGING = 2, NOT_CHARGING = 3, FULL = 4 };

#define CHARGED 0.9      /* of the capacity: no more charging current from here on */
#define VOLTAGE_MIN 1e-3 /* V: below, the battery is dead */

struct linear_battery_words {
	uint64_t started, charging, draining; /* draining: in the last step */
	double charge_ah, current_a, voltage_v;
};

struct linear_battery_config {
	double voltage_v, constant_v, linear_v, charge_ah, capacity_ah, resistance_ohm, tau_s, load_w, charging_h;
	bool started, on_motion, inverted, in_percent;
	struct builtin_joints joints; /* of the model that the <plugin> stands in */
	const struct troupe_field *field[6];
};

static const struct troupe_parameter linear_battery_parameters[] = {
	BUILTIN_TEXT("battery_name", "needed"),
	BUILTIN_NUMBER("voltage", "V at the beginning; needed"),
	BUILTIN_NUMBER("open_circuit_voltage_constant_coef", "e0 in V; default 0"),
	BUILTIN_NUMBER("open_circuit_voltage_linear_coef", "e1 in V; default 0"),
	BUILTIN_BETWEEN("initial_charge", 0, BUILTIN_NUMBER_MAX, "Ah; default: the capacity"),
	BUILTIN_BETWEEN("capacity", 1e-9, BUILTIN_NUMBER_MAX, "Ah; needed"),
	BUILTIN_BETWEEN("resistance", 0, BUILTIN_NUMBER_MAX, "ohm; default 0"),
	BUILTIN_BETWEEN("smooth_current_tau", 1e-9, BUILTIN_NUMBER_MAX, "s, at least a step; default 1"),
	BUILTIN_NUMBER("power_load", "W; default 0. Thrusters of the model may add to it"),
	BUILTIN_BOOL("invert_current_sign", "in the messages: a current that drains is below 0; default false"),
	BUILTIN_BOOL("start_draining", "drains from the beginning; default false"),
	BUILTIN_BOOL("start_on_motion", "a joint that is driven starts draining; default true"),
	BUILTIN_TEXT("power_draining_topic", "any message starts draining; may be given several times"),
	BUILTIN_TEXT("stop_power_draining_topic", "any message stops it; may be given several times"),
	BUILTIN_BOOL("enable_recharge", "takes .../recharge/start and .../recharge/stop; default false"),
	BUILTIN_BETWEEN("charging_time", 1e-9, BUILTIN_NUMBER_MAX, "h; needed with <enable_recharge>"),
	BUILTIN_BOOL("recharge_by_topic", "has no effect: recharging is a service and a topic"),
	BUILTIN_NUMBER("soc_threshold", "has no effect"),
	BUILTIN_BOOL("fix_issue_225", "the percentage is from 0 to 100; default false: from 0 to 1"),
	BUILTIN_END,
};

static const struct troupe_words linear_battery_word_names[] = {
	{"started", TROUPE_WORD_INTEGER},
	{"charging", TROUPE_WORD_INTEGER},
	{"draining", TROUPE_WORD_INTEGER},
	{"charge", TROUPE_WORD_DOUBLE},
	{"current", TROUPE_WORD_DOUBLE},
	{"voltage", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_INTEGER},
};

/* What thrusters of the model take from the battery. */
static double linear_battery_thrusters_load_w(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *own = host->text(plugin, "battery_name", "");
	const struct troupe_element *e = NULL;
	double load_w = 0;
	while ((e = host->sibling(self, e)))
		if (builtin_is_named(host, e, "::Thruster") && !strcmp(host->text(e, "battery_name", ""), own))
			load_w += host->number(self, e, "power_load", 0);
	return load_w;
}

static bool linear_battery_read_numbers(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct linear_battery_config *c = self->config;
	c->voltage_v = host->number(self, plugin, "voltage", 0);
	c->constant_v = host->number(self, plugin, "open_circuit_voltage_constant_coef", 0);
	c->linear_v = host->number(self, plugin, "open_circuit_voltage_linear_coef", 0);
	c->capacity_ah = host->number(self, plugin, "capacity", 0);
	c->charge_ah = host->number(self, plugin, "initial_charge", c->capacity_ah);
	c->resistance_ohm = host->number(self, plugin, "resistance", 0);
	c->tau_s = host->number(self, plugin, "smooth_current_tau", 1);
	c->load_w = host->number(self, plugin, "power_load", 0) + linear_battery_thrusters_load_w(self, plugin);
	c->inverted = host->boolean(self, plugin, "invert_current_sign", false);
	c->in_percent = host->boolean(self, plugin, "fix_issue_225", false);
	c->charging_h = host->number(self, plugin, "charging_time", 0);
	if (c->charge_ah > c->capacity_ah) {
		host->warn(self, plugin, "<initial_charge> is %g: expected at most the capacity: it is %g",
			c->charge_ah, c->capacity_ah);
		c->charge_ah = c->capacity_ah;
	}
	return true;
}

static bool linear_battery_find_fields(struct troupe_system *self)
{
	static const char *const paths[] = {
		"voltage", "current", "charge", "capacity", "percentage", "power_supply_status"};
	struct linear_battery_config *config = self->config;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!(config->field[i] = self->host->field(self, "gz.msgs.BatteryState", paths[i])))
			return false;
	return true;
}

static bool linear_battery_take_each(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, uint32_t input)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e = NULL;
	while ((e = host->child(plugin, name, e)))
		if (!host->take(self, e, host->text_of(e), NULL, input, TROUPE_NOTHING))
			return false;
	return true;
}

static bool linear_battery_connect(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *name = host->print(
		self, "model/%s/battery/%s", host->owner_name(self), host->text(plugin, "battery_name", ""));
	const struct troupe_output state = {.name = host->print(self, "%s/state", name),
		.type = "gz.msgs.BatteryState",
		.gives = TROUPE_GIVES_REPORT,
		.rate_hz = 50};
	if (!host->give(self, plugin, &state, NULL) ||
		!linear_battery_take_each(self, plugin, "power_draining_topic", START) ||
		!linear_battery_take_each(self, plugin, "stop_power_draining_topic", STOP))
		return false;
	if (!host->boolean(self, plugin, "enable_recharge", false))
		return true;
	if (!host->child(plugin, "charging_time", NULL))
		return host->leave_out(self, plugin, "<enable_recharge> without <charging_time>: expected it in h");
	return host->serve(self, plugin, host->print(self, "%s/recharge/start", name), "gz.msgs.Boolean",
		       "gz.msgs.Empty", CHARGE) &&
	       host->serve(self, plugin, host->print(self, "%s/recharge/stop", name), "gz.msgs.Boolean",
		       "gz.msgs.Empty", CHARGE_NO_MORE);
}

static void linear_battery_find_joints(struct troupe_system *self, struct linear_battery_config *config)
{
	uint32_t count, first = self->host->joints(self, &count),
			*own = self->host->alloc(self, (count + 1) * sizeof *own);
	config->joints.at = own;
	for (uint32_t i = 0; i < count; i++)
		if (builtin_own_joint(self, first + i))
			own[config->joints.count++] = first + i;
}

static bool linear_battery_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const needed[] = {"battery_name", "voltage", "capacity"};
	const struct troupe_host *host = self->host;
	struct linear_battery_config *config = self->config = host->alloc(self, sizeof *config);
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!*host->text(plugin, needed[i], ""))
			return host->leave_out(self, plugin, "the plugin has no <%s>", needed[i]);
	if (!host->must_move(self) || !linear_battery_read_numbers(self, plugin))
		return false;
	config->started = host->boolean(self, plugin, "start_draining", false);
	config->on_motion = host->boolean(self, plugin, "start_on_motion", true);
	linear_battery_find_joints(self, config);
	return linear_battery_find_fields(self) && linear_battery_connect(self, plugin);
}

static void linear_battery_init(const struct troupe_system *self, void *words)
{
	const struct linear_battery_config *config = self->config;
	*(struct linear_battery_words *)words = (struct linear_battery_words){
		.started = config->started, .charge_ah = config->charge_ah, .voltage_v = config->voltage_v};
}

static void linear_battery_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	struct linear_battery_words *w = words;
	(void)self;
	(void)message;
	if (input == START || input == STOP)
		w->started = input == START;
	else
		w->charging = input == CHARGE;
}

static void linear_battery_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct linear_battery_config *config = self->config;
	const struct linear_battery_words *w = words;
	if (w->charge_ah > 0)
		return;
	for (uint32_t j = 0; j < config->joints.count; j++)
		self->host->joint_release(step, config->joints.at[j]);
}

static bool linear_battery_is_driven(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct linear_battery_config *config = self->config;
	for (uint32_t j = 0; j < config->joints.count; j++)
		if (self->host->joint_asked(step, config->joints.at[j]))
			return true;
	return false;
}

static void linear_battery_drain(const struct linear_battery_config *config, struct linear_battery_words *w, double dt)
{
	double raw = w->draining ? config->load_w / w->voltage_v : 0;
	if (w->charging && w->charge_ah < CHARGED * config->capacity_ah)
		raw -= config->capacity_ah / config->charging_h;
	double tau = fmax(config->tau_s, dt);
	w->current_a =
		builtin_clamp(w->current_a + dt / tau * (raw - w->current_a), -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	w->charge_ah -= w->current_a * dt / 3600;
	w->voltage_v = config->constant_v + config->linear_v * (1 - w->charge_ah / config->capacity_ah) -
		       config->resistance_ohm * w->current_a;
}

static void linear_battery_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct linear_battery_config *config = self->config;
	struct linear_battery_words *w = words;
	bool dead = w->charge_ah < 0 || fabs(w->voltage_v) < VOLTAGE_MIN;
	w->started |= config->on_motion && linear_battery_is_driven(self, step);
	w->draining = w->started;
	if ((w->draining && !dead) || w->charging)
		linear_battery_drain(config, w, step->dt);
}

static bool linear_battery_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct linear_battery_config *config = self->config;
	const struct linear_battery_words *w = words;
	double part = w->charge_ah / config->capacity_ah;
	int status = w->charging ? CHARGING : w->draining ? DISCHARGING : part > CHARGED ? FULL : NOT_CHARGING;
	double current_a = config->inverted ? -w->current_a : w->current_a;
	double percentage = config->in_percent ? 100 * part : part;
	const double values[] = {w->voltage_v, current_a, w->charge_ah, config->capacity_ah, percentage, status};
	(void)step;
	(void)output;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		self->host->put(message, config->field[i], values[i]);
	return true;
}

const struct troupe_kind builtin_linear_battery = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("LinearBatteryPlugin"),
	.parameters = linear_battery_parameters,
	.words = linear_battery_word_names,
	.configure = linear_battery_configure,
	.init = linear_battery_init,
	.command = linear_battery_command,
	.pre_update = linear_battery_pre_update,
	.post_update = linear_battery_post_update,
	.report = linear_battery_report,
};

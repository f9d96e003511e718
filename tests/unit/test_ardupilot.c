/* ArduPilot's packets, and two vehicles that are flown by them in one thread: the packets of servo outputs are read as
 * ArduPilot's documents say, byte by byte; the state is parsed as JSON and compared with numbers from elsewhere; and
 * the vehicles of a run answer with the state of their own IMU's link, in their own frames, once for each frame, again
 * when the answer was lost, and never for another vehicle. */
#include "../random.h"
#include "gateway/ardupilot/sitl.h"
#include "gateway/ardupilot/vehicle.h"
#include "library.h"

#include <troupe/client.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(ardupilot, .fini = lib_end, .timeout = 60);

/* --- packets -------------------------------------------------------------------------------------------------------
 */

Test(ardupilot, servo_outputs_have_one_of_two_lengths)
{
	unsigned char bytes[SITL_SERVOS_BYTES_MAX + 1];
	uint64_t dice = 5;
	static const uint32_t magics[] = {18458, 29569, 18457, 29570, 0x1a48, 0};
	for (size_t m = 0; m < ARRAY_LEN(magics); m++)
		for (size_t count = 0; count <= sizeof bytes; count++) {
			struct sitl_servos servos;
			struct troupe_error error = {0};
			for (size_t i = 0; i < sizeof bytes; i++)
				bytes[i] = (unsigned char)random_bits(&dice);
			bytes[0] = (unsigned char)magics[m];
			bytes[1] = (unsigned char)(magics[m] >> 8);
			uint32_t channels = m == 0 && count == 40 ? 16 : m == 1 && count == 72 ? 32 : 0;
			troupe_status status = sitl_read_servos(bytes, count, &servos, &error);
			cr_assert_eq(
				status, channels ? TROUPE_OK : TROUPE_EPROTOCOL, "%u, %zu bytes", magics[m], count);
			cr_assert(channels || strstr(error.text, "expected"));
			if (!channels)
				continue;
			cr_assert_eq(servos.channel_count, channels);
			cr_assert_eq(
				servos.frame, bytes[4] + 256u * bytes[5] + 65536u * bytes[6] + 16777216u * bytes[7]);
			for (uint32_t i = 0; i < channels; i++)
				cr_assert_eq(servos.us[i], bytes[8 + 2 * i] + 256u * bytes[9 + 2 * i], "channel %u", i);
		}
}

static double number_of(const json_t *of, const char *key, size_t index)
{
	const json_t *value = json_object_get(of, key);
	value = json_is_array(value) ? json_array_get(value, index) : value;
	cr_assert(json_is_number(value), "'%s' %zu is no number", key, index);
	return json_number_value(value);
}

static void expect_vector(const json_t *of, const char *key, struct troupe_vec3 v, double tolerance)
{
	const double wanted[] = {v.x, v.y, v.z};
	cr_assert_eq(json_array_size(json_object_get(of, key)), 3, "%s", key);
	for (size_t i = 0; i < 3; i++)
		cr_assert(fabs(number_of(of, key, i) - wanted[i]) <= tolerance, "%s %zu is %.9g: expected %.9g", key, i,
			number_of(of, key, i), wanted[i]);
}

static json_t *parsed(const char *line, size_t count)
{
	json_error_t why;
	cr_assert(count > 2 && line[0] == '\n' && line[count - 1] == '\n');
	json_t *json = json_loadb(line + 1, count - 2, 0, &why);
	cr_assert(json_is_object(json), "%s in %.*s", why.text, (int)count, line);
	return json;
}

/* What a vane measures is the wind against the vehicle, from where it comes, in the vehicle's axes. */
static void check_vane(const json_t *json, const struct sitl_state *state)
{
	const json_t *vane = json_object_get(json, "windvane");
	cr_assert_eq(json_is_object(vane), state->has_wind);
	if (!state->has_wind)
		return;
	double from = number_of(vane, "direction", 0), speed = number_of(vane, "speed", 0);
	struct troupe_vec3 x = troupe_quat_rotate(state->attitude, troupe_vec3_make(1, 0, 0));
	struct troupe_vec3 y = troupe_quat_rotate(state->attitude, troupe_vec3_make(0, 1, 0));
	struct troupe_vec3 air = troupe_vec3_sub(state->wind, state->velocity);
	cr_assert(fabs(-speed * cos(from) - (air.x * x.x + air.y * x.y + air.z * x.z)) < 1e-7 &&
			  fabs(-speed * sin(from) - (air.x * y.x + air.y * y.y + air.z * y.z)) < 1e-7,
		"%g m/s from %g", speed, from);
}

Test(ardupilot, states_are_json_with_the_members_that_are_known)
{
	uint64_t dice = 7;
	for (int round = 0; round < 200; round++) {
		struct text text = {0};
		struct quat q = {random_between(&dice, -1, 1), random_between(&dice, -1, 1),
			random_between(&dice, -1, 1), random_between(&dice, -1, 1)};
		struct sitl_state state = {.time_ns = (int64_t)random_below64(&dice, 1000000000000),
			.gyro = random_vec3(&dice, 9),
			.accel = random_vec3(&dice, 99),
			.position = random_vec3(&dice, 1e4),
			.velocity = random_vec3(&dice, 30),
			.attitude = quat_unit(q),
			.has_wind = random_below(&dice, 2),
			.wind = random_vec3(&dice, 10)};
		for (int i = 0; i < SITL_RANGES_MAX; i++)
			state.ranges[i] = random_below(&dice, 2) ? random_between(&dice, 0, 40) : (double)NAN;
		sitl_add_state(&text, &state);
		json_t *json = parsed(text.at, text.count);
		const json_t *imu = json_object_get(json, "imu");
		cr_assert(fabs(number_of(json, "timestamp", 0) - (double)state.time_ns / 1e9) < 1e-9);
		expect_vector(imu, "gyro", state.gyro, 1e-12);
		expect_vector(imu, "accel_body", state.accel, 1e-12);
		expect_vector(json, "position", state.position, 1e-9);
		expect_vector(json, "velocity", state.velocity, 1e-12);
		const double turned[] = {state.attitude.w, state.attitude.x, state.attitude.y, state.attitude.z};
		for (size_t i = 0; i < 4; i++)
			cr_assert_eq(number_of(json, "quaternion", i), turned[i]);
		size_t members = state.has_wind ? 6 : 5;
		for (int i = 0; i < SITL_RANGES_MAX; i++) {
			char key[8];
			snprintf(key, sizeof key, "rng_%d", i + 1);
			cr_assert_eq(json_object_get(json, key) != NULL, !isnan(state.ranges[i]), "%s", key);
			cr_assert(isnan(state.ranges[i]) || number_of(json, key, 0) == state.ranges[i], "%s", key);
			members += isnan(state.ranges[i]) ? 0 : 1;
		}
		cr_assert_eq(json_object_size(json), members);
		check_vane(json, &state);
		json_decref(json);
		text_fini(&text);
	}
}

/* --- two vehicles --------------------------------------------------------------------------------------------------
 */

#define SENSORS(name)                                                                                                  \
	"<sensor name='" name "' type='imu'><pose>0.1 0 0 0.4 0 0.2</pose><update_rate>1000</update_rate></sensor>"
#define CRAFT_LINK(name, pose)                                                                                         \
	"<link name='" name "'><pose>" pose "</pose>" LIB_INERTIA SENSORS("one") SENSORS("two") "</link>"
#define LIB_INERTIA                                                                                                    \
	"<inertial><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial>"
#define CRAFT_CONTROL(channel, joint, multiplier, offset)                                                              \
	"<control channel='" channel "'><jointName>" joint "</jointName><type>COMMAND</type><multiplier>" multiplier   \
	"</multiplier><offset>" offset "</offset><servo_min>1100</servo_min><servo_max>1900</servo_max></control>"
#define CRAFT_JOINT(name, child)                                                                                       \
	"<joint name='" name "' type='revolute'><parent>base</parent><child>" child "</child><axis><xyz>0 0 1</xyz>"   \
	"</axis></joint>"
#define CRAFT(name, pose, port, imu, airplane, ned)                                                                    \
	"<model name='" name "'><pose>" pose "</pose>" CRAFT_LINK("base", "0 0 0.5 0.1 0 0.3") CRAFT_LINK("arm",       \
		"1 0 0.5 0 0.2 0") CRAFT_JOINT("first", "arm") CRAFT_LINK("tip", "2 0 0 0 0 1") CRAFT_JOINT("second",  \
		"tip") "<plugin name='ArduPilotPlugin' filename='x'><fdm_port_in>" port "</fdm_port_in><imuName>" imu  \
		       "</imuName>" airplane ned                                                                       \
		       "<sensor><index>3</index><topic>none</topic></sensor>" CRAFT_CONTROL("0", "first", "10", "0")   \
			       CRAFT_CONTROL("5", "second", "-4", "-0.5") "</plugin></model>"

#define CRAFT_AIRPLANE "<modelXYZToAirplaneXForwardZDown>0.1 0.2 0.3 3 0.2 0.1</modelXYZToAirplaneXForwardZDown>"
#define CRAFT_NED "<gazeboXYZToNED>1 2 3 3.1 0.1 1.5</gazeboXYZToNED>"

/* As the two elements say; without them both are half a turn about x. */
static const struct troupe_pose over = {.qx = 1};

static struct troupe_pose pose_of_rpy(double x, double y, double z, double roll, double pitch, double yaw)
{
	struct troupe_quat about_x = {cos(roll / 2), sin(roll / 2), 0, 0},
			   about_y = {cos(pitch / 2), 0, sin(pitch / 2), 0},
			   about_z = {cos(yaw / 2), 0, 0, sin(yaw / 2)};
	return troupe_pose_make(troupe_vec3_make(x, y, z), troupe_quat_mul(about_z, troupe_quat_mul(about_y, about_x)));
}

struct craft {
	const char *model, *imu_link, *imu_topic;
	uint32_t port;
	struct autopilot_client *vehicle;
	int file; /* of the one that stands in for ArduPilot */
	uint32_t frame;
	int said, woken;
	char line[256];
};

static struct craft crafts[2];
static struct troupe_server *craft_server;

static void craft_say(void *ctx, const char *text)
{
	struct craft *craft = ctx;
	craft->said++;
	snprintf(craft->line, sizeof craft->line, "%s", text);
}

static void craft_wake(void *ctx)
{
	((struct craft *)ctx)->woken++;
}

static struct autopilot_client_def craft_def(struct craft *craft, const char *model, uint32_t port)
{
	struct autopilot_client_def def = {.server = craft_server,
		.title = "ArduPilot",
		.model = model,
		.number = port,
		.say = craft_say,
		.wake = craft_wake,
		.ctx = craft};
	must(address_parse_local("127.0.0.1", (uint16_t)port, &def.address, &lib_error));
	return def;
}

static bool craft_port_is_free(uint32_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int file = socket(AF_INET, SOCK_DGRAM, 0);
	cr_assert_geq(file, 0);
	bool is_free = !bind(file, (struct sockaddr *)&at, sizeof at);
	close(file);
	return is_free;
}

/* The first of two ports. Tests that run side by side try others, below those that the system gives away. */
static uint32_t craft_free_ports(void)
{
	uint32_t base = 20000 + (uint32_t)getpid() * 2 % 12000;
	while (!craft_port_is_free(base) || !craft_port_is_free(base + 1))
		base += 2;
	return base;
}

/* Makes the world and its vehicles. */
static void craft_start(void)
{
	static const char *const names[] = {"a", "b"};
	uint32_t base = craft_free_ports();
	char *world = mem_printf(
		LIB_SDF("<world name='w'><wind><linear_velocity>3 -2 1</linear_velocity></wind>" LIB_HEAD CRAFT(
			"a", "5 6 7 0.2 0.3 0.4", "%u", "two", "", "")
				CRAFT("b", "-5 2 9 0 0 2", "%u", "arm::two", CRAFT_AIRPLANE, CRAFT_NED) "</world>"),
		base, base + 1);
	craft_server = lib_server(world, 0);
	free(world);
	for (uint32_t i = 0; i < 2; i++) {
		struct craft *craft = &crafts[i];
		const struct autopilot_client_def def = craft_def(craft, names[i], base + i);
		*craft = (struct craft){.model = names[i], .imu_link = i ? "arm" : "base", .port = base + i};
		must(vehicle_create(&def, &craft->vehicle, &lib_error));
		cr_assert(craft->vehicle->def.number == base + i && !strcmp(craft->vehicle->model, names[i]));
		struct sockaddr_in at = {.sin_family = AF_INET,
			.sin_port = htons((uint16_t)(base + i)),
			.sin_addr = {htonl(INADDR_LOOPBACK)}};
		craft->file = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		cr_assert(craft->file >= 0 && !connect(craft->file, (struct sockaddr *)&at, sizeof at));
	}
}

static void craft_stop(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		vehicle_destroy(crafts[i].vehicle);
		close(crafts[i].file);
	}
}

/* Channel 0 and channel 5 of 16. */
static void craft_send(const struct craft *craft, uint32_t frame, uint32_t first_us, uint32_t second_us)
{
	unsigned char bytes[40] = {18458 & 0xff, 18458 >> 8, 0x90, 1};
	for (int i = 0; i < 4; i++)
		bytes[4 + i] = (unsigned char)(frame >> 8 * i);
	for (int i = 0; i < 2; i++) {
		bytes[8 + i] = (unsigned char)(first_us >> 8 * i);
		bytes[18 + i] = (unsigned char)(second_us >> 8 * i);
	}
	cr_assert_eq(send(craft->file, bytes, sizeof bytes, 0), (ssize_t)sizeof bytes);
}

/* The next answer; 0: there is none. */
static size_t craft_take(const struct craft *craft, char *line, size_t bytes)
{
	ssize_t count = recv(craft->file, line, bytes, MSG_DONTWAIT);
	return count > 0 ? (size_t)count : 0;
}

static struct troupe_link_state craft_at(const struct craft *craft)
{
	return lib_link_at(craft_server, lib_link(craft_server, craft->model, craft->imu_link));
}

static void craft_check(
	const struct craft *craft, const struct troupe_link_state *link, const char *line, size_t count, double time_s)
{
	bool second = craft == &crafts[1];
	struct troupe_pose ned = troupe_pose_inverse(second ? pose_of_rpy(1, 2, 3, 3.1, 0.1, 1.5) : over);
	struct troupe_pose airplane = second ? pose_of_rpy(0.1, 0.2, 0.3, 3, 0.2, 0.1) : over;
	struct troupe_pose at = troupe_pose_mul(ned, troupe_pose_mul(link->pose, airplane));
	json_t *json = parsed(line, count);
	cr_assert(fabs(number_of(json, "timestamp", 0) - time_s) < 1e-9, "%s: at %g s: expected %g", craft->model,
		number_of(json, "timestamp", 0), time_s);
	expect_vector(json, "position", troupe_vec3_make(at.x, at.y, at.z), 1e-9);
	expect_vector(json, "velocity", troupe_quat_rotate(troupe_pose_turn(ned), link->twist.linear), 1e-9);
	const double turned[] = {at.qw, at.qx, at.qy, at.qz};
	double same = 0;
	for (size_t i = 0; i < 4; i++)
		same += number_of(json, "quaternion", i) * turned[i];
	cr_assert(fabs(fabs(same) - 1) < 1e-9, "%s: turned", craft->model);
	struct troupe_vec3 wind = troupe_quat_rotate(troupe_pose_turn(ned), troupe_vec3_make(3, -2, 1));
	const struct sitl_state state = {.has_wind = true,
		.wind = wind,
		.attitude = troupe_pose_turn(at),
		.velocity = troupe_quat_rotate(troupe_pose_turn(ned), link->twist.linear)};
	check_vane(json, &state);
	cr_assert(!json_object_get(json, "rng_3"), "a rangefinder that measures nothing");
	json_decref(json);
}

/* Frames 1 to STEPS of both; of the second every third one is sent twice, as if the answer had been lost. */
Test(ardupilot, two_vehicles_are_answered_in_their_own_frames)
{
	enum { STEPS = 12 };
	char line[2][4096];
	size_t count;
	craft_start();
	for (uint32_t i = 0; i < 2; i++)
		cr_assert(!vehicle_hear(crafts[i].vehicle) && !autopilot_client_is_joined(crafts[i].vehicle));
	lib_step(craft_server, 3); /* alone: nobody waits */
	craft_send(&crafts[1], 1, 1500, 1500);
	cr_assert(!vehicle_hear(crafts[0].vehicle), "that was for the other one");
	cr_assert(vehicle_hear(crafts[1].vehicle) && autopilot_client_is_joined(crafts[1].vehicle) &&
		  !autopilot_client_is_joined(crafts[0].vehicle));
	cr_assert(strstr(crafts[1].line, "ArduPilot of 'b': joined from 127.0.0.1:") && crafts[0].said == 0);
	craft_send(&crafts[0], 1, 1500, 1500);
	cr_assert(vehicle_hear(crafts[0].vehicle));
	lib_step(craft_server, 1); /* with the outputs with which they came: no answer yet */
	cr_assert(!craft_take(&crafts[0], line[0], sizeof line[0]) && !craft_take(&crafts[1], line[0], sizeof line[0]));
	for (uint32_t frame = 2; frame < STEPS; frame++) {
		struct troupe_link_state at[2] = {craft_at(&crafts[0]), craft_at(&crafts[1])};
		double time_s = (double)lib_steps(craft_server) * LIB_DT_S;
		bool lost = frame % 3 == 0;
		if (lost)
			craft_send(&crafts[1], frame - 1, 1500, 1500);
		for (uint32_t i = 0; i < 2; i++)
			craft_send(&crafts[i], frame, 1500, 1500);
		lib_step(craft_server, 1);
		for (uint32_t i = 0; i < 2; i++) {
			count = craft_take(&crafts[i], line[0], sizeof line[0]);
			craft_check(&crafts[i], &at[i], line[0], count, time_s);
			if (lost && i)
				cr_assert(craft_take(&crafts[i], line[1], sizeof line[1]) == count &&
						  !memcmp(line[0], line[1], count),
					"the same answer again");
			cr_assert_eq(craft_take(&crafts[i], line[1], sizeof line[1]), 0, "one answer to one frame");
		}
	}
	craft_stop();
	lib_step(craft_server, 3); /* they have left: nobody waits */
}

static double craft_double(const struct troupe_message *message)
{
	double value = 0; /* of a gz.msgs.Double that has its value at the end, unless it is 0 */
	if (message->count < 9)
		return value;
	memcpy(&value, (const char *)message->bytes + message->count - 8, 8);
	return value;
}

/* Of the second vehicle and the second control; clamped at both ends, and the first vehicle gets its own. */
Test(ardupilot, servo_outputs_become_commands_of_their_vehicle)
{
	static const struct {
		uint32_t us;
		double part;
	} cases[] = {{1500, 0.5}, {1100, 0}, {1900, 1}, {1000, 0}, {2000, 1}, {1300, 0.25}, {1100, 0}};
	struct troupe_client *client;
	struct troupe_message message;
	craft_start();
	must(troupe_client_create(craft_server, &(struct troupe_client_def){0}, &client, &lib_error));
	must(troupe_client_subscribe(client, "/world/w/model/b/joint/second/cmd", 0, &lib_error));
	must(troupe_client_subscribe(client, "/world/w/model/a/joint/first/cmd", 0, &lib_error));
	for (uint32_t frame = 1; frame <= ARRAY_LEN(cases); frame++) {
		for (uint32_t i = 0; i < 2; i++) {
			craft_send(&crafts[i], frame, i ? 1700 : cases[frame - 1].us, i ? cases[frame - 1].us : 1200);
			cr_assert(frame > 1 || vehicle_hear(crafts[i].vehicle));
		}
		lib_step(craft_server, 1);
		double got[2] = {NAN, NAN};
		while (troupe_client_take(client, 0, &message))
			got[strstr(message.topic, "/b/") != NULL] = craft_double(&message);
		cr_assert(frame == 1 || fabs(got[1] - -4 * (cases[frame - 1].part - 0.5)) < 1e-12, "frame %u: %g",
			frame, got[1]);
		cr_assert(
			frame == 1 || fabs(got[0] - 10 * cases[frame - 1].part) < 1e-12, "frame %u: %g", frame, got[0]);
	}
	troupe_client_destroy(client);
	craft_stop();
}

/* What is no packet is told once for each vehicle; a port that is taken is an error. */
Test(ardupilot, rubbish_is_told_once_and_a_port_is_taken_once)
{
	craft_start();
	for (int round = 0; round < 3; round++) {
		cr_assert_eq(send(crafts[1].file, "rubbish", 7, 0), 7);
		cr_assert(!vehicle_hear(crafts[1].vehicle));
	}
	cr_assert(crafts[1].said == 1 && crafts[0].said == 0 &&
			  strstr(crafts[1].line, "ArduPilot of 'b': a packet of 7 bytes"),
		"%s", crafts[1].line);
	const struct autopilot_client_def def = craft_def(&crafts[1], "b", crafts[0].port);
	struct autopilot_client *none = NULL;
	refused(TROUPE_EIO, vehicle_create(&def, &none, &lib_error));
	cr_assert(none == NULL && strstr(lib_error.text, "'b'"));
	craft_stop();
}

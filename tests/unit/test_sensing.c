/* Sensors of a running world, as their subscribers see them: rates and stamps, values against formulas, and what comes
 * of models that come, go and sleep. */
#include "clients.h"

#include "base/outfile.h"
#include "mesh/importer.h"
#include "mesh/png_out.h"
#include "sensor/rays.h"
#include "topic/motion.pb-c.h"
#include "topic/sensor.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <math.h>
#include <string.h>

#define SENSORS(rate)                                                                                                  \
	"<sensor name='imu' type='imu'><update_rate>" rate "</update_rate></sensor>"                                   \
	"<sensor name='alt' type='altimeter'><update_rate>" rate "</update_rate></sensor>"                             \
	"<sensor name='mag' type='magnetometer'><update_rate>" rate "</update_rate><topic>field</topic></sensor>"      \
	"<sensor name='nav' type='navsat'><update_rate>" rate "</update_rate></sensor>"                                \
	"<sensor name='air' type='air_pressure'><update_rate>" rate "</update_rate></sensor>"                          \
	"<sensor name='wind' type='air_speed'><update_rate>" rate "</update_rate></sensor>"
#define BOX(name, pose, extra)                                                                                         \
	"<model name='" name "'><pose>" pose "</pose>" extra "<link name='l'><inertial><mass>2</mass></inertial>"      \
	"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>" SENSORS(                  \
		"100") "</link></model>"
#define FLOOR                                                                                                          \
	"<model name='floor'><static>1</static><link name='l'><collision name='c'><geometry><plane/></geometry>"       \
	"</collision>" SENSORS("10") "</link></model>"
/* A load of 0.5 kg on a box, 0.3 m off its middle. */
#define STAND                                                                                                          \
	"<model name='stand'><pose>20 0 0.5 0 0 0</pose><link name='l'><inertial><mass>2</mass></inertial>"            \
	"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link><link name='load'>"  \
	"<pose>0.3 0 0.6 0 0 1.5707963267948966</pose><inertial><mass>0.5</mass></inertial></link><joint name='j' "    \
	"type='fixed'><parent>l</parent><child>load</child><pose relative_to='l'>0 0 0.5 0 0 0</pose><sensor "         \
	"name='ft' type='force_torque'><update_rate>100</update_rate></sensor></joint></model>"
static const char world[] =
	"<sdf version='1.9'><world name='w'><magnetic_field>1e-5 2e-5 -4e-5</magnetic_field><spherical_coordinates>"
	"<surface_model>EARTH_WGS84</surface_model><latitude_deg>10</latitude_deg><longitude_deg>20</longitude_deg>"
	"<elevation>100</elevation></spherical_coordinates>" FLOOR BOX("falling", "0 0 900 0 0 0", "")
		STAND BOX("lying", "5 0 0.5 0 0 0", "")
			BOX("turned", "9 0 900 0 0 1.5707963267948966", "") "</world></sdf>";

#define TOPIC(model, sensor, last) "/world/w/model/" model "/link/l/sensor/" sensor "/" last

struct seen { /* messages of one topic */
	uint32_t count;
	struct troupe_message last;
	void *message; /* the last one, decoded */
};

static struct troupe_server *server;
static struct troupe_client *client;

static void stop(void)
{
	client_destroy(client);
	lib_destroy(server);
	client = NULL;
	server = NULL;
}

TestSuite(sensing, .fini = stop, .timeout = 60);

static void start_world(const char *text)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	stop();
	def.world_path = "w.sdf";
	def.world_text = text;
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	client = client_of(server, 4096);
}

static void start(void)
{
	start_world(world);
}

static void take_steps(uint64_t count)
{
	struct troupe_error error;
	cr_assert_eq(troupe_server_step(server, count, &error), TROUPE_OK, "%s", error.text);
}

/* Takes all messages that wait, and keeps the last one of the topic. The caller frees its message. */
static struct seen drain(const char *topic)
{
	struct seen seen = {0};
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message)) {
		if (strcmp(message.topic, topic) != 0)
			continue;
		if (seen.message)
			message_free(seen.message);
		seen.message = decode(&message);
		seen.last = message;
		seen.count++;
	}
	return seen;
}

static void near(double found, double expected, double tolerance, const char *what)
{
	cr_assert(fabs(found - expected) <= tolerance, "%s: %.12g, expected %.12g", what, found, expected);
}

Test(sensing, imu_falls_lies_and_is_at_rest)
{
	start();
	subscribe(client, TOPIC("falling", "imu", "imu"), 0);
	subscribe(client, TOPIC("lying", "imu", "imu"), 0);
	subscribe(client, TOPIC("floor", "imu", "imu"), 0);
	take_steps(2000); /* long enough for the one that lies to sleep */
	uint32_t of[3] = {0};
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message)) {
		static const char *const names[] = {"falling::l::imu", "lying::l::imu", "floor::l::imu"};
		Gz__Msgs__IMU *imu = decode(&message);
		uint32_t which = !strcmp(imu->entity_name, names[0]) ? 0 : !strcmp(imu->entity_name, names[1]) ? 1 : 2;
		cr_assert_str_eq(imu->entity_name, names[which]);
		cr_assert_str_eq(imu->header->data[0]->value[0], names[which]);
		near(imu->linear_acceleration->x, 0, 1e-9, "acceleration x");
		near(imu->linear_acceleration->z, which ? 9.8 : 0, which == 1 ? 0.05 : 1e-9, "acceleration z");
		near(imu->orientation->w, 1, 1e-9, "orientation");
		of[which]++;
		message_free(&imu->base);
	}
	cr_assert_eq(of[0], 200);
	cr_assert_eq(of[1], 200, "asleep it goes on measuring: %u", of[1]);
	cr_assert_eq(of[2], 20);
}

Test(sensing, altitude_place_and_air)
{
	const double t = 1, drop = 9.8 * t * t / 2;
	start();
	subscribe(client, TOPIC("falling", "alt", "altimeter"), 0);
	take_steps(1000);
	struct seen seen = drain(TOPIC("falling", "alt", "altimeter"));
	const Gz__Msgs__Altimeter *altimeter = seen.message;
	cr_assert_eq(seen.count, 100);
	near(altimeter->vertical_position, -drop, 0.006, "vertical position");
	near(altimeter->vertical_velocity, -9.8 * t, 1e-6, "vertical velocity");
	near(altimeter->vertical_reference, 900, 1e-9, "vertical reference");
	cr_assert_eq(altimeter->header->stamp->sec, 1);
	message_free(seen.message);

	troupe_client_unsubscribe(client, TOPIC("falling", "alt", "altimeter"));
	subscribe(client, TOPIC("falling", "nav", "navsat"), 0);
	take_steps(10);
	seen = drain(TOPIC("falling", "nav", "navsat"));
	cr_assert_geq(seen.count, 1);
	const Gz__Msgs__NavSat *navsat = seen.message;
	near(navsat->latitude_deg, 10, 1e-9, "latitude");
	near(navsat->longitude_deg, 20, 1e-9, "longitude");
	near(navsat->altitude, 1000 - 9.8 * 1.01 * 1.01 / 2, 0.006, "altitude");
	near(navsat->velocity_up, -9.8 * 1.01, 1e-6, "velocity up");
	message_free(seen.message);
}

/* U.S. Standard Atmosphere 1976 at 488 m, the elevation of the world, and above. The altitude of z = 0 is that of the
 * world, also after a command has changed it, or <reference_altitude>; an air speed sensor has the same air. */
#define BAROMETER(name, z, own)                                                                                        \
	"<model name='" name "'><static>1</static><pose>0 0 " z " 0 0 0</pose><link name='l'><sensor name='p' "        \
	"type='air_pressure'><update_rate>10</update_rate>" own "</sensor><sensor name='s' type='air_speed'>"          \
	"<update_rate>10</update_rate></sensor></link></model>"
#define REFERENCE(altitude) "<air_pressure><reference_altitude>" altitude "</reference_altitude></air_pressure>"
static const char valley[] =
	"<sdf version='1.9'><world name='w'><spherical_coordinates><surface_model>EARTH_WGS84</surface_model>"
	"<latitude_deg>47</latitude_deg><longitude_deg>8</longitude_deg><elevation>488</elevation>"
	"</spherical_coordinates>" BAROMETER("low", "0", "") BAROMETER("high", "1012", REFERENCE("0"))
		BAROMETER("own", "0", REFERENCE("2000")) "</world></sdf>";

static void expect_air(const char *model, double pressure_Pa, double temperature_K)
{
	char *pressure = mem_printf("/world/w/model/%s/link/l/sensor/p/air_pressure", model);
	char *speed = mem_printf("/world/w/model/%s/link/l/sensor/s/air_speed", model);
	subscribe(client, pressure, 0);
	subscribe(client, speed, 0);
	take_steps(200);
	struct troupe_message message;
	uint32_t found = 0;
	while (troupe_client_take(client, 0, &message)) {
		void *decoded = decode(&message);
		if (!strcmp(message.topic, pressure)) {
			near(((Gz__Msgs__FluidPressure *)decoded)->pressure, pressure_Pa, 2e-5 * pressure_Pa, model);
			found |= 1;
		} else if (!strcmp(message.topic, speed)) {
			near(((Gz__Msgs__AirSpeed *)decoded)->temperature, temperature_K, 1e-3, model);
			found |= 2;
		}
		message_free(decoded);
	}
	cr_assert_eq(found, 3, "%s", model);
	troupe_client_unsubscribe(client, pressure);
	troupe_client_unsubscribe(client, speed);
	free(pressure);
	free(speed);
}

Test(sensing, air_is_that_of_the_altitude)
{
	struct troupe_error error;
	start_world(valley);
	expect_air("low", 95598, 284.978);
	expect_air("high", 84560, 278.402);
	expect_air("own", 79501, 284.978);
	cr_assert_eq(troupe_command_text(server, NULL, "/world/w/set_spherical_coordinates",
			     "latitude_deg: 47 longitude_deg: 8 elevation: 2488", NULL, &error),
		TROUPE_OK, "%s", error.text);
	take_steps(10);
	expect_air("low", 74804, 271.984);
	expect_air("own", 79501, 271.984);
}

Test(sensing, field_is_in_the_axes_of_the_sensor)
{
	start();
	subscribe(client, "/field", 0); /* the topic of all magnetometers: one message of each */
	take_steps(10);
	struct troupe_message message;
	bool found = false;
	while (troupe_client_take(client, 0, &message)) {
		Gz__Msgs__Magnetometer *field = decode(&message);
		if (!strcmp(field->header->data[0]->value[0], "turned::l::mag")) {
			near(field->field_tesla->x, 2e-5, 1e-12, "field x");
			near(field->field_tesla->y, -1e-5, 1e-12, "field y");
			near(field->field_tesla->z, -4e-5, 1e-12, "field z");
			found = true;
		}
		message_free(&field->base);
	}
	cr_assert(found);
}

Test(sensing, a_client_may_ask_for_fewer)
{
	start();
	subscribe(client, TOPIC("falling", "imu", "imu"), 7);
	subscribe(client, TOPIC("floor", "imu", "imu"), 3);
	take_steps(2000);
	uint32_t of[2] = {0};
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message))
		of[strstr(message.topic, "floor") != NULL]++;
	cr_assert(of[0] >= 13 && of[0] <= 15, "%u messages of 7 Hz in 2 s", of[0]);
	cr_assert(of[1] >= 5 && of[1] <= 7, "%u messages of 3 Hz in 2 s", of[1]);
}

Test(sensing, models_come_and_go)
{
	struct troupe_error error;
	start();
	subscribe(client, "/world/w/model/new/link/l/sensor/imu/imu", 0);
	take_steps(100);
	struct troupe_message message;
	cr_assert_not(troupe_client_take(client, 0, &message));
	cr_assert_eq(troupe_server_command(server, 100, "/world/w/create",
			     "sdf: \"<sdf version='1.9'><model name='new'><link name='l'><sensor name='imu' type='imu'>"
			     "<update_rate>50</update_rate></sensor></link></model></sdf>\"",
			     &error),
		TROUPE_OK, "%s", error.text);
	cr_assert_eq(troupe_server_command(server, 600, "/world/w/remove", "name: 'new' type: MODEL", &error),
		TROUPE_OK, "%s", error.text);
	take_steps(900);
	uint32_t count = 0;
	while (troupe_client_take(client, 0, &message))
		count++;
	cr_assert(count >= 24 && count <= 25, "%u messages of 50 Hz in half a second", count);
}

/* The stand has been asleep for long when somebody asks. What the load exerts on the joint, in the load's axes, which
 * are turned by a quarter: m g, and its lever about the sensor. */
Test(sensing, a_force_torque_sensor_weighs_what_is_on_it)
{
	const char *topic = "/world/w/model/stand/joint/j/sensor/ft/forcetorque";
	start();
	take_steps(2500);
	subscribe(client, topic, 0);
	take_steps(100);
	struct seen seen = drain(topic);
	const Gz__Msgs__Wrench *wrench = seen.message;
	cr_assert_eq(seen.count, 10);
	near(wrench->force->x, 0, 1e-3, "force x");
	near(wrench->force->y, 0, 1e-3, "force y");
	near(wrench->force->z, -0.5 * 9.8, 1e-3, "force z");
	near(wrench->torque->x, 0.3 * 0.5 * 9.8, 1e-3, "torque x");
	near(wrench->torque->y, 0, 1e-3, "torque y");
	near(wrench->torque->z, 0, 1e-3, "torque z");
	cr_assert_str_eq(wrench->header->data[0]->value[0], "stand::j::ft");
	message_free(seen.message);
}

static void near_all(const double *found, size_t count, const double *expected, size_t expected_count, const char *what)
{
	cr_assert_eq(count, expected_count, "%s: %zu numbers, expected %zu", what, count, expected_count);
	for (size_t i = 0; i < count; i++)
		near(found[i], expected[i], 1e-9 * fmax(1, fabs(expected[i])), what);
}

/* The matrices K, P and R and the distortion, as ROS's sensor_msgs/CameraInfo defines them, which Gazebo's has too. */
Test(sensing, what_is_said_of_a_camera)
{
#define CAMERA(name, distortion, lens)                                                                                 \
	"<sensor name='" name "' type='camera'><update_rate>100</update_rate><camera><horizontal_fov>1.2"              \
	"</horizontal_fov><image><width>64</width><height>48</height></image>" distortion lens "</camera></sensor>"
	static const char cameras[] =
		"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>" CAMERA(
			"fov", "", "") CAMERA("all",
			"<distortion><k1>0.1</k1><k2>0.2</k2><k3>0.3</k3><p1>0.4</p1><p2>0.5</p2></distortion>",
			"<lens><intrinsics><fx>50</fx><fy>51</fy><cx>33</cx><cy>25</cy><s>0.5</s></"
			"intrinsics><projection><p_fx>60"
			"</p_fx><p_fy>61</p_fy><p_cx>34</p_cx><p_cy>26</p_cy><tx>-7</tx><ty>2</ty></"
			"projection></lens>") "<sensor name='wide' type='wide_angle_camera'><update_rate>100"
					      "</update_rate><camera><horizontal_fov>4</horizontal_fov><image>"
					      "<width>64</width><height>48</height></image><lens><type>equidistant"
					      "</type></lens></camera></sensor></link></model></world></sdf>";
	const double f = 32 / tan(0.6);
	const struct {
		const char *topic;
		double k[9], p[12], d[5];
	} expected[] = {{TOPIC("m", "fov", "camera_info"), {f, 0, 32, 0, f, 24, 0, 0, 1},
				{f, 0, 32, 0, 0, f, 24, 0, 0, 0, 1, 0}, {0}},
		{TOPIC("m", "wide", "camera_info"), {16, 0, 32, 0, 16, 24, 0, 0, 1},
			{16, 0, 32, 0, 0, 16, 24, 0, 0, 0, 1, 0}, {0}},
		{TOPIC("m", "all", "camera_info"), {50, 0.5, 33, 0, 51, 25, 0, 0, 1},
			{60, 0, 34, -7, 0, 61, 26, 2, 0, 0, 1, 0}, {0.1, 0.2, 0.4, 0.5, 0.3}}};
	static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	if (!rays_available())
		cr_skip_test("built without Embree");
	def.world_path = "w.sdf";
	def.world_text = cameras;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	client = client_of(server, 64);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		subscribe(client, expected[i].topic, 0);
		take_steps(30);
		struct seen seen = drain(expected[i].topic);
		cr_assert(seen.message, "%s: no message", expected[i].topic);
		const Gz__Msgs__CameraInfo *info = seen.message;
		cr_assert(info->width == 64 && info->height == 48);
		near_all(info->intrinsics->k, info->intrinsics->n_k, expected[i].k, 9, "K");
		near_all(info->projection->p, info->projection->n_p, expected[i].p, 12, "P");
		near_all(info->distortion->k, info->distortion->n_k, expected[i].d, 5, "D");
		near_all(info->rectification_matrix, info->n_rectification_matrix, identity, 9, "R");
		message_free(seen.message);
	}
}

/* --- pictures ------------------------------------------------------------------------------------------------------
 */

enum { W = 7, H = 5 };
static const struct {
	const char *format;
	Gz__Msgs__PixelFormatType type;
	uint32_t bytes;
	const char *square; /* of the Bayer formats: the colours of the first 2 x 2 pixels */
} pictures[] = {{"R8G8B8", GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8, 3, NULL},
	{"B8G8R8", GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8, 3, NULL},
	{"L8", GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8, 1, NULL}, {"L16", GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16, 2, NULL},
	{"BAYER_RGGB8", GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_RGGB8, 1, "RGGB"},
	{"BAYER_BGGR8", GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_BGGR8, 1, "BGGR"},
	{"BAYER_GBRG8", GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GBRG8, 1, "GBRG"},
	{"BAYER_GRBG8", GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GRBG8, 1, "GRBG"}};

/* Eight cameras in one place, before a grid of colours. */
static char *world_of_pictures(void)
{
	struct text text = {0};
	text_add(&text, "<sdf version='1.9'><world name='w'><scene><ambient>1 1 1 1</ambient></scene>");
	text_add(&text, "<model name='wall'><static>1</static><link name='l'>");
	for (int i = 0; i < 24; i++)
		text_add(&text,
			"<visual name='v%d'><pose>2 %g %g 0 0 0</pose><geometry><box><size>0.1 0.3 0.3</size></box>"
			"</geometry><material><ambient>%g %g %g 1</ambient></material></visual>",
			i, 0.3 * (i % 6 - 2.5), 0.3 * (i / 6 - 1.5), i % 3 / 2.0, i % 5 / 4.0, i % 7 / 6.0);
	text_add(&text, "</link></model><model name='m'><static>1</static><link name='l'>");
	for (size_t i = 0; i < ARRAY_LEN(pictures); i++)
		text_add(&text,
			"<sensor name='%s' type='camera'><update_rate>100</update_rate><camera><image><width>%d"
			"</width><height>%d</height><format>%s</format></image></camera></sensor>",
			pictures[i].format, W, H, pictures[i].format);
	text_add(&text, "</link></model></world></sdf>");
	return text.at;
}

/* What the picture should have at a pixel, from the pixel of the picture in red, green and blue. */
static void assert_pixel(size_t which, const uint8_t *rgb, uint32_t row, uint32_t column, const uint8_t *found)
{
	double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
	const char *square = pictures[which].square, *colours = "RGB";
	if (square)
		cr_assert_eq(*found, rgb[strchr(colours, square[2 * (row % 2) + column % 2]) - colours]);
	else if (pictures[which].bytes == 3)
		cr_assert(found[0] == rgb[2] && found[1] == rgb[1] && found[2] == rgb[0]);
	else if (pictures[which].bytes == 1)
		near(*found, grey, 0.5, "grey");
	else
		near(found[0] + 256 * found[1], grey * 257, 0.5, "grey of 16 bits");
}

Test(sensing, pictures_in_each_format)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	uint8_t rgb[3 * W * H];
	char topic[128];
	if (!rays_available())
		cr_skip_test("built without Embree");
	char *text = world_of_pictures();
	def.world_path = "w.sdf";
	def.world_text = text;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	free(text);
	client = client_of(server, 64);
	for (size_t i = 0; i < ARRAY_LEN(pictures); i++) {
		snprintf(topic, sizeof topic, TOPIC("m", "%s", "image"), pictures[i].format);
		subscribe(client, topic, 0);
		take_steps(30);
		struct seen seen = drain(topic);
		cr_assert(seen.message, "%s: no message", topic);
		const Gz__Msgs__Image *image = seen.message;
		cr_assert_eq(image->pixel_format_type, pictures[i].type, "%s", topic);
		cr_assert_eq(image->step, pictures[i].bytes * W);
		cr_assert_eq(image->data.len, (size_t)pictures[i].bytes * W * H);
		if (!i)
			memcpy(rgb, image->data.data, sizeof rgb);
		for (uint32_t p = 0; i && p < W * H; p++)
			assert_pixel(
				i, &rgb[3 * (size_t)p], p / W, p % W, &image->data.data[(size_t)pictures[i].bytes * p]);
		message_free(seen.message);
	}
}

/* --- compressed pictures -------------------------------------------------------------------------------------------
 */

/* The caller frees the message. */
static struct seen look(const char *text, const char *topic)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	stop();
	def.world_path = "w.sdf";
	def.world_text = text;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	client = client_of(server, 64);
	subscribe(client, topic, 0);
	take_steps(30);
	struct seen seen = drain(topic);
	cr_assert(seen.message, "%s: no message", topic);
	return seen;
}

/* A picture of bytes, as texels; the caller releases it. */
static struct texture *unpacked(struct importer *importer, const ProtobufCBinaryData *data)
{
	struct importer_losses losses = {0};
	struct texture *texture;
	struct troupe_error error;
	cr_assert_eq(importer_texture(importer, &losses, (const char *)data->data, data->len, &texture, &error),
		TROUPE_OK, "%s", error.text);
	return texture;
}

/* The largest and the mean difference of the texels from the pixels of red, green and blue. */
static double difference(const struct texture *texture, const uint8_t *rgb, double *ret_mean)
{
	uint32_t width = texture_width(texture), height = texture_height(texture);
	double most = 0, sum = 0;
	for (uint32_t i = 0; i < width * height; i++) {
		float rgba[4];
		struct texture_place place = {
			.u = (i % width + 0.5) / width, .v = ((double)(i / width) + 0.5) / height};
		texture_sample(texture, &place, rgba);
		for (uint32_t c = 0; c < 3; c++) {
			double off = fabs((double)rgba[c] * 255 - rgb[3 * i + c]);
			most = fmax(most, off);
			sum += off;
		}
	}
	*ret_mean = sum / (3.0 * width * height);
	return most;
}

#define PACKED(name, type, format, inside)                                                                             \
	"<sensor name='" name "' type='" type "'><update_rate>100</update_rate><camera><image><width>64</width>"       \
	"<height>48</height><format>" format "</format></image><troupe:compressed>" inside                             \
	"</troupe:compressed></camera></sensor>"
#define PACKED_WORLD                                                                                                   \
	"<sdf version='1.9'><world name='w'><light name='sun' type='directional'><direction>1 0.5 -1</direction>"      \
	"</light><model name='ball'><static>1</static><pose>3 0 0 0 0 0</pose><link name='l'><visual name='v'>"        \
	"<geometry><sphere><radius>1</radius></sphere></geometry><material><diffuse>1 0.5 0.2</diffuse></material>"    \
	"</visual></link></model><model name='m'><static>1</static><link name='l'>" PACKED(                            \
		"raw", "camera", "R8G8B8", "") PACKED("fine", "camera", "R8G8B8", "<quality>95</quality>")             \
		PACKED("coarse", "camera", "R8G8B8", "<quality>10</quality>") PACKED("png", "camera", "R8G8B8",        \
			"<format>png</format>") PACKED("swapped", "camera", "B8G8R8", "<format>png</format>")          \
			PACKED("slow", "camera", "R8G8B8", "<rate>30</rate>")                                          \
				PACKED("depth", "depth_camera", "R8G8B8", "") "</link></model></world></sdf>"

/* PNG has the same pixels, also of a picture in blue, green and red; JPEG nearly, and the nearer the higher the
 * quality. 100 pictures a second are 25 where 30 are asked for: each fourth. */
Test(sensing, compressed_pictures)
{
	static const struct {
		const char *topic, *format;
		double most, mean;
	} rows[] = {{TOPIC("m", "raw", "image/compressed"), "jpeg", 100, 5},
		{TOPIC("m", "fine", "image/compressed"), "jpeg", 70, 3},
		{TOPIC("m", "coarse", "image/compressed"), "jpeg", 200, 20},
		{TOPIC("m", "png", "image/compressed"), "png", 0.01, 0.01},
		{TOPIC("m", "swapped", "image/compressed"), "png", 0.01, 0.01},
		{TOPIC("m", "slow", "image/compressed"), "jpeg", 100, 5}};
	if (!rays_available() || !png_out_is_available())
		cr_skip_test("built without Embree or libpng");
	struct importer *importer = importer_create();
	struct seen raw = look(PACKED_WORLD, TOPIC("m", "raw", "image"));
	const uint8_t *rgb = ((Gz__Msgs__Image *)raw.message)->data.data;
	size_t bytes[ARRAY_LEN(rows)];
	double means[ARRAY_LEN(rows)];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		client_destroy(client);
		client = client_of(server, 256);
		subscribe(client, rows[i].topic, 0);
		take_steps(200);
		struct seen seen = drain(rows[i].topic);
		cr_assert(seen.message, "%s: no message", rows[i].topic);
		cr_assert_eq(seen.count, i == 5 ? 5u : 20u, "%s: %u messages", rows[i].topic, seen.count);
		const Troupe__Msgs__CompressedImage *image = seen.message;
		cr_assert_str_eq(image->format, rows[i].format);
		struct texture *texture = unpacked(importer, &image->data);
		cr_assert(texture_width(texture) == 64 && texture_height(texture) == 48);
		double most = difference(texture, rgb, &means[i]);
		cr_expect(most <= rows[i].most && means[i] <= rows[i].mean, "%s: %g, mean %g", rows[i].topic, most,
			means[i]);
		bytes[i] = image->data.len;
		texture_release(texture);
		message_free(seen.message);
	}
	cr_expect(means[1] < means[0] && means[0] < means[2] && bytes[1] > bytes[0] && bytes[0] > bytes[2]);
	message_free(raw.message);
	importer_destroy(importer);
}

/* As image_transport's compressedDepth decodes it: within half a step of the inverse depth. */
Test(sensing, compressed_depths)
{
	const char *path = "depth.png";
	struct importer_losses losses = {0};
	struct files files = {0};
	struct image image;
	struct troupe_error error;
	int32_t kind;
	float ab[2];
	if (!rays_available() || !png_out_is_available())
		cr_skip_test("built without Embree or libpng");
	struct importer *importer = importer_create();
	struct seen raw = look(PACKED_WORLD, TOPIC("m", "depth", "depth_image"));
	struct seen packed = look(PACKED_WORLD, TOPIC("m", "depth", "depth_image/compressedDepth"));
	const Troupe__Msgs__CompressedImage *message = packed.message;
	memcpy(&kind, message->data.data, 4);
	memcpy(ab, message->data.data + 4, 8);
	cr_assert(kind == 0 && message->data.len > 12);
	cr_assert(!outfile_replace(path, (const char *)message->data.data + 12, message->data.len - 12, NULL, &error));
	cr_assert_eq(importer_image(importer, &losses, &files, path, &image, &error), TROUPE_OK, "%s", error.text);
	cr_assert(image.columns == 64 && image.rows == 48);
	uint32_t given = 0;
	for (uint32_t i = 0; i < 64 * 48; i++) {
		float depth;
		double value = round((double)image.values[i] * 65535), a = (double)ab[0], b = (double)ab[1];
		memcpy(&depth, &((Gz__Msgs__Image *)raw.message)->data.data[4 * i], 4);
		cr_assert_eq(value == 0, !isfinite(depth), "pixel %u", i);
		if (value == 0)
			continue;
		double found = a / (value - b);
		cr_assert(fabs(found - (double)depth) <= 0.51 * found * found / a, "%g, not %g", found, (double)depth);
		given++;
	}
	cr_assert_gt(given, 100);
	free(image.values);
	remove(path);
	files_fini(&files);
	message_free(raw.message);
	message_free(packed.message);
	importer_destroy(importer);
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

#define LABELLED(name, pose, label) LABELLED_BOX(name, pose, label, "1 1 1")
#define LABELLED_BOX(name, pose, label, size)                                                                          \
	"<model name='" name "'><static>1</static><pose>" pose                                                         \
	"</pose><link name='l'><visual name='v'><geometry><box>"                                                       \
	"<size>" size "</size></box></geometry></visual></link><plugin name='gz::sim::systems::Label' filename='l'>"   \
	"<label>" label "</label></plugin></model>"
#define EYE(name, type, inside)                                                                                        \
	"<sensor name='" name "' type='" type "'><update_rate>100</update_rate><camera><horizontal_fov>1.57"           \
	"</horizontal_fov><image><width>8</width><height>4</height></image>" inside "</camera></sensor>"
#define WORLD_OF_EYES(eyes, models)                                                                                    \
	"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>" eyes                    \
	"</link></model>" models "</world></sdf>"

/* Gazebo's tutorial reads the label from the last channel, and the instance from the first two. */
Test(sensing, channels_of_a_map_of_labels)
{
	static const char text[] = WORLD_OF_EYES(
		EYE("one", "segmentation_camera", "<segmentation_type>semantic</segmentation_type>")
			EYE("each", "segmentation_camera", "<segmentation_type>panoptic</segmentation_type>"),
		LABELLED("a", "2 1 0 0 0 0", "7") LABELLED("b", "2 -1 0 0 0 0", "7"));
	static const struct {
		const char *topic;
		uint8_t left[3], right[3];
	} rows[] = {{TOPIC("m", "one", "segmentation/labels_map"), {7, 7, 7}, {7, 7, 7}},
		{TOPIC("m", "each", "segmentation/labels_map"), {1, 0, 7}, {2, 0, 7}}};
	if (!rays_available())
		cr_skip_test("built without Embree");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen seen = look(text, rows[i].topic);
		const Gz__Msgs__Image *image = seen.message;
		const uint8_t *row = &image->data.data[(size_t)8 * 3]; /* the second */
		cr_assert_arr_eq(row + 3, rows[i].left, 3, "%zu: %u %u %u", i, row[3], row[4], row[5]);
		cr_assert_arr_eq(row + 18, rows[i].right, 3, "%zu: %u %u %u", i, row[18], row[19], row[20]);
		cr_assert(!row[12] && !row[13] && !row[14], "between them is nothing");
		message_free(seen.message);
	}
}

/* --- cameras in motion ---------------------------------------------------------------------------------------------
 */

#define SPINS "2"  /* rad/s */
#define READS 0.02 /* s */

/* A wall whose edge the camera sees as it turns; its colour is a fifth of white, and the gain is 3. */
static const char spinning[] =
	"<sdf version='1.9'><world name='w'><gravity>0 0 0</gravity><scene><ambient>0 0 0 1</ambient><background>0 0 0 "
	"1"
	"</background></scene><model name='m'><link name='l'><sensor name='s' "
	"type='camera'><update_rate>100</update_rate>"
	"<camera><horizontal_fov>0.8</horizontal_fov><image><width>96</width><height>60</height></image>"
	"<troupe:readout_time>0.02</troupe:readout_time><troupe:gain>3</troupe:gain></camera></sensor></link>"
	"<plugin filename='gz-sim-velocity-control-system' name='gz::sim::systems::VelocityControl'><initial_angular>0 "
	"0 " SPINS "</initial_angular></plugin></model><model name='wall'><static>1</static><pose>5 -50 0 0 0 "
	"0</pose><link name='l'>"
	"<visual name='v'><geometry><box><size>0.001 100 100</size></box></geometry><material><emissive>0.2 0.2 0.2 1"
	"</emissive></material></visual></link></model></world></sdf>";

/* In row r, seen (59 - r) / 60 of the readout before the end, the edge is where the camera had turned by then. */
Test(sensing, a_rolling_shutter)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct seen seen = look(spinning, TOPIC("m", "s", "image"));
	const Gz__Msgs__Image *image = seen.message;
	double end = (double)image->header->stamp->sec + (double)image->header->stamp->nsec * 1e-9;
	double focal = 48 / tan(0.4), least = 96, most = 0;
	near(end, 0.02, 1e-9, "time of the picture");
	for (uint32_t row = 0; row < 60; row++) {
		double turned = 2 * (end - READS * (59 - row) / 60), edge = 48 + focal * tan(turned);
		uint32_t dark = 0;
		for (uint32_t column = 0; column < 96; column++) {
			uint8_t value = image->data.data[3 * (96 * row + column)];
			cr_assert(value == 0 || value == 153, "row %u: %u", row, value);
			dark += !value;
		}
		near(dark, edge, 0.6, "edge");
		least = fmin(least, edge), most = fmax(most, edge);
	}
	cr_assert(most - least > 4);
	message_free(seen.message);
}

/* --- pairs of cameras ----------------------------------------------------------------------------------------------
 */

#define STEREO_EYE(side, pose, more)                                                                                   \
	"<camera name='" side "'><pose>" pose "</pose><horizontal_fov>1</horizontal_fov><image><width>200</width>"     \
	"<height>4</height></image>" more "</camera>"

/* What is 3 m ahead is f b / 3 pixels farther left in the right picture than in the left one. */
Test(sensing, a_pair_of_cameras)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><scene><ambient>0 0 0 1</ambient><background>0 0 0 1</background>"
		"</scene><model name='m'><static>1</static><link name='l'><sensor name='eyes' type='multicamera'>"
		"<update_rate>100</update_rate><pose>0 0 1 0 0 0</pose>" STEREO_EYE("left", "0 0.1 0 0 0 0", "")
			STEREO_EYE("right", "0 -0.1 0 0 0 0", "<troupe:baseline>0.2</troupe:baseline>")
				STEREO_EYE("back", "0 0 0 0 0 3.14159265",
					"") "</sensor></link></model><model name='wall'><static>1</static><pose>3 -50 "
					    "0 0 0 0</pose><link name='l'>"
					    "<visual name='v'><geometry><box><size>0.001 100 "
					    "100</size></box></geometry><material><emissive>1 1 1 1"
					    "</emissive></material></visual></link></model></world></sdf>";
	static const char *const sides[] = {"left", "right", "back"};
	if (!rays_available())
		cr_skip_test("built without Embree");
	double focal = 100 / tan(0.5), expected[3] = {100 + focal * 0.1 / 3, 100 - focal * 0.1 / 3, 200};
	int32_t stamps[3];
	for (size_t i = 0; i < 3; i++) {
		char *topic = mem_printf(TOPIC("m", "eyes/%s", "image"), sides[i]),
		     *info = mem_printf(TOPIC("m", "eyes/%s", "camera_info"), sides[i]);
		struct seen seen = look(text, topic);
		const Gz__Msgs__Image *image = seen.message;
		uint32_t dark = 0;
		for (uint32_t column = 0; column < 200; column++)
			dark += !image->data.data[3 * column];
		near(dark, expected[i], 0.51, sides[i]);
		stamps[i] = image->header->stamp->nsec;
		message_free(seen.message);
		seen = look(text, info);
		near(((const Gz__Msgs__CameraInfo *)seen.message)->projection->p[3], i == 1 ? -0.2 * focal : 0, 1e-9,
			info);
		message_free(seen.message);
		free(topic);
		free(info);
	}
	cr_assert(stamps[0] == stamps[1] && stamps[1] == stamps[2]);
}

/* --- heat --------------------------------------------------------------------------------------------------------- */

#define HOT(name, pose, of_visual, of_model)                                                                           \
	"<model name='" name "'><static>1</static><pose>" pose                                                         \
	"</pose><link name='l'><visual name='v'><geometry><box><size>1 1 1</size></box></geometry>" of_visual          \
	"</visual></link>" of_model "</model>"
#define KELVIN(value)                                                                                                  \
	"<plugin name='gz::sim::systems::Thermal' filename='gz-sim-thermal-system'><temperature>" value                \
	"</temperature></plugin>"
#define THERMAL(name, format, limits)                                                                                  \
	"<sensor name='" name "' type='thermal_camera'><update_rate>100</update_rate><camera><horizontal_fov>1.57"     \
	"</horizontal_fov><image><width>8</width><height>4</height><format>" format                                    \
	"</format></image></camera>" limits "</sensor>"
#define LIMITS(inside)                                                                                                 \
	"<plugin name='gz::sim::systems::ThermalSensor' filename='gz-sim-thermal-sensor-system'>" inside "</plugin>"

/* A box at 320.5 K to the left, one at 271 K, of its model, to the right, air of 290 K between them. */
Test(sensing, temperatures)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><atmosphere type='adiabatic'><temperature>290</temperature>"
		"</atmosphere><model name='m'><static>1</static><link name='l'>" THERMAL("fine", "L16", "")
			THERMAL("coarse", "L8", "") THERMAL("limited", "L16",
				LIMITS("<min_temp>280</min_temp><max_temp>300</max_temp><resolution>0.5</"
				       "resolution>")) "</link></model>" HOT("hot", "2 1 0 0 0 0", KELVIN("320.5"),
				KELVIN("999")) HOT("cold", "2 -1 0 0 0 0", "", KELVIN("271")) "</world></sdf>";
	static const struct {
		const char *topic;
		uint32_t bytes, hot, air, cold;
	} rows[] = {{TOPIC("m", "fine", "image"), 2, 32050, 29000, 27100},
		{TOPIC("m", "coarse", "image"), 1, 107, 97, 90}, {TOPIC("m", "limited", "image"), 2, 600, 580, 560}};
	if (!rays_available())
		cr_skip_test("built without Embree");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen seen = look(text, rows[i].topic);
		const Gz__Msgs__Image *image = seen.message;
		const uint32_t expected[3] = {rows[i].hot, rows[i].air, rows[i].cold};
		cr_assert_eq(image->pixel_format_type, rows[i].bytes == 2 ? GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16
									  : GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8);
		cr_assert_eq(image->data.len, (size_t)8 * 4 * rows[i].bytes);
		for (uint32_t k = 0; k < 3; k++) { /* the pixels 1, 4 and 6 of the second row */
			static const size_t pixels[3] = {9, 12, 14};
			const uint8_t *at = &image->data.data[rows[i].bytes * pixels[k]];
			uint32_t found = at[0] + (rows[i].bytes == 2 ? 256u * at[1] : 0);
			cr_assert_eq(found, expected[k], "%s, %u: %u, not %u", rows[i].topic, k, found, expected[k]);
		}
		message_free(seen.message);
	}
}

/* Also at the edges of the picture: a wall that fills it. */
Test(sensing, temperatures_of_all_pixels)
{
	static const char text[] =
		"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>" THERMAL("fine",
			"L16", "") "</link></model><model name='wall'><static>1</static><pose>2 0 0 0 0 0</pose><link "
				   "name='l'>"
				   "<visual name='v'><geometry><box><size>1 90 90</size></box></geometry>" KELVIN(
					   "320.5") "</visual></link></model></world></sdf>";
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct seen seen = look(text, TOPIC("m", "fine", "image"));
	const Gz__Msgs__Image *image = seen.message;
	cr_assert_eq(image->data.len, (size_t)8 * 4 * 2);
	for (size_t i = 0; i < image->data.len; i += 2)
		cr_assert_eq(image->data.data[i] + 256u * image->data.data[i + 1], 32050u, "pixel %zu", i / 2);
	message_free(seen.message);
}

/* The numbers are those of gz-sensors' test of the same box, boundingbox_camera. */
Test(sensing, a_box_in_space_is_in_the_frame_of_the_renderer)
{
	static const char text[] = WORLD_OF_EYES(EYE("box", "boundingbox_camera", "<box_type>3d</box_type>"),
		LABELLED("a", "2 0 0 1.1479424006619556 0.5462428905979614 0.7531512809621943", "1"));
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct seen seen = look(text, TOPIC("m", "box", "boundingbox"));
	const Gz__Msgs__AnnotatedOriented3DBoxV *boxes = seen.message;
	cr_assert_eq(boxes->n_annotated_box, 1u);
	const Gz__Msgs__Oriented3DBox *box = boxes->annotated_box[0]->box;
	near(box->center->x, 0, 1e-9, "x");
	near(box->center->y, 0, 1e-9, "y");
	near(box->center->z, -2, 1e-9, "z");
	near(box->boxsize->x, 1, 1e-9, "size x");
	double sign = box->orientation->w < 0 ? 1 : -1;
	near(sign * box->orientation->w, -0.322329, 1e-5, "w");
	near(sign * box->orientation->x, 0.322329, 1e-5, "qx");
	near(sign * box->orientation->y, -0.886405, 1e-5, "qy");
	near(sign * box->orientation->z, -0.0805823, 1e-5, "qz");
	message_free(seen.message);
}

/* The second of two boxes has its own pose and size. */
Test(sensing, two_boxes_in_space)
{
	static const char text[] = WORLD_OF_EYES(EYE("box", "boundingbox_camera", "<box_type>3d</box_type>"),
		LABELLED("a", "4 1.5 0 0 0 0", "1") LABELLED_BOX("b", "5 -1.5 0.5 0 0 0", "2", "1.5 1.25 0.5"));
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct seen seen = look(text, TOPIC("m", "box", "boundingbox"));
	const Gz__Msgs__AnnotatedOriented3DBoxV *boxes = seen.message;
	cr_assert_eq(boxes->n_annotated_box, 2u);
	for (int i = 0; i < 2; i++) {
		const Gz__Msgs__Oriented3DBox *box = boxes->annotated_box[i]->box;
		bool a = boxes->annotated_box[i]->label == 1;
		/* of the renderer: x to the right, y up, z backwards */
		near_all((double[]){box->center->x, box->center->y, box->center->z}, 3,
			a ? (double[]){-1.5, 0, -4} : (double[]){1.5, 0.5, -5}, 3, "place");
		near_all((double[]){box->boxsize->x, box->boxsize->y, box->boxsize->z}, 3,
			a ? (double[]){1, 1, 1} : (double[]){1.5, 1.25, 0.5}, 3, "size");
	}
	message_free(seen.message);
}

/* --- clouds ------------------------------------------------------------------------------------------------------- */

/* The points of a camera with distortion and a skewed picture lie on the wall that it sees: a cloud that is computed
 * as if of a plain pinhole does not. */
Test(sensing, points_of_a_distorted_picture)
{
	static const char text[] = WORLD_OF_EYES(
		"<sensor name='d' "
		"type='depth_camera'><update_rate>100</update_rate><camera><image><width>40</width><height>30"
		"</height></image><distortion><k1>-0.2</k1><k2>0.03</k2><p1>0.02</p1><p2>-0.01</p2><center>0.45 "
		"0.6</center>"
		"</distortion><lens><intrinsics><fx>30</fx><fy>28</fy><cx>21</cx><cy>14</cy><s>4</s></intrinsics></"
		"lens>"
		"</camera></sensor>",
		"<model name='wall'><static>1</static><pose>4 0 0 0.3 -0.4 0.5</pose><link name='l'><visual "
		"name='v'><geometry>"
		"<box><size>1 90 90</size></box></geometry></visual></link></model>");
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct seen seen = look(text, TOPIC("m", "d", "depth_image/points"));
	const Gz__Msgs__PointCloudPacked *cloud = seen.message;
	cr_assert(cloud->width == 40 && cloud->height == 30 && cloud->point_step == 16);
	struct vec3 normal = quat_rotate(quat_from_rpy(0.3, -0.4, 0.5), (struct vec3){1, 0, 0});
	double wall = 4 * normal.x - 0.5;
	for (uint32_t i = 0; i < 40 * 30; i++) {
		float at[3];
		memcpy(at, &cloud->data.data[(size_t)16 * i], sizeof at);
		struct vec3 p = {(double)at[0], (double)at[1], (double)at[2]};
		cr_assert(fabs(vec3_dot(p, normal) - wall) < 1e-5, "point %u: %g %g %g", i, p.x, p.y, p.z);
	}
	message_free(seen.message);
}

static void near_pose(const Gz__Msgs__Pose *found, struct pose expected, const char *what)
{
	double sign = found->orientation->w * expected.q.w < 0 ? -1 : 1;
	near_all((double[]){found->position->x, found->position->y, found->position->z, found->orientation->w,
			 found->orientation->x, found->orientation->y, found->orientation->z},
		7,
		(double[]){expected.p.x, expected.p.y, expected.p.z, sign * expected.q.w, sign * expected.q.x,
			sign * expected.q.y, sign * expected.q.z},
		7, what);
}

/* --- noise -------------------------------------------------------------------------------------------------------- */

enum { TRIPLETS = 5, NUMBERS_MAX = 200000 };

#define NOISY(mean, deviation) "<noise type='gaussian'><mean>" mean "</mean><stddev>" deviation "</stddev></noise>"
#define TRIPLET(type, before, after, noise)                                                                            \
	"<sensor name='" type "_a' type='" type "'><update_rate>500</update_rate>" before noise after "</sensor>"      \
	"<sensor name='" type "_b' type='" type "'><update_rate>500</update_rate>" before noise after "</sensor>"      \
	"<sensor name='" type "_clean' type='" type "'><update_rate>500</update_rate>" before after "</sensor>"
#define SMALL "<horizontal_fov>0.5</horizontal_fov><image><width>16</width><height>8</height></image>"

/* Of each kind two sensors with like noise, and one without, at the same place before a grey wall. */
static const char noisy[] =
	"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>" TRIPLET("altimeter",
		"<altimeter><vertical_position>", "</vertical_position></altimeter>",
		NOISY("0.5", "0.1")) TRIPLET("imu", "<imu><linear_acceleration><y>", "</y></linear_acceleration></imu>",
		NOISY("-1", "0.3")) TRIPLET("lidar",
		"<lidar><scan><horizontal><samples>40</samples><min_angle>-0.3</min_angle><max_angle>0.3"
		"</max_angle></horizontal></scan><range><min>0.1</min><max>20</max></range>",
		"</lidar>", NOISY("0.2", "0.05")) TRIPLET("depth_camera", "<camera>" SMALL, "</camera>",
		NOISY("0.1", "0.02")) TRIPLET("camera", "<camera>" SMALL, "</camera>",
		NOISY("0.05",
			"0.04")) "</link></model><model name='wall'><static>1</static><pose>4 0 0 0 0 0</pose><link "
				 "name='l'><visual name='v'>"
				 "<geometry><box><size>1 90 "
				 "90</size></box></geometry><material><lighting>false</lighting><diffuse>0.4 0.5 0.6"
				 "</diffuse></material></visual></link></model></world></sdf>";

static const struct triplet {
	const char *type, *last; /* of the topic */
	double mean, deviation;
	bool sees;
} triplets[TRIPLETS] = {{"altimeter", "altimeter", 0.5, 0.1, false}, {"imu", "imu", -1, 0.3, false},
	{"lidar", "scan", 0.2, 0.05, true}, {"depth_camera", "depth_image", 0.1, 0.02, true},
	{"camera", "image", 0.05 * 255, 0.04 * 255, true}};

static uint32_t add_numbers(const struct troupe_message *message, double *to)
{
	const void *decoded = decode(message);
	uint32_t count = 1;
	if (strstr(message->type, "Altimeter")) {
		to[0] = ((const Gz__Msgs__Altimeter *)decoded)->vertical_position;
	} else if (strstr(message->type, "IMU")) {
		to[0] = ((const Gz__Msgs__IMU *)decoded)->linear_acceleration->y;
	} else if (strstr(message->type, "LaserScan")) {
		const Gz__Msgs__LaserScan *scan = decoded;
		count = (uint32_t)scan->n_ranges;
		memcpy(to, scan->ranges, count * sizeof *to);
	} else {
		const Gz__Msgs__Image *image = decoded;
		bool floats = image->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32;
		count = (uint32_t)image->data.len / (floats ? 4 : 1);
		for (uint32_t i = 0; i < count; i++) {
			float number;
			memcpy(&number, &image->data.data[floats ? (size_t)4 * i : 0], sizeof number);
			to[i] = floats ? (double)number : image->data.data[i];
		}
	}
	message_free((void *)(uintptr_t)decoded);
	return count;
}

/* The numbers of the three sensors of a kind, in the order of time. Returns how many each has. */
static uint32_t read_triplet(const struct triplet *triplet, double *numbers[3])
{
	static const char *const names[] = {"a", "b", "clean"};
	char topics[3][128];
	uint32_t counts[3] = {0};
	struct troupe_message message;
	for (int i = 0; i < 3; i++) {
		snprintf(
			topics[i], sizeof topics[i], TOPIC("m", "%s_%s", "%s"), triplet->type, names[i], triplet->last);
		subscribe(client, topics[i], 0);
	}
	for (int turn = 0; turn < (triplet->sees ? 10 : 100); turn++) {
		take_steps(60);
		while (troupe_client_take(client, 0, &message))
			for (int i = 0; i < 3; i++)
				if (!strcmp(message.topic, topics[i]))
					counts[i] += add_numbers(&message, numbers[i] + counts[i]);
	}
	for (int i = 0; i < 3; i++)
		troupe_client_unsubscribe(client, topics[i]);
	cr_assert(counts[0] >= 2000 && counts[0] <= NUMBERS_MAX && counts[0] == counts[1] && counts[0] == counts[2],
		"%s: %u, %u, %u numbers", triplet->type, counts[0], counts[1], counts[2]);
	return counts[0];
}

static double correlation(const double *x, const double *y, uint32_t count)
{
	double xx = 0, yy = 0, xy = 0;
	for (uint32_t i = 0; i < count; i++) {
		xx += x[i] * x[i];
		yy += y[i] * y[i];
		xy += x[i] * y[i];
	}
	return xy / sqrt(xx * yy);
}

/* Each number of a message, each message and each sensor has noise of its own. each: numbers of a message. */
static void check_triplet(const struct triplet *triplet, double *numbers[3], uint32_t count, uint32_t each)
{
	for (int k = 0; k < 2; k++) {
		double mean = 0, square = 0;
		for (uint32_t i = 0; i < count; i++)
			mean += (numbers[k][i] -= numbers[2][i]) / count;
		for (uint32_t i = 0; i < count; i++) {
			numbers[k][i] -= mean;
			square += numbers[k][i] * numbers[k][i] / count;
		}
		near(mean, triplet->mean, 5 * triplet->deviation / sqrt(count), triplet->type);
		near(sqrt(square), triplet->deviation, 0.06 * triplet->deviation, triplet->type);
	}
	near(correlation(numbers[0], numbers[1], count), 0, 0.08, "two sensors");
	near(correlation(numbers[0], numbers[0] + 1, count - 1), 0, 0.08, "two numbers");
	near(correlation(numbers[0], numbers[0] + each, count - each), 0, 0.08, "two messages");
}

Test(sensing, noise_of_readings)
{
	static const uint32_t each[TRIPLETS] = {1, 1, 40, 16 * 8, 16 * 8 * 3};
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	double *numbers[3];
	for (int i = 0; i < 3; i++)
		numbers[i] = mem_alloc(NUMBERS_MAX * sizeof *numbers[i]);
	def.world_path = "w.sdf";
	def.world_text = noisy;
	def.pace = TROUPE_PACE_FACTOR;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	client = client_of(server, 4096);
	for (size_t i = 0; i < TRIPLETS; i++)
		if (!triplets[i].sees || rays_available())
			check_triplet(&triplets[i], numbers, read_triplet(&triplets[i], numbers), each[i]);
	for (int i = 0; i < 3; i++)
		free(numbers[i]);
}

/* A value without spread: what is added to each signal shows that it is this signal's own. */
#define ADDED(mean) NOISY(mean, "0")
#define AXES(x, y, z) "<x>" ADDED(x) "</x><y>" ADDED(y) "</y><z>" ADDED(z) "</z>"
#define SENSOR(type, settings)                                                                                         \
	"<sensor name='" type "' type='" type "'><update_rate>100</update_rate>" settings "</sensor>"

static const char added[] =
	"<sdf version='1.9'><world name='w'><magnetic_field>1e-5 2e-5 -4e-5</magnetic_field><model name='m'>"
	"<static>1</static><link name='l'>" SENSOR(
		"imu", "<imu><angular_velocity>" AXES("1", "2", "3") "</angular_velocity><linear_acceleration>" AXES(
			       "4", "5", "6") "</linear_acceleration></imu>") SENSOR("magnetometer",
		"<magnetometer>" AXES("1e-4", "2e-4", "3e-4") "</magnetometer>") SENSOR("altimeter",
		"<altimeter><vertical_position>" ADDED("7") "</vertical_position><vertical_velocity>" ADDED(
			"8") "</vertical_velocity></altimeter>") "</link></model></world></sdf>";

Test(sensing, each_signal_has_its_own_noise)
{
	struct seen seen = look(added, TOPIC("m", "imu", "imu"));
	const Gz__Msgs__IMU *imu = seen.message;
	near_all((double[]){imu->angular_velocity->x, imu->angular_velocity->y, imu->angular_velocity->z}, 3,
		(double[]){1, 2, 3}, 3, "angular velocity");
	near_all((double[]){imu->linear_acceleration->x, imu->linear_acceleration->y, imu->linear_acceleration->z}, 3,
		(double[]){4, 5, 15.8}, 3, "acceleration");
	message_free(seen.message);
	seen = look(added, TOPIC("m", "magnetometer", "magnetometer"));
	const Gz__Msgs__Magnetometer *field = seen.message;
	near_all((double[]){field->field_tesla->x, field->field_tesla->y, field->field_tesla->z}, 3,
		(double[]){1.1e-4, 2.2e-4, 2.6e-4}, 3, "field");
	message_free(seen.message);
	seen = look(added, TOPIC("m", "altimeter", "altimeter"));
	const Gz__Msgs__Altimeter *altimeter = seen.message;
	near_all((double[]){altimeter->vertical_position, altimeter->vertical_velocity}, 2, (double[]){7, 8}, 2,
		"altitude");
	message_free(seen.message);
}

/* A logical camera that is turned and shifted on a model that is, too, says where it is, and where in its own frame the
 * model is that it sees. */
Test(sensing, models_in_the_frame_of_a_logical_camera)
{
	static const char text[] = "<sdf version='1.9'><world name='w'><model name='m'><static>1</static><pose>1 2 3 "
				   "0.1 -0.2 0.7</pose><link "
				   "name='l'><sensor name='logical' type='logical_camera'><pose>0.3 -0.2 0.1 -0.2 0.3 "
				   "0.4</pose><update_rate>100"
				   "</update_rate><logical_camera><near>0.1</near><far>50</far><horizontal_fov>2</"
				   "horizontal_fov></logical_camera>"
				   "</sensor></link></model><model name='seen'><static>1</static><pose>4 9 3 0.5 0.6 "
				   "-0.7</pose><link name='l'/>"
				   "</model></world></sdf>";
	struct seen seen = look(text, TOPIC("m", "logical", "logical_camera"));
	const Gz__Msgs__LogicalCameraImage *image = seen.message;
	struct pose eye = pose_mul((struct pose){{1, 2, 3}, quat_from_rpy(0.1, -0.2, 0.7)},
		(struct pose){{0.3, -0.2, 0.1}, quat_from_rpy(-0.2, 0.3, 0.4)});
	struct pose model = {{4, 9, 3}, quat_from_rpy(0.5, 0.6, -0.7)};
	cr_assert_eq(image->n_model, 1u);
	cr_assert_str_eq(image->model[0]->name, "seen");
	near_pose(image->pose, eye, "the camera");
	near_pose(image->model[0]->pose, pose_mul(pose_inverse(eye), model), "the model");
	message_free(seen.message);
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

#define CUBE(name, height, extra)                                                                                      \
	"<model name='" name "'><pose>0 0 " height " 0 0 0</pose><link name='l'><inertial><mass>2</mass></inertial>"   \
	"<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision>" extra "</link></model>"

static const char pile[] =
	"<sdf version='1.9'><world name='w'><model name='floor'><static>1</static><link name='l'>"
	"<collision name='c'><geometry><plane/></geometry></collision></link></model>" CUBE("low", "0.5", "")
		CUBE("middle", "1.5", SENSOR("contact", "<contact><collision>c</collision></contact>"))
			CUBE("top", "2.5", "") "</world></sdf>";

/* Of two collisions that touch, either may be the sensor's: of the middle one of three cubes it is the second, and the
 * first. */
Test(sensing, contacts_with_both_neighbours)
{
	struct seen seen = look(pile, TOPIC("middle", "contact", "contact"));
	const Gz__Msgs__Contacts *contacts = seen.message;
	bool low = false, top = false;
	for (size_t i = 0; i < contacts->n_contact; i++) {
		const char *one = contacts->contact[i]->collision1->name, *two = contacts->contact[i]->collision2->name;
		cr_assert(strstr(one, "middle") || strstr(two, "middle"), "%s and %s", one, two);
		low |= strstr(one, "low") || strstr(two, "low");
		top |= strstr(one, "top") || strstr(two, "top");
	}
	cr_assert(low && top);
	message_free(seen.message);
}

Test(sensing, metrics_have_the_rates_of_the_samples)
{
	static const char uneven[] =
		"<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor name='s' "
		"type='altimeter'><update_rate>300</update_rate><enable_metrics>1</enable_metrics></sensor><sensor "
		"name='r' "
		"type='altimeter'><enable_metrics>1</enable_metrics></sensor><sensor name='n' "
		"type='altimeter'/></link></model>"
		"</world></sdf>";
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error;
	uint32_t threes = 0, fours = 0, compared = 0;
	double rate = 0;
	int64_t rate_ns = -1;
	def.world_path = "w.sdf";
	def.world_text = uneven;
	def.pace = TROUPE_PACE_FACTOR;
	def.rtf = 2;
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	client = client_of(server, 4096);
	subscribe(client, TOPIC("m", "s", "altimeter/performance_metrics"), 0);
	take_steps(1000);
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message)) {
		Gz__Msgs__PerformanceSensorMetrics *metrics = decode(&message);
		cr_assert_str_eq(metrics->name, "m::l::s");
		cr_assert_eq(metrics->nominal_update_rate, 300);
		/* samples are 3 or 4 steps apart */
		threes += fabs(metrics->sim_update_rate - 1000 / 3.0) < 1e-6;
		fours += fabs(metrics->sim_update_rate - 250) < 1e-6;
		message_free(&metrics->base);
	}
	cr_assert(threes == 200 && fours == 100, "%u of 3 steps, %u of 4", threes, fours);
	troupe_client_unsubscribe(client, TOPIC("m", "s", "altimeter/performance_metrics"));
	/* The rate in real time has the factor that the statistics of the same state have. */
	subscribe(client, TOPIC("m", "r", "altimeter/performance_metrics"), 0);
	subscribe(client, "/world/w/stats", 0);
	take_steps(1000);
	while (troupe_client_take(client, 0, &message)) {
		void *decoded = decode(&message);
		if (strstr(message.topic, "metrics")) {
			rate = ((const Gz__Msgs__PerformanceSensorMetrics *)decoded)->real_update_rate;
			rate_ns = message.time_ns;
		} else if (message.time_ns == rate_ns) {
			double factor = ((const Gz__Msgs__WorldStatistics *)decoded)->real_time_factor;
			near(rate, 1000 * factor, 1e-6, "real rate");
			compared += factor > 0;
		}
		message_free(decoded);
	}
	cr_assert(compared > 0, "no statistics of a state with metrics");
	troupe_client_unsubscribe(client, "/world/w/stats");
	take_steps(10);
	struct seen seen = drain(TOPIC("m", "r", "altimeter/performance_metrics"));
	const Gz__Msgs__PerformanceSensorMetrics *metrics = seen.message;
	cr_assert_eq(seen.count, 10);
	near(metrics->sim_update_rate, 1000, 1e-6, "in each state");
	message_free(seen.message);
	subscribe(client, TOPIC("m", "n", "altimeter/performance_metrics"), 0);
	take_steps(10);
	cr_assert_eq(drain(TOPIC("m", "n", "altimeter/performance_metrics")).count, 0, "not asked for in the file");
}

#define SCANS(name, pose, columns, rows, low, high)                                                                    \
	"<sensor name='" name "' type='lidar'><pose>" pose "</pose><update_rate>10</update_rate><ray><scan>"           \
	"<horizontal><samples>" columns "</samples><min_angle>-0.5</min_angle><max_angle>0.75</max_angle>"             \
	"</horizontal><vertical><samples>" rows "</samples><min_angle>" low "</min_angle><max_angle>" high             \
	"</max_angle></vertical></scan><range><min>0.25</min><max>7</max></range></ray></sensor>"

/* All that a scan says beside its ranges, of the second lidar of a turned model, and of one with a single row. */
Test(sensing, what_a_scan_says_of_its_lidar)
{
	static const char *const topics[] = {TOPIC("post", "flat", "scan"), TOPIC("post", "tall", "scan")};
	const struct pose model = {{1, 2, 3}, quat_from_rpy(0, 0, 0.5)},
			  poses[] = {
				  {{0, 0, 1}, quat_from_rpy(0, 0, 0)}, {{0.1, 0.2, 0.3}, quat_from_rpy(0.25, 0.4, 0)}};
	if (!rays_available())
		cr_skip_test("built without Embree");
	start_world("<sdf version='1.9'><world name='w'><model name='post'><static>1</static><pose>1 2 3 0 0 0.5</pose>"
		    "<link name='l'>" SCANS("flat", "0 0 1 0 0 0", "6", "1", "0", "0") SCANS(
			    "tall", "0.1 0.2 0.3 0.25 0.4 0", "3", "4", "-0.1", "0.2") "</link></model></world></sdf>");
	for (int i = 0; i < 2; i++) {
		subscribe(client, topics[i], 0);
		take_steps(150);
		struct seen seen = drain(topics[i]);
		cr_assert(seen.message, "%s: no message", topics[i]);
		const Gz__Msgs__LaserScan *scan = seen.message;
		struct pose expected = pose_mul(model, poses[i]);
		const uint32_t columns = i ? 3 : 6, rows = i ? 4 : 1;
		cr_assert(scan->world_pose && scan->world_pose->position && scan->world_pose->orientation);
		const Gz__Msgs__Vector3d *p = scan->world_pose->position;
		const Gz__Msgs__Quaternion *q = scan->world_pose->orientation;
		const double found[] = {p->x, p->y, p->z, q->w, q->x, q->y, q->z, scan->angle_min, scan->angle_max,
			scan->angle_step, scan->range_min, scan->range_max, scan->vertical_angle_min,
			scan->vertical_angle_max, i ? scan->vertical_angle_step : 0};
		const double want[] = {expected.p.x, expected.p.y, expected.p.z, expected.q.w, expected.q.x,
			expected.q.y, expected.q.z, -0.5, 0.75, 1.25 / (columns - 1), 0.25, 7, i ? -0.1 : 0,
			i ? 0.2 : 0, i ? 0.1 : 0};
		for (size_t k = 0; k < ARRAY_LEN(want); k++)
			cr_expect(fabs(found[k] - want[k]) < 1e-9, "%s: number %zu is %.12g, not %.12g", topics[i], k,
				found[k], want[k]);
		cr_expect(scan->count == columns && scan->vertical_count == rows);
		cr_expect(scan->n_ranges == columns * rows && scan->n_intensities == columns * rows);
		cr_expect_str_eq(scan->frame, i ? "post::l::tall" : "post::l::flat");
		message_free(seen.message);
	}
}

/* An autopilot in lockstep, in the manner of PX4 with a simulator: sensors come in, motor speeds go out, and the run
 * waits for each answer. It is a process of its own and talks to the run over TCP with nothing but libc; PROTOCOL.md in
 * src/gateway/lockstep describes the frames. It flies the quadcopter of hover.sdf: takes off after a second, climbs to
 * HEIGHT_M, turns by a quarter at TURN_S, and holds height and attitude. It knows only what its sensors measure: an IMU
 * at 250 Hz, a barometer and a magnetometer.
 *
 *     cc autopilot.c -o autopilot -lm
 *     troupe run hover.sdf --lockstep-listen 40001 --wait-for autopilot --until 20 &
 *     ./autopilot 127.0.0.1:40001
 *
 *     autopilot [HOST:PORT] [--drop] [--die-at SECONDS]
 *
 * Without HOST:PORT the address comes from TROUPE_LOCKSTEP_ADDRESS, which programs of a world have (troupe::Program).
 * --drop: the run goes on when the autopilot is lost; otherwise it ends. --die-at: it ends without a word at this time,
 * for tests.
 *
 * The estimate of the attitude is a complementary filter (Mahony, Hamel and Pflimlin 2008): the gyroscope is
 * integrated, and the directions of gravity and of the magnetic field pull it back. The height is the integral of the
 * accelerometer, corrected by the barometer. Control is proportional and derivative, with the model's mass and inertia.
 *
 * Each example is one file that builds by one command, so that a program can begin as its copy. Therefore the code
 * for protobuf and frames stands here and in ../follow.c. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20, MOTORS = 4, PERIOD_NS = 4000000 };

static const double GRAVITY = 9.8, HEIGHT_M = 2, TAKE_OFF_S = 1, CLIMB_M_S = 1, TURN_S = 8, AIR_KG_M3 = 1.225;

static void die(const char *what)
{
	fprintf(stderr, "autopilot: %s\n", what);
	exit(1);
}

/* --- protobuf: a message is a list of fields, each with a number and a kind of value ------------------------------ */

struct bytes {
	unsigned char at[1024];
	size_t count;
};

static void put_varint(struct bytes *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		out->at[out->count++] = (unsigned char)(value | 0x80);
	out->at[out->count++] = (unsigned char)value;
}

static void put_number(struct bytes *out, uint32_t field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_bytes(struct bytes *out, uint32_t field, const void *bytes, size_t count)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, count);
	memcpy(out->at + out->count, bytes, count);
	out->count += count;
}

static void put_text(struct bytes *out, uint32_t field, const char *text)
{
	put_bytes(out, field, text, strlen(text));
}

struct field {
	uint32_t number;
	uint64_t value;          /* of a varint: its value; of a double: its bits */
	const unsigned char *at; /* the bytes of a field that has a length */
	size_t count;
};

static uint64_t get_varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;
	for (int shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	die("a message that is cut off");
	return 0;
}

/* Reads the next field of a message, and returns its number; 0: there is none. */
static int get_field(const unsigned char **at, const unsigned char *end, struct field *ret_field)
{
	if (*at == end)
		return 0;
	uint64_t key = get_varint(at, end);
	*ret_field = (struct field){.number = (uint32_t)(key >> 3)};
	size_t count = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : 0;
	if ((key & 7) == 0)
		ret_field->value = get_varint(at, end);
	else if ((key & 7) == 2)
		count = ret_field->count = get_varint(at, end);
	if (count > (size_t)(end - *at))
		die("a message that is cut off");
	ret_field->at = *at;
	if ((key & 7) == 1)
		for (int i = 0; i < 8; i++)
			ret_field->value |= (uint64_t)(*at)[i] << 8 * i;
	*at += count;
	return 1;
}

/* Finds the field with this number; 0: the message does not have it. */
static int find_field(const struct field *message, uint32_t number, struct field *ret_field)
{
	const unsigned char *at = message->at, *end = message->at + message->count;
	while (get_field(&at, end, ret_field))
		if (ret_field->number == number)
			return 1;
	*ret_field = (struct field){.number = 0};
	return 0;
}

static double find_double(const struct field *message, uint32_t number)
{
	struct field field;
	double value = 0;
	if (find_field(message, number, &field))
		memcpy(&value, &field.value, sizeof value);
	return value;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void send_all(int file, const unsigned char *at, size_t count)
{
	while (count) {
		ssize_t sent = send(file, at, count, MSG_NOSIGNAL);
		if (sent <= 0)
			die("the run has closed the connection");
		at += sent;
		count -= (size_t)sent;
	}
}

/* what: 1 join, 2 done */
static void send_frame(int file, uint32_t what, const struct bytes *message)
{
	struct bytes packet = {.count = 4};
	put_bytes(&packet, what, message->at, message->count);
	for (int i = 0; i < 4; i++)
		packet.at[i] = (unsigned char)((packet.count - 4) >> 8 * i);
	send_all(file, packet.at, packet.count);
}

static void receive(int file, unsigned char *at, size_t count)
{
	while (count) {
		ssize_t received = recv(file, at, count, 0);
		if (received <= 0)
			die("the run has closed the connection");
		at += received;
		count -= (size_t)received;
	}
}

/* The member of the frame: 1 welcome, 2 refused, 3 step, 4 ended. */
static struct field receive_frame(int file)
{
	static unsigned char packet[BYTES_MAX];
	unsigned char head[4];
	struct field field;
	receive(file, head, sizeof head);
	size_t count = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	if (count > sizeof packet)
		die("a frame that is too long");
	receive(file, packet, count);
	const unsigned char *at = packet;
	if (!get_field(&at, packet + count, &field))
		die("an empty frame");
	return field;
}

/* --- vectors ------------------------------------------------------------------------------------------------------ */

struct vec {
	double x, y, z;
};

static struct vec cross(struct vec a, struct vec b)
{
	return (struct vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static double dot(struct vec a, struct vec b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vec add_scaled(struct vec a, struct vec b, double s)
{
	return (struct vec){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}

static struct vec unit(struct vec a)
{
	double length = sqrt(dot(a, a));
	return length > 0 ? (struct vec){a.x / length, a.y / length, a.z / length} : a;
}

/* gz.msgs.Vector3d: x y z are fields 2 3 4. */
static struct vec find_vector(const struct field *message, uint32_t number)
{
	struct field part;
	if (!find_field(message, number, &part))
		return (struct vec){0, 0, 0};
	return (struct vec){find_double(&part, 2), find_double(&part, 3), find_double(&part, 4)};
}

/* --- what the autopilot knows ------------------------------------------------------------------------------------- */

struct autopilot {
	/* The world's up, and magnetic north, level: both in the body's axes. */
	struct vec up, north;
	struct vec rates, force; /* as the IMU measured: rad/s, m/s2 */
	struct vec field;        /* T */
	double pressure, ground_pressure;
	double height, climb; /* m, m/s; above the start */
	double time_s;        /* of the last IMU sample */
	double worst_tilt;    /* rad, in flight */
	int samples, fields;
};

/* One sample of the IMU: turns up and north with the body, and pulls them towards what the sensors see. */
static void estimate(struct autopilot *a, double dt)
{
	const double pull_up = 0.5, pull_north = 0.5, pull_height = 2;
	if (!a->samples++) {
		a->up = unit(a->force);
		return;
	}
	a->up = unit(add_scaled(a->up, cross(a->up, a->rates), dt));
	a->north = unit(add_scaled(a->north, cross(a->north, a->rates), dt));
	if (fabs(sqrt(dot(a->force, a->force)) - GRAVITY) < 1) /* else it is not gravity that is measured */
		a->up = unit(add_scaled(a->up, add_scaled(unit(a->force), a->up, -1), pull_up * dt));
	if (a->fields) {
		struct vec seen = unit(add_scaled(a->field, a->up, -dot(a->field, a->up)));
		a->north = a->fields++ == 1
				   ? seen
				   : unit(add_scaled(a->north, add_scaled(seen, a->north, -1), pull_north * dt));
	}
	double measured = (a->ground_pressure - a->pressure) / (AIR_KG_M3 * GRAVITY), gap = measured - a->height;
	a->climb += (dot(a->force, a->up) - GRAVITY + pull_height * pull_height * gap) * dt;
	a->height += (a->climb + 2 * pull_height * gap) * dt;
	if (a->time_s < TAKE_OFF_S) { /* on the ground */
		a->ground_pressure = a->pressure;
		a->height = a->climb = 0;
	}
}

/* gz.msgs.IMU: angular_velocity 4, linear_acceleration 5; Magnetometer: field_tesla 2; FluidPressure: pressure 2. */
static void read_message(struct autopilot *a, const struct field *message)
{
	struct field topic, data, time;
	if (!find_field(message, 1, &topic) || !find_field(message, 3, &data))
		return;
	if (topic.count == 9 && !memcmp(topic.at, "/quad/imu", 9)) {
		(void)find_field(message, 7, &time);
		double now = (double)(int64_t)time.value * 1e-9;
		a->rates = find_vector(&data, 4);
		a->force = find_vector(&data, 5);
		estimate(a, now - a->time_s);
		a->time_s = now;
	} else if (topic.count == 18 && !memcmp(topic.at, "/quad/magnetometer", 18)) {
		a->field = find_vector(&data, 2);
		a->fields += !a->fields;
	} else if (topic.count == 18 && !memcmp(topic.at, "/quad/air_pressure", 18)) {
		a->pressure = find_double(&data, 2);
	}
}

/* --- control ------------------------------------------------------------------------------------------------------ */

/* Of hover.sdf: where the rotors are, which way they turn (1: counter-clockwise), and what they give. */
static const struct {
	double x, y, turn;
} rotors[MOTORS] = {{0.15, -0.15, 1}, {-0.15, 0.15, 1}, {0.15, 0.15, -1}, {-0.15, -0.15, -1}};
static const double MASS = 1.42, INERTIA_X = 0.0127, INERTIA_Z = 0.023, THRUST = 8.5e-06, MOMENT = 0.016,
		    SPEED_MAX = 900;

/* Motor speeds for a thrust and a torque in the body's axes. */
static void mix(double thrust, struct vec torque, double ret_speeds[MOTORS])
{
	for (int i = 0; i < MOTORS; i++) {
		double arm = 4 * rotors[i].x * rotors[i].x;
		double force = thrust / 4 + torque.x * rotors[i].y / arm - torque.y * rotors[i].x / arm -
			       rotors[i].turn * torque.z / (4 * MOMENT);
		ret_speeds[i] = fmin(SPEED_MAX, sqrt(fmax(0, force) / THRUST));
	}
}

static void control(struct autopilot *a, double ret_speeds[MOTORS])
{
	const double tilt_w = 8, yaw_w = 2, height_w = 1.5;
	double flown = a->time_s - TAKE_OFF_S;
	memset(ret_speeds, 0, MOTORS * sizeof *ret_speeds);
	if (flown < 0)
		return;
	double goal = fmin(HEIGHT_M, CLIMB_M_S * flown), goal_climb = goal < HEIGHT_M ? CLIMB_M_S : 0;
	double rise = height_w * height_w * (goal - a->height) + 2 * height_w * (goal_climb - a->climb);
	double thrust = MASS * fmax(2, GRAVITY + rise) / fmax(0.5, a->up.z);
	/* North lies at -yaw in the body's axes. */
	double yaw = atan2(-a->north.y, a->north.x), goal_yaw = a->time_s < TURN_S ? 0 : M_PI / 2;
	double aside = fmax(-0.5, fmin(0.5, remainder(goal_yaw - yaw, 2 * M_PI)));
	struct vec torque = {INERTIA_X * (-tilt_w * tilt_w * a->up.y - 2 * tilt_w * a->rates.x),
		INERTIA_X * (tilt_w * tilt_w * a->up.x - 2 * tilt_w * a->rates.y),
		INERTIA_Z * (yaw_w * yaw_w * aside - 2 * yaw_w * a->rates.z)};
	mix(thrust, torque, ret_speeds);
	a->worst_tilt = fmax(a->worst_tilt, acos(fmin(1, a->up.z)));
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* gz.msgs.Actuators: velocity is field 3. */
static void answer(int file, uint64_t step, const double speeds[MOTORS])
{
	struct bytes done = {.count = 0}, message = {.count = 0}, actuators = {.count = 0};
	put_bytes(
		&actuators, 3, speeds, MOTORS * sizeof *speeds); /* least significant byte first, as on this machine */
	put_text(&message, 1, "/quad/command/motor_speed");
	put_bytes(&message, 3, actuators.at, actuators.count);
	put_number(&done, 1, step);
	put_bytes(&done, 2, message.at, message.count);
	send_frame(file, 2, &done);
}

static void fly(int file, struct autopilot *a, const struct field *step)
{
	const unsigned char *at = step->at;
	struct field number = {.value = 0}, field;
	double speeds[MOTORS];
	int second = (int)a->time_s;
	(void)find_field(step, 1, &number);
	while (get_field(&at, step->at + step->count, &field))
		if (field.number == 3)
			read_message(a, &field);
	control(a, speeds);
	if ((int)a->time_s != second)
		printf("%d s: height %.3f m, tilt %.2f deg, yaw %.1f deg\n", (int)a->time_s, a->height,
			acos(fmin(1, a->up.z)) * 180 / M_PI, atan2(-a->north.y, a->north.x) * 180 / M_PI);
	answer(file, number.value, speeds);
}

static int connect_to(const char *address)
{
	struct sockaddr_in name = {.sin_family = AF_INET};
	char host[64];
	int one = 1;
	const char *colon = strrchr(address, ':');
	if (!colon || (size_t)(colon - address) >= sizeof host)
		die("expected HOST:PORT");
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = '\0';
	name.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &name.sin_addr) != 1)
		die("expected an IPv4 address as HOST");
	for (int i = 0; i < 200; i++) { /* the run may still be loading */
		int file = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(file, (struct sockaddr *)&name, sizeof name)) {
			(void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			return file;
		}
		close(file);
		usleep(50000);
	}
	die("no run has opened the port");
	return -1;
}

/* gz topics and the period of the IMU; failure: 0: the run goes on without this client; 1: it ends. */
static void join(int file, int failure)
{
	static const char *const topics[] = {"/quad/imu", "/quad/air_pressure", "/quad/magnetometer"};
	struct bytes join = {.count = 0};
	put_number(&join, 1, 1);
	put_text(&join, 2, "autopilot");
	put_number(&join, 4, PERIOD_NS);
	put_number(&join, 6, (uint64_t)failure);
	for (int i = 0; i < 3; i++) {
		struct bytes subscription = {.count = 0};
		put_text(&subscription, 1, topics[i]);
		put_bytes(&join, 7, subscription.at, subscription.count);
	}
	send_frame(file, 1, &join);
}

int main(int argc, char **argv)
{
	const char *address = getenv("TROUPE_LOCKSTEP_ADDRESS");
	struct autopilot a = {.samples = 0};
	double die_at_s = INFINITY;
	int failure = 1;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--drop"))
			failure = 0;
		else if (!strcmp(argv[i], "--die-at") && i + 1 < argc)
			die_at_s = atof(argv[++i]);
		else
			address = argv[i];
	}
	if (!address)
		die("expected HOST:PORT, or TROUPE_LOCKSTEP_ADDRESS in the environment");
	int file = connect_to(address);
	join(file, failure);
	for (;;) {
		struct field field = receive_frame(file), failed, text;
		if (field.number == 2 || (field.number == 4 && find_field(&field, 1, &failed))) {
			if (find_field(&field, field.number == 2 ? 1 : 2, &text))
				fprintf(stderr, "autopilot: %.*s\n", (int)text.count, (const char *)text.at);
			return 1;
		}
		if (field.number == 4) {
			printf("flown: %d samples of the IMU, worst tilt %.2f deg\n", a.samples,
				a.worst_tilt * 180 / M_PI);
			return 0;
		}
		if (field.number == 3)
			fly(file, &a, &field);
		if (a.time_s >= die_at_s)
			_exit(9);
	}
}

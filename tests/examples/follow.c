/* A controller in lockstep, through the lockstep socket of a run, with nothing but libc: protobuf is written and read
 * by hand. Each 20 ms of simulated time it gets the place of the cart, and commands a twist towards the next corner of
 * a square. The run waits for the controller, so that the cart's path is the same in every run.
 *
 *     cc follow.c -o follow -lm
 *     troupe run WORLD.sdf --lockstep-socket /tmp/socket --wait-for follow --until 60 &
 *     ./follow /tmp/socket /model/cart
 *
 * The model has a DiffDrive system. An optional third argument N makes it pause for up to N microseconds now and then.
 * PROTOCOL.md in src/gateway/lockstep describes the socket.
 *
 * Each example is one file that builds by one command, so that a program can begin as its copy. Therefore the code
 * for protobuf and frames stands here and in autopilot/autopilot.c. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20 };

static void die(const char *what)
{
	fprintf(stderr, "follow: %s\n", what);
	exit(1);
}

/* --- protobuf: a message is a list of fields, each with a number and a kind of value ------------------------------ */

struct bytes {
	unsigned char at[4096];
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

static void put_double(struct bytes *out, uint32_t field, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put_varint(out, field << 3 | 1);
	for (int i = 0; i < 8; i++)
		out->at[out->count++] = (unsigned char)(bits >> 8 * i);
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
static int find_field(const unsigned char *at, size_t count, uint32_t number, struct field *ret_field)
{
	const unsigned char *end = at + count;
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
	if (find_field(message->at, message->count, number, &field))
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

/* what: 1 join, 2 done, 3 leave */
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

/* --- control ------------------------------------------------------------------------------------------------------ */

static const double corners[4][2] = {{1, 0}, {1, 1}, {0, 1}, {0, 0}};

struct place {
	double x, y, yaw;
};

/* gz.msgs.Odometry: its pose is field 2; in the pose, position is field 4 and orientation field 5. */
static void read_odometry(const struct field *data, struct place *place)
{
	struct field pose, part;
	if (!find_field(data->at, data->count, 2, &pose))
		return;
	if (find_field(pose.at, pose.count, 4, &part)) {
		place->x = find_double(&part, 2);
		place->y = find_double(&part, 3);
	}
	if (find_field(pose.at, pose.count, 5, &part))
		place->yaw = 2 * atan2(find_double(&part, 4), find_double(&part, 5));
}

/* gz.msgs.Twist: linear is field 2, angular is field 3; in these, x, y and z are fields 2, 3 and 4. */
static void put_twist(struct bytes *out, double forward, double turn)
{
	struct bytes linear = {.count = 0}, angular = {.count = 0};
	put_double(&linear, 2, forward);
	put_double(&angular, 4, turn);
	put_bytes(out, 2, linear.at, linear.count);
	put_bytes(out, 3, angular.at, angular.count);
}

static void steer(const struct place *place, int *corner, struct bytes *twist)
{
	double dx = corners[*corner][0] - place->x, dy = corners[*corner][1] - place->y;
	if (hypot(dx, dy) < 0.05) {
		*corner = (*corner + 1) % 4;
		printf("corner %d: x %.17g y %.17g\n", *corner, place->x, place->y);
	}
	double aside = remainder(atan2(dy, dx) - place->yaw, 2 * M_PI);
	put_twist(twist, fabs(aside) < 0.3 ? 0.6 : 0, fmax(-1.5, fmin(1.5, 3 * aside)));
}

static void answer(int file, const struct field *step, const char *model, struct place *place, int *corner)
{
	struct field number = {.value = 0}, field, data;
	struct bytes done = {.count = 0}, message = {.count = 0}, twist = {.count = 0};
	const unsigned char *at = step->at;
	char topic[256];
	(void)find_field(step->at, step->count, 1, &number);
	while (get_field(&at, step->at + step->count, &field))
		if (field.number == 3 && find_field(field.at, field.count, 3, &data))
			read_odometry(&data, place);
	steer(place, corner, &twist);
	snprintf(topic, sizeof topic, "%s/cmd_vel", model);
	put_text(&message, 1, topic);
	put_text(&message, 2, "gz.msgs.Twist");
	put_bytes(&message, 3, twist.at, twist.count);
	put_number(&done, 1, number.value);
	put_bytes(&done, 2, message.at, message.count);
	send_frame(file, 2, &done);
}

int main(int argc, char **argv)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct bytes join = {.count = 0}, subscription = {.count = 0};
	struct place place = {0, 0, 0};
	int corner = 0, delay_us = argc > 3 ? atoi(argv[3]) : 0;
	char topic[256];
	if (argc < 3 || strlen(argv[1]) >= sizeof name.sun_path || strlen(argv[2]) > 200)
		die("expected the path of a socket and a model");
	strcpy(name.sun_path, argv[1]);
	int file = socket(AF_UNIX, SOCK_STREAM, 0);
	for (int i = 0; connect(file, (struct sockaddr *)&name, sizeof name); i++) { /* the run may still be loading */
		if (i == 200)
			die("no run has opened the socket");
		usleep(50000);
	}
	snprintf(topic, sizeof topic, "%s/odometry", argv[2]);
	put_text(&subscription, 1, topic);
	put_number(&join, 1, 1);
	put_text(&join, 2, "follow");
	put_number(&join, 4, 20000000);
	put_number(&join, 6, 1);
	put_bytes(&join, 7, subscription.at, subscription.count);
	send_frame(file, 1, &join);
	for (;;) {
		struct field field = receive_frame(file), text;
		if (field.number == 4) /* ended */
			return find_field(field.at, field.count, 1, &text) ? 1 : 0;
		if (field.number == 2) {
			if (find_field(field.at, field.count, 1, &text))
				fprintf(stderr, "follow: %.*s\n", (int)text.count, (const char *)text.at);
			return 1;
		}
		if (field.number != 3)
			continue;
		if (delay_us && rand() % 10 == 0)
			usleep((useconds_t)(rand() % delay_us));
		answer(file, &field, argv[2], &place, &corner);
	}
}

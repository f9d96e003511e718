/* The message is read twice: once to the end, so that nothing is commanded by the first half of a damaged one, and then
 * number by number. */
#include "gateway/ros/joint_command.h"

#include "gateway/ros/cdr.h"

#include <math.h>

struct message {
	const char *names[JOINT_COMMAND_JOINTS_MAX];
	uint32_t name_count;
	struct cdr_in values[JOINT_QUANTITIES]; /* at the first number of each list */
	uint32_t counts[JOINT_QUANTITIES];
};

static bool joint_command_read_message(struct cdr_in in, struct message *ret_message)
{
	(void)cdr_get(&in, 4);
	(void)cdr_get(&in, 4);
	(void)cdr_get_string(&in);
	uint32_t count = cdr_get_count(&in, 5); /* a length and a final zero byte */
	in.bad |= count > JOINT_COMMAND_JOINTS_MAX;
	for (uint32_t i = 0; i < count && !in.bad; i++)
		ret_message->names[i] = cdr_get_string(&in);
	ret_message->name_count = count;
	for (int q = 0; q < JOINT_QUANTITIES && !in.bad; q++) {
		uint32_t values = cdr_get_count(&in, 8);
		in.bad |= values && values != count;
		ret_message->values[q] = in;
		ret_message->counts[q] = values;
		for (uint32_t i = 0; i < values && !in.bad; i++)
			(void)cdr_get(&in, 8);
	}
	return !in.bad;
}

troupe_status joint_command_read(const void *cdr, size_t count,
	void (*fn)(void *ctx, const char *joint, enum joint_quantity quantity, double value), void *ctx,
	struct troupe_error *error)
{
	struct message message;
	if (!joint_command_read_message(cdr_open(cdr, count), &message))
		return fail(error, TROUPE_ECOMMAND,
			"not a message of sensor_msgs/msg/JointState in CDR: expected at most %d joints, and as many "
			"positions, velocities and efforts as joints, or none",
			(int)JOINT_COMMAND_JOINTS_MAX);
	for (int q = 0; q < JOINT_QUANTITIES; q++)
		for (uint32_t i = 0; i < message.counts[q]; i++) {
			double value = cdr_get_f64(&message.values[q]);
			if (isfinite(value))
				fn(ctx, message.names[i], (enum joint_quantity)q, value);
		}
	return TROUPE_OK;
}

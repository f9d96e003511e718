/* Both generations of environment variables are read, the newer one first, as current Gazebo does it. A number that is
 * none is an error here: gz-transport prints a warning, and then runs with another port than was meant. */
#include "base/parse.h"
#include "gateway/gz/node.h"

#include <stdlib.h>
#include <string.h>

static const char *node_options_setting(const char *name)
{
	static const char *const prefixes[] = {"GZ_", "IGN_"};
	char text[64] = "";
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		strcpy(text, prefixes[i]);
		strncat(text, name, sizeof text - strlen(text) - 1);
		const char *value = getenv(text);
		if (value && (*value || !strcmp(name, "PARTITION")))
			return value;
	}
	return NULL;
}

static troupe_status node_options_read_number(
	const char *name, uint64_t max, uint64_t *ret_number, struct troupe_error *error)
{
	const char *value = node_options_setting(name);
	uint64_t number;
	if (!value)
		return TROUPE_OK;
	if (!parse_uint64(value, &number) || number > max || !number)
		return fail(error, TROUPE_EINVAL,
			"environment variable GZ_%s or IGN_%s: '%.50s': expected a whole number from 1 to %llu", name,
			name, value, (unsigned long long)max);
	*ret_number = number;
	return TROUPE_OK;
}

static void node_options_read_text(const char *name, const char **text)
{
	const char *value = node_options_setting(name);
	if (value)
		*text = value;
}

troupe_status node_options_read_environment(struct node_options *options, struct troupe_error *error)
{
	uint64_t topic_port = options->topic_port, service_port = options->service_port;
	uint64_t send_queue = options->send_queue, receive_queue = options->receive_queue;
	troupe_status status = node_options_read_number("DISCOVERY_MSG_PORT", UINT16_MAX, &topic_port, error);
	if (!status)
		status = node_options_read_number("DISCOVERY_SRV_PORT", UINT16_MAX, &service_port, error);
	if (!status)
		status = node_options_read_number("TRANSPORT_SNDHWM", INT32_MAX, &send_queue, error);
	if (!status)
		status = node_options_read_number("TRANSPORT_RCVHWM", INT32_MAX, &receive_queue, error);
	if (status)
		return status;
	options->topic_port = (uint16_t)topic_port;
	options->service_port = (uint16_t)service_port;
	options->send_queue = (uint32_t)send_queue;
	options->receive_queue = (uint32_t)receive_queue;
	node_options_read_text("PARTITION", &options->partition);
	node_options_read_text("IP", &options->address);
	node_options_read_text("DISCOVERY_MULTICAST_IP", &options->group);
	node_options_read_text("RELAY", &options->relays);
	const char *username = node_options_setting("TRANSPORT_USERNAME"),
		   *password = node_options_setting("TRANSPORT_PASSWORD");
	if (username && password) {
		options->username = username;
		options->password = password;
	}
	const char *statistics = node_options_setting("TRANSPORT_TOPIC_STATISTICS");
	if (statistics)
		options->statistics = !strcmp(statistics, "1");
	return TROUPE_OK;
}

/* The settings of a node: its partition, its addresses and ports, its secret, its family, and the two sockets of
 * discovery that follow from them. */
#include "gateway/gz/node_internal.h"

#include "base/hash.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GROUP_DEFAULT "239.255.0.7"

/* Peers take the id of a node as it is, so its first digits can tell the family: whoever reads the first record of a
 * node knows at once whether it is one. */
enum { FAMILY_CHARACTERS = 18 };

static void node_setup_join_family(struct node *node, const char *family)
{
	uint64_t hash = hash_bytes(0, family, strlen(family));
	char digits[20];
	(void)snprintf(digits, sizeof digits, "%08x-%04x-4%03x", (unsigned)(hash >> 32),
		(unsigned)(hash >> 16 & 0xffff), (unsigned)(hash & 0xfff));
	memcpy(node->id, digits, FAMILY_CHARACTERS);
	node->has_family = true;
}

bool node_is_relative(const struct node *node, const char *id)
{
	return node->has_family && !strncmp(id, node->id, FAMILY_CHARACTERS);
}

/* "HOST:USER", as gz-transport has it. */
static char *node_setup_default_partition(void)
{
	char host[NAMES_PARTITION_MAX + 1] = "", buffer[1024];
	struct passwd entry, *found = NULL;
	if (gethostname(host, sizeof host - 1))
		*host = '\0';
	if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) || !found)
		return mem_printf("%s:%u", host, (unsigned)getuid());
	return mem_printf("%s:%s", host, entry.pw_name);
}

static troupe_status node_setup_take_partition(struct node *node, const char *partition, struct troupe_error *error)
{
	node->partition = partition ? mem_strdup(partition) : node_setup_default_partition();
	if (!names_is_partition(node->partition, strlen(node->partition)))
		return fail(error, TROUPE_EINVAL,
			"gz-transport: '%.100s' is no partition: expected no blanks, '~', '@', '//' or ':=', and at "
			"most %d bytes",
			node->partition, NAMES_PARTITION_MAX);
	return TROUPE_OK;
}

static troupe_status node_setup_take_addresses(
	struct node *node, const struct node_options *options, struct troupe_error *error)
{
	const char *address = options->address ? options->address : "127.0.0.1";
	const char *group = options->group ? options->group : GROUP_DEFAULT;
	if (!multicast_parse_address(address, &node->address) || !node->address)
		return fail(error, TROUPE_EINVAL,
			"gz-transport: address '%.50s': expected the IPv4 address of an interface of this machine, as "
			"192.168.1.5",
			address);
	if (!multicast_parse_address(group, &node->group) || node->group >> 28 != 14)
		return fail(error, TROUPE_EINVAL,
			"gz-transport: group '%.50s': expected an IPv4 multicast address, as " GROUP_DEFAULT, group);
	node->local = node->address >> 24 == 127;
	node->topic_port = options->topic_port ? options->topic_port : NODE_TOPIC_PORT;
	node->service_port = options->service_port ? options->service_port : NODE_SERVICE_PORT;
	if (node->topic_port == node->service_port)
		return fail(error, TROUPE_EINVAL,
			"gz-transport: port %u for discovery of topics and of services: "
			"expected two ports",
			node->topic_port);
	return TROUPE_OK;
}

static troupe_status node_setup_take_secret(
	struct node *node, const struct node_options *options, struct troupe_error *error)
{
	if (!options->username && !options->password)
		return TROUPE_OK;
	if (!options->username || !options->password || strlen(options->username) > 255 ||
		strlen(options->password) > 255)
		return fail(error, TROUPE_EINVAL,
			"gz-transport: expected a user name and a password of at most 255 bytes, or neither");
	node->username = mem_strdup(options->username);
	node->password = mem_strdup(options->password);
	return TROUPE_OK;
}

troupe_status setup_take_options(struct node *node, const struct node_options *options, struct troupe_error *error)
{
	node->statistics = options->statistics;
	if (options->family)
		node_setup_join_family(node, options->family);
	node->version = options->statistics ? BEACON_VERSION_STATISTICS : BEACON_VERSION;
	node->ignition = options->generation == NODE_IGNITION;
	node->connections_max = options->connections_max ? options->connections_max : NODE_CONNECTIONS_MAX;
	node->linger_ms = options->linger_ms < 0 ? 0 : options->linger_ms ? options->linger_ms : NODE_LINGER_DEFAULT_MS;
	troupe_status status = node_setup_take_partition(node, options->partition, error);
	if (!status)
		status = node_setup_take_addresses(node, options, error);
	if (!status)
		status = node_setup_take_secret(node, options, error);
	return status;
}

static troupe_status node_setup_read_relays(
	const char *text, uint32_t relays[MULTICAST_RELAYS_MAX], uint32_t *ret_count, struct troupe_error *error)
{
	*ret_count = 0;
	for (const char *at = text; at && *at; at += *at == ':') {
		size_t length = strcspn(at, ":");
		char one[20] = "";
		memcpy(one, at, MIN(length, sizeof one - 1));
		if (length >= sizeof one || *ret_count == MULTICAST_RELAYS_MAX ||
			!multicast_parse_address(one, &relays[*ret_count]))
			return fail(error, TROUPE_EINVAL,
				"gz-transport: relays '%.100s': expected at most %d IPv4 addresses, separated by ':'",
				text, MULTICAST_RELAYS_MAX);
		++*ret_count;
		at += length;
	}
	return TROUPE_OK;
}

troupe_status setup_open_multicast(struct node *node, const struct node_options *options, struct troupe_error *error)
{
	uint32_t relays[MULTICAST_RELAYS_MAX];
	struct multicast_options socket = {.group = node->group, .address = node->address, .relays = relays};
	troupe_status status = node_setup_read_relays(options->relays, relays, &socket.relay_count, error);
	if (status)
		return status;
	socket.port = node->topic_port;
	status = multicast_create(&socket, &node->topics, error);
	if (status)
		return status;
	socket.port = node->service_port;
	return multicast_create(&socket, &node->services, error);
}

/* The module around Cyclone DDS. Messages are CDR already, made by gateway/ros. So there is one kind of sample for all
 * types, some bytes, and none of the library's descriptions of types: a type is only its name, as ROS 2 matches it.
 * That takes the library's interface for such kinds (ddsi_sertype, ddsi_serdata), which ROS 2's own module for Cyclone
 * DDS uses, too; its structures differ between releases, so configure takes those of one release.
 *
 * A writer drops what a reader is too slow for, and never waits: the library's limit for bytes that no reader has
 * acknowledged is so high that only the number of messages that a writer keeps counts.
 *
 * For programs of this machine only, the node uses the machine's usual interface, because not all libraries take the
 * address of the loopback, which often lacks multicast, too. A filter of the kernel drops each packet whose source is
 * no address of this machine (the kernel itself drops packets from outside that pretend to have one), and multicast has
 * a time to live of 0, so it stays here. Nodes are found by multicast, and, where there is none, at each port that a
 * participant of this machine may have: the node tells of itself once a second. Packets are as long as they can be,
 * because readers' sockets lose pictures that come in thousands of short ones. */
#include "gateway/dds/glue.h"

#include "gateway/dds/glue_sample.h"
#include "gateway/dds/user_data.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <sys/socket.h>

enum {
	DESCRIPTORS_MAX = 4096,
	LIBRARY_DESCRIPTORS = 256,
	DDS_GLUE_LINE_BYTES = 200,
	ADDRESSES_MAX = 64,
	CLIENT_BYTES = 128
};

/* --- the node ----------------------------------------------------------------------------------------------------- */

struct glue_node {
	dds_entity_t domain, participant;
	void (*wake)(void *ctx);
	void (*say)(void *ctx, const char *text);
	void *ctx;
	_Atomic bool opened, said;
	char first[DDS_GLUE_LINE_BYTES]; /* that the library said while the node was opened */
};

struct glue_end {
	struct glue_node *node;
	dds_entity_t entity;
	bool is_static;
	_Atomic uint32_t peers, came;
};

static bool dds_glue_fail_call(char *why, const char *what, dds_return_t code)
{
	snprintf(why, GLUE_WHY_BYTES, "%s: %s", what, dds_strretcode(code));
	return false;
}

/* The last port of the formula of DDSI that still belongs to the domain is that of participant 119. */
static void dds_glue_configure(const struct glue_place *place, char *text, size_t bytes)
{
	static const char common[] =
		"<Internal><Watermarks><WhcHigh>256 MB</WhcHigh><WhcHighInit>64 MB</WhcHighInit></Watermarks>"
		"<MaxSampleSize>128 MB</MaxSampleSize></Internal>"
		"<Tracing><Verbosity>none</Verbosity></Tracing>";
	if (place->address)
		snprintf(text, bytes,
			"<General><Interfaces><NetworkInterface address=\"%s\"/></Interfaces></General>%s",
			place->address, common);
	else
		snprintf(text, bytes,
			"<General><Interfaces><NetworkInterface autodetermine=\"true\"/></Interfaces>"
			"<AllowMulticast>spdp</AllowMulticast><MulticastTimeToLive>0</MulticastTimeToLive>"
			"<MaxMessageSize>65000 B</MaxMessageSize><FragmentSize>63000 B</FragmentSize></General>"
			"<Discovery><ParticipantIndex>auto</ParticipantIndex>"
			"<MaxAutoParticipantIndex>119</MaxAutoParticipantIndex>"
			"<Peers><Peer address=\"127.0.0.1\"/></Peers><SPDPInterval>1 s</SPDPInterval></Discovery>%s",
			common);
}

/* Whether the descriptor is a socket for datagrams. */
static bool dds_glue_is_datagram_socket(int fd)
{
	int type = 0;
	socklen_t size = sizeof type;
	struct sockaddr_in address;
	socklen_t room = sizeof address;
	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_DGRAM &&
	       !getsockname(fd, (struct sockaddr *)&address, &room) && address.sin_family == AF_INET;
}

/* The numbers of descriptors that are looked at. */
static int dds_glue_descriptor_count(void)
{
	struct rlimit limit = {0};
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur < DESCRIPTORS_MAX ? (int)limit.rlim_cur : DESCRIPTORS_MAX;
}

/* The IPv4 addresses of this machine. */
static uint32_t dds_glue_own_addresses(uint32_t ret_addresses[ADDRESSES_MAX])
{
	struct ifaddrs *all, *one;
	uint32_t count = 0;
	if (getifaddrs(&all))
		return 0;
	for (one = all; one && count < ADDRESSES_MAX; one = one->ifa_next) {
		struct sockaddr_in address;
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&address, one->ifa_addr, sizeof address);
		ret_addresses[count++] = ntohl(address.sin_addr.s_addr);
	}
	freeifaddrs(all);
	return count;
}

/* A filter that takes packets of this machine only: the source stands 12 bytes behind the begin of the IP header. */
static uint16_t dds_glue_make_filter(struct sock_filter filter[ADDRESSES_MAX + 8])
{
	uint32_t addresses[ADDRESSES_MAX], count = dds_glue_own_addresses(addresses);
	uint16_t at = 0;
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + 12);
	for (uint32_t i = 0; i < count; i++)
		filter[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, addresses[i], (uint8_t)(count - i + 1), 0);
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff000000);
	filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x7f000000, 0, 1);
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return at;
}

/* Whether the sockets that the library is about to make will be among those that are looked at: new descriptors have
 * the lowest numbers that are free. */
static bool dds_glue_has_low_descriptors(void)
{
	int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (probe >= 0)
		close(probe);
	return probe >= 0 && probe < DESCRIPTORS_MAX - LIBRARY_DESCRIPTORS;
}

/* Sets the filter for the library's sockets: for each socket that is not in `before`. The library gives no access to
 * them. What came before the filter was set is at most an announcement of a node on another host: without the packets
 * that follow it, no topic is matched. */
static bool dds_glue_stay_here(const bool before[DESCRIPTORS_MAX])
{
	struct sock_filter filter[ADDRESSES_MAX + 8];
	const struct sock_fprog program = {.len = dds_glue_make_filter(filter), .filter = filter};
	for (int fd = 0; fd < dds_glue_descriptor_count(); fd++)
		if (!before[fd] && dds_glue_is_datagram_socket(fd) &&
			setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program))
			return false;
	return true;
}

static dds_entity_t dds_glue_make_participant(const struct glue_place *place)
{
	dds_qos_t *qos = dds_create_qos();
	dds_qset_userdata(qos, place->user_data, strlen(place->user_data));
	dds_qset_entity_name(qos, "troupe");
	dds_entity_t participant = dds_create_participant(place->domain, qos, NULL);
	dds_delete_qos(qos);
	return participant;
}

static void dds_glue_close_node(struct glue_node *node)
{
	if (node->participant > 0)
		dds_delete(node->participant);
	if (node->domain > 0)
		dds_delete(node->domain);
	dds_set_log_sink(NULL, NULL);
	free(node);
}

/* The library has one sink for all domains of the process; the last node that was opened has it. */
static void dds_glue_on_log(void *arg, const dds_log_data_t *data)
{
	struct glue_node *node = arg;
	char line[DDS_GLUE_LINE_BYTES];
	if (atomic_exchange(&node->said, true))
		return;
	snprintf(line, sizeof line, "%.*s", (int)strcspn(data->message, "\n"), data->message);
	if (atomic_load(&node->opened))
		node->say(node->ctx, line);
	else
		memcpy(node->first, line, sizeof line);
}

static bool dds_glue_join(const struct glue_place *place, struct glue_node *node, char *why)
{
	char text[1024];
	bool before[DESCRIPTORS_MAX];
	if (!place->address && !dds_glue_has_low_descriptors()) {
		snprintf(why, GLUE_WHY_BYTES,
			"this process has too many open files: packets of other hosts could not be filtered");
		return false;
	}
	for (int fd = 0; fd < dds_glue_descriptor_count(); fd++)
		before[fd] = dds_glue_is_datagram_socket(fd);
	dds_glue_configure(place, text, sizeof text);
	node->domain = dds_create_domain(place->domain, text);
	if (node->domain == DDS_RETCODE_PRECONDITION_NOT_MET) {
		snprintf(why, GLUE_WHY_BYTES, "this process is in the domain already");
		return false;
	}
	if (node->domain < 0)
		return dds_glue_fail_call(why, "the domain cannot be joined", node->domain);
	node->participant = dds_glue_make_participant(place);
	if (node->participant < 0)
		return dds_glue_fail_call(why, "no participant can be made", node->participant);
	if (!place->address && !dds_glue_stay_here(before)) {
		snprintf(why, GLUE_WHY_BYTES, "packets of other hosts cannot be filtered");
		return false;
	}
	return true;
}

static bool dds_glue_open_node(const struct glue_place *place, struct glue_node **ret_node, char *why)
{
	struct glue_node *node = calloc(1, sizeof *node);
	if (!node)
		return dds_glue_fail_call(why, "the node", DDS_RETCODE_OUT_OF_RESOURCES);
	*node = (struct glue_node){.wake = place->wake, .say = place->say, .ctx = place->ctx};
	dds_set_log_sink(dds_glue_on_log, node);
	if (!dds_glue_join(place, node, why)) {
		if (*node->first)
			snprintf(why, GLUE_WHY_BYTES, "%s", node->first);
		dds_glue_close_node(node);
		return false;
	}
	atomic_store(&node->said, false);
	atomic_store(&node->opened, true);
	*ret_node = node;
	return true;
}

static void dds_glue_get_guid(dds_entity_t entity, unsigned char ret_guid[GLUE_GUID_BYTES])
{
	dds_guid_t guid = {{0}};
	(void)dds_get_guid(entity, &guid);
	memcpy(ret_guid, guid.v, GLUE_GUID_BYTES);
}

static void dds_glue_node_guid(const struct glue_node *node, unsigned char ret_guid[GLUE_GUID_BYTES])
{
	dds_glue_get_guid(node->participant, ret_guid);
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

static void dds_glue_note_peers(struct glue_end *end, uint32_t now, int32_t change)
{
	atomic_store(&end->peers, now);
	if (change > 0)
		atomic_fetch_add(&end->came, (uint32_t)change);
	end->node->wake(end->node->ctx);
}

/* Whether the reader asks a writer of GLUE_STATIC for the last message. */
static bool dds_glue_asks_for_last(dds_entity_t writer, dds_instance_handle_t reader)
{
	dds_builtintopic_endpoint_t *endpoint = dds_get_matched_subscription_data(writer, reader);
	dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
	bool asks = endpoint && endpoint->qos && dds_qget_durability(endpoint->qos, &durability) &&
		    durability != DDS_DURABILITY_VOLATILE;
	if (endpoint)
		dds_builtintopic_free_endpoint(endpoint);
	return asks;
}

static void dds_glue_on_reader(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg)
{
	const struct glue_end *end = arg;
	int32_t change = status.current_count_change;
	if (change == 1 && end->is_static && dds_glue_asks_for_last(writer, status.last_subscription_handle))
		change = 0;
	dds_glue_note_peers(arg, status.current_count, change);
}

static void dds_glue_on_writer(dds_entity_t reader, const dds_subscription_matched_status_t status, void *arg)
{
	(void)reader;
	dds_glue_note_peers(arg, status.current_count, status.current_count_change);
}

static void dds_glue_on_data(dds_entity_t reader, void *arg)
{
	struct glue_end *end = arg;
	(void)reader;
	end->node->wake(end->node->ctx);
}

static dds_qos_t *dds_glue_make_qos(enum glue_keep keep, const char *user_data)
{
	static const dds_data_representation_id_t plain[] = {DDS_DATA_REPRESENTATION_XCDR1};
	static const int32_t depths[] = {
		[GLUE_LATEST] = GLUE_TAKE_MAX, [GLUE_CALLS] = GLUE_CALLS_MAX, [GLUE_ONE] = 1, [GLUE_STATIC] = 1};
	dds_qos_t *qos = dds_create_qos();
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 0);
	dds_qset_durability(qos, keep == GLUE_STATIC ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depths[keep]);
	dds_qset_writer_data_lifecycle(qos, false);
	dds_qset_data_representation(qos, 1, plain);
	dds_qset_ignorelocal(qos, DDS_IGNORELOCAL_PARTICIPANT);
	if (user_data && *user_data)
		dds_qset_userdata(qos, user_data, strlen(user_data));
	return qos;
}

static dds_entity_t dds_glue_make_topic(struct glue_node *node, const char *name, const char *type_name)
{
	struct ddsi_sertype *type = calloc(1, sizeof *type);
	if (!type)
		return DDS_RETCODE_OUT_OF_RESOURCES;
	ddsi_sertype_init_flags(
		type, type_name, &glue_sample_type_ops, &glue_sample_ops, DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY);
	type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
	dds_entity_t topic = dds_create_topic_sertype(node->participant, name, &type, NULL, NULL, NULL);
	if (topic < 0)
		ddsi_sertype_unref(type);
	return topic;
}

static bool dds_glue_make_end(struct glue_node *node, bool writes, const char *topic_name, const char *type_name,
	enum glue_keep keep, const char *user_data, struct glue_end **ret_end, char *why)
{
	dds_entity_t topic = dds_glue_make_topic(node, topic_name, type_name);
	if (topic < 0)
		return dds_glue_fail_call(why, topic_name, topic);
	struct glue_end *end = calloc(1, sizeof *end);
	if (!end) {
		dds_delete(topic);
		return dds_glue_fail_call(why, topic_name, DDS_RETCODE_OUT_OF_RESOURCES);
	}
	end->node = node;
	end->is_static = keep == GLUE_STATIC;
	dds_qos_t *qos = dds_glue_make_qos(keep, user_data);
	dds_listener_t *listener = dds_create_listener(end);
	if (writes) {
		dds_lset_publication_matched(listener, dds_glue_on_reader);
		end->entity = dds_create_writer(node->participant, topic, qos, listener);
	} else {
		dds_lset_subscription_matched(listener, dds_glue_on_writer);
		dds_lset_data_available(listener, dds_glue_on_data);
		end->entity = dds_create_reader(node->participant, topic, qos, listener);
	}
	dds_delete_listener(listener);
	dds_delete_qos(qos);
	dds_delete(topic); /* the end keeps what it needs of it */
	if (end->entity < 0) {
		(void)dds_glue_fail_call(why, topic_name, end->entity);
		free(end);
		return false;
	}
	*ret_end = end;
	return true;
}

static bool dds_glue_write_end(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
	const char *user_data, struct glue_end **ret_end, char *why)
{
	return dds_glue_make_end(node, true, topic, type, keep, user_data, ret_end, why);
}

static bool dds_glue_read_end(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
	const char *user_data, struct glue_end **ret_end, char *why)
{
	return dds_glue_make_end(node, false, topic, type, keep, user_data, ret_end, why);
}

static void dds_glue_close_end(struct glue_end *end)
{
	dds_delete(end->entity);
	free(end);
}

static void dds_glue_end_guid(const struct glue_end *end, unsigned char ret_guid[GLUE_GUID_BYTES])
{
	dds_glue_get_guid(end->entity, ret_guid);
}

static uint32_t dds_glue_peers(const struct glue_end *end, uint32_t *ret_came)
{
	*ret_came = atomic_load(&end->came);
	return atomic_load(&end->peers);
}

static bool dds_glue_write_bytes(struct glue_end *end, const void *bytes, size_t count)
{
	return dds_write(end->entity, &(struct glue_bytes){bytes, count}) == DDS_RETCODE_OK;
}

static uint32_t dds_glue_take(
	struct glue_end *end, void (*give)(void *ctx, uint64_t writer, const void *bytes, size_t count), void *ctx)
{
	struct ddsi_serdata *samples[GLUE_TAKE_MAX];
	dds_sample_info_t infos[GLUE_TAKE_MAX];
	dds_return_t count = dds_takecdr(end->entity, samples, GLUE_TAKE_MAX, infos, DDS_ANY_STATE);
	for (dds_return_t i = 0; i < count; i++) {
		if (infos[i].valid_data)
			give(ctx, infos[i].publication_handle, glue_sample_of(samples[i])->bytes,
				glue_sample_of(samples[i])->count);
		ddsi_serdata_unref(samples[i]);
	}
	return count > 0 ? (uint32_t)count : 0;
}

/* --- clients of services ------------------------------------------------------------------------------------------ */

/* Frees the endpoint. False: it names no client. */
static bool dds_glue_take_client(dds_builtintopic_endpoint_t *endpoint, char ret_client[CLIENT_BYTES])
{
	void *data = NULL;
	size_t count = 0;
	bool found = endpoint && endpoint->qos && dds_qget_userdata(endpoint->qos, &data, &count) && data &&
		     user_data_find(data, count, "clientid", ret_client, CLIENT_BYTES);
	dds_free(data);
	if (endpoint)
		dds_builtintopic_free_endpoint(endpoint);
	return found;
}

static bool dds_glue_has_reader_of(const struct glue_end *replies, const char *client)
{
	dds_return_t count = dds_get_matched_subscriptions(replies->entity, NULL, 0);
	dds_instance_handle_t *readers = calloc(count > 0 ? (size_t)count : 1, sizeof *readers);
	bool found = false;
	if (!readers)
		return false;
	dds_return_t now = dds_get_matched_subscriptions(replies->entity, readers, count > 0 ? (size_t)count : 0);
	for (dds_return_t i = 0; i < now && i < count && !found; i++) {
		char other[CLIENT_BYTES];
		found = dds_glue_take_client(dds_get_matched_subscription_data(replies->entity, readers[i]), other) &&
			!strcmp(other, client);
	}
	free(readers);
	return found;
}

static enum glue_client dds_glue_client_of(struct glue_end *requests, struct glue_end *replies, uint64_t writer)
{
	char client[CLIENT_BYTES];
	dds_builtintopic_endpoint_t *endpoint = dds_get_matched_publication_data(requests->entity, writer);
	if (!endpoint)
		return GLUE_GONE;
	if (!dds_glue_take_client(endpoint, client))
		return GLUE_NAMELESS;
	return dds_glue_has_reader_of(replies, client) ? GLUE_THERE : GLUE_COMING;
}

extern const struct glue troupe_dds_glue;

__attribute__((visibility("default"))) const struct glue troupe_dds_glue = {
	.version = GLUE_VERSION,
	.open = dds_glue_open_node,
	.close = dds_glue_close_node,
	.node_guid = dds_glue_node_guid,
	.write_end = dds_glue_write_end,
	.read_end = dds_glue_read_end,
	.close_end = dds_glue_close_end,
	.end_guid = dds_glue_end_guid,
	.peers = dds_glue_peers,
	.write = dds_glue_write_bytes,
	.take = dds_glue_take,
	.client_of = dds_glue_client_of,
};

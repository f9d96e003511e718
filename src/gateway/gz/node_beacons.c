/* Discovery. Two groups of UDP, one for topics, one for services, with the same messages.
 *
 * All that a node has it advertises again and again: a peer that lists topics waits for one second and shows what it
 * has heard. gz-transport sends all at once each second; with a thousand topics that overflows the receive buffers of
 * peers, which hold some 270 datagrams. Here they are spread over CYCLE_NS, a little less than a second so that each
 * falls into every second; and when a process is new, over HURRY_NS.
 *
 * A record counts only if its own process sent it, is of this partition, and names an address that the node may connect
 * to. NEW_CONNECTION is sent for gz-transport's publishers, which send nothing before they got one, and repeated a few
 * times because datagrams get lost; what comes in of them is ignored (node_sockets.c says why). */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <string.h>

#define HEARTBEAT_NS (1000 * NODE_MS)
#define CYCLE_NS (800 * NODE_MS)
#define HURRY_NS (150 * NODE_MS)
#define SLICE_NS (10 * NODE_MS)
#define SWEEP_NS (250 * NODE_MS)
#define ANSWER_NS (20 * NODE_MS) /* between two answers to requests for one record */
enum { DATAGRAMS_MAX = 512, AT_ONCE = 32, NODE_BEACONS_ATTEMPTS_MAX = 5 };

/* --- sending ------------------------------------------------------------------------------------------------------ */

static void node_beacons_send(struct node *node, struct multicast *multicast, struct beacon beacon)
{
	beacon.version = node->version;
	beacon.process = beacon_text_of(node->process);
	node->datagram.count = 0;
	if (!beacon_encode(&beacon, &node->datagram))
		return;
	multicast_send(multicast, node->datagram.at, node->datagram.count);
	if (!multicast_has_relays(multicast))
		return;
	beacon.relay = true;
	node->datagram.count = 0;
	if (beacon_encode(&beacon, &node->datagram))
		multicast_send_relays(multicast, node->datagram.at, node->datagram.count);
}

void beacons_advertise_topic(struct node *node, struct node_publisher *publisher, enum beacon_kind kind)
{
	publisher->advertised_ns = clock_now_ns();
	node_beacons_send(node, node->topics,
		(struct beacon){.kind = kind,
			.has_publisher = true,
			.topic = beacon_text_of(publisher->full),
			.address = beacon_text_of(node->listeners[LISTENER_PUBLISH].endpoint),
			.owner = beacon_text_of(node->process),
			.node = beacon_text_of(node->id),
			.scope = BEACON_ALL,
			.control = beacon_text_of(""),
			.type = beacon_text_of(publisher->type),
			.throttled = publisher->rate_hz,
			.rate_hz = publisher->rate_hz});
}

void beacons_advertise_service(struct node *node, struct node_service *service, enum beacon_kind kind)
{
	service->advertised_ns = clock_now_ns();
	node_beacons_send(node, node->services,
		(struct beacon){.kind = kind,
			.has_publisher = true,
			.is_service = true,
			.topic = beacon_text_of(service->full),
			.address = beacon_text_of(node->listeners[LISTENER_SERVE].endpoint),
			.owner = beacon_text_of(node->process),
			.node = beacon_text_of(node->id),
			.scope = BEACON_ALL,
			.socket = beacon_text_of(node->serve_id),
			.request_type = beacon_text_of(service->request_type),
			.reply_type = beacon_text_of(service->reply_type)});
}

void beacons_seek(struct node *node, const char *full, bool is_service)
{
	node_beacons_send(node, is_service ? node->services : node->topics,
		(struct beacon){.kind = BEACON_SUBSCRIBE, .topic = beacon_text_of(full)});
}

/* The publisher's own record, with our identity in it, and the publisher's where it has none. */
void beacons_connection(struct node *node, const struct directory_record *record, enum beacon_kind kind)
{
	node_beacons_send(node, node->topics,
		(struct beacon){.kind = kind,
			.has_publisher = true,
			.topic = beacon_text_of(record->full),
			.address = beacon_text_of(record->address),
			.owner = beacon_text_of(node->process),
			.node = beacon_text_of(node->id),
			.scope = BEACON_ALL,
			.control = beacon_text_of(record->process),
			.type = beacon_text_of(record->type),
			.throttled = record->throttled,
			.rate_hz = record->rate_hz});
}

static void node_beacons_send_both(struct node *node, enum beacon_kind kind)
{
	node_beacons_send(node, node->topics, (struct beacon){.kind = kind});
	node_beacons_send(node, node->services, (struct beacon){.kind = kind});
}

void beacons_bye(struct node *node)
{
	node_beacons_send_both(node, BEACON_BYE);
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static uint32_t node_beacons_record_count(const struct node *node)
{
	return node->publishers.count + node->offers.count;
}

/* How many of `all` should be advertised by now: a slice of them each SLICE_NS, the first at once. */
static uint32_t node_beacons_due_records(const struct node *node, uint32_t all, uint64_t now_ns)
{
	uint64_t slice = (now_ns - node->cycle_ns) / SLICE_NS + 1, slices = node->cycle_length_ns / SLICE_NS;
	if (all <= AT_ONCE || slice >= slices)
		return all;
	return (uint32_t)(all * slice / slices);
}

static void node_beacons_advertise_due(struct node *node, uint64_t now_ns)
{
	uint32_t all = node_beacons_record_count(node), due = MIN(node_beacons_due_records(node, all, now_ns), all);
	for (; node->cursor < due; node->cursor++) {
		if (node->cursor < node->publishers.count)
			beacons_advertise_topic(node, node->publishers.at[node->cursor], BEACON_ADVERTISE);
		else
			beacons_advertise_service(
				node, node->offers.at[node->cursor - node->publishers.count], BEACON_ADVERTISE);
	}
}

static void node_beacons_begin_cycle(struct node *node, uint64_t now_ns)
{
	node->cycle_length_ns = node->hurry ? HURRY_NS : CYCLE_NS;
	node->hurry = false;
	node->cycle_ns = now_ns;
	node->cursor = 0;
}

static bool node_beacons_is_cycle_over(const struct node *node, uint64_t now_ns)
{
	uint64_t end_ns = node->cycle_ns + (node->hurry ? HURRY_NS : CYCLE_NS);
	return node->cursor >= node_beacons_record_count(node) && now_ns >= end_ns;
}

void beacons_tick(struct node *node, uint64_t now_ns)
{
	if (now_ns >= node->heartbeat_ns) {
		node_beacons_send_both(node, BEACON_HEARTBEAT);
		node->heartbeat_ns = now_ns + HEARTBEAT_NS;
	}
	if (node_beacons_is_cycle_over(node, now_ns))
		node_beacons_begin_cycle(node, now_ns);
	node_beacons_advertise_due(node, now_ns);
	if (now_ns >= node->sweep_ns) {
		directory_expire(node->directory, now_ns);
		node->sweep_ns = now_ns + SWEEP_NS;
	}
}

uint64_t beacons_due_ns(const struct node *node, uint64_t now_ns)
{
	uint64_t due_ns = MIN(node->heartbeat_ns, node->sweep_ns);
	if (node->cursor < node_beacons_record_count(node))
		return MIN(due_ns, node->cycle_ns + ((now_ns - node->cycle_ns) / SLICE_NS + 1) * SLICE_NS);
	return MIN(due_ns, node->cycle_ns + (node->hurry ? HURRY_NS : CYCLE_NS));
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool node_beacons_may_connect(const struct node *node, struct beacon_text address)
{
	struct names_endpoint endpoint;
	return names_endpoint_parse(address.at, address.count, &endpoint) &&
	       (!node->local || multicast_is_own(node->topics, endpoint.address));
}

static void node_beacons_take_advertisement(struct node *node, const struct beacon *beacon, uint32_t from)
{
	bool is_new;
	if (beacon->scope == BEACON_PROCESS ||
		(beacon->scope == BEACON_HOST && !multicast_is_own(node->topics, from)) ||
		!node_beacons_may_connect(node, beacon->address)) {
		node->counts.datagrams_dropped++;
		return;
	}
	struct directory_record *record = directory_add(node->directory, beacon, &is_new);
	if (!record) {
		node->counts.datagrams_dropped++;
		return;
	}
	if (record->is_service)
		return;
	topics_consider(node, record);
	if (record->used && record->attempts < NODE_BEACONS_ATTEMPTS_MAX) {
		record->attempts++;
		beacons_connection(node, record, BEACON_NEW_CONNECTION);
	}
}

/* A peer asks which node has this topic or service. */
static void node_beacons_answer(struct node *node, const struct beacon *beacon, bool is_service, uint64_t now_ns)
{
	char full[NAMES_FULL_MAX + 1];
	uint32_t index;
	parts_copy((struct part){beacon->topic.at, beacon->topic.count}, full, sizeof full);
	if (is_service && map_find(&node->service_index, full, &index)) {
		struct node_service *service = node->offers.at[index];
		if (now_ns >= service->advertised_ns + ANSWER_NS)
			beacons_advertise_service(node, service, BEACON_ADVERTISE);
	} else if (!is_service && map_find(&node->publisher_index, full, &index)) {
		struct node_publisher *publisher = node->publishers.at[publishers_place(node, full)];
		if (now_ns >= publisher->advertised_ns + ANSWER_NS)
			beacons_advertise_topic(node, publisher, BEACON_ADVERTISE);
	}
}

static void node_beacons_obey(
	struct node *node, const struct beacon *beacon, bool is_service, uint32_t from, uint64_t now_ns)
{
	bool is_ours = beacon->topic.count && names_topic_in(beacon->topic.at, beacon->topic.count, node->partition);
	bool is_own_record = beacon->has_publisher && beacon->is_service == is_service &&
			     beacon->owner.count == beacon->process.count &&
			     !memcmp(beacon->owner.at, beacon->process.at, beacon->process.count);
	switch (beacon->kind) {
	case BEACON_ADVERTISE:
		if (is_ours && is_own_record)
			node_beacons_take_advertisement(node, beacon, from);
		break;
	case BEACON_UNADVERTISE:
		if (is_ours && is_own_record)
			directory_remove(node->directory, beacon);
		break;
	case BEACON_SUBSCRIBE:
		if (is_ours)
			node_beacons_answer(node, beacon, is_service, now_ns);
		break;
	case BEACON_BYE:
		directory_remove_process(node->directory, beacon->process);
		break;
	case BEACON_HEARTBEAT:
	case BEACON_NEW_CONNECTION:
	case BEACON_END_CONNECTION:
		break;
	}
}

/* A datagram that a relay sent to us alone is for the group here; one of the group is for our relays. True: it is for
 * us, too. */
static bool node_beacons_pass_on(
	struct node *node, struct multicast *multicast, const struct beacon *beacon, uint32_t from)
{
	struct beacon copy = *beacon;
	if (!beacon->relay && (beacon->no_relay || !multicast_has_relays(multicast)))
		return true;
	copy.relay = !beacon->relay;
	copy.no_relay = beacon->relay;
	node->datagram.count = 0;
	if (!beacon_encode(&copy, &node->datagram))
		return !beacon->relay;
	if (!beacon->relay) {
		multicast_send_relays(multicast, node->datagram.at, node->datagram.count);
		return true;
	}
	multicast_add_relay(multicast, from);
	multicast_send(multicast, node->datagram.at, node->datagram.count);
	return false;
}

static void node_beacons_read_one(
	struct node *node, struct multicast *multicast, const char *bytes, size_t count, uint32_t from, uint64_t now_ns)
{
	struct beacon beacon;
	bool is_new;
	if (!beacon_decode(bytes, count, &beacon) || beacon.version != node->version) {
		node->counts.datagrams_dropped++;
		return;
	}
	if (beacon_text_is(beacon.process, node->process) || !node_beacons_pass_on(node, multicast, &beacon, from))
		return;
	if (beacon.kind != BEACON_BYE && !directory_hear(node->directory, beacon.process, now_ns, &is_new)) {
		node->counts.datagrams_dropped++;
		return;
	}
	if (beacon.kind != BEACON_BYE && is_new)
		node->hurry = true;
	node_beacons_obey(node, &beacon, multicast == node->services, from, now_ns);
}

void beacons_read(struct node *node, struct multicast *multicast, uint64_t now_ns)
{
	size_t count;
	uint32_t from;
	for (int i = 0; i < DATAGRAMS_MAX; i++) {
		const char *bytes = multicast_receive(multicast, &count, &from);
		if (!bytes)
			return;
		node->counts.datagrams++;
		node_beacons_read_one(node, multicast, bytes, count, from, now_ns);
	}
}

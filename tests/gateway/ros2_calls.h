/* What programs of the tests on Cyclone DDS share that call services in the way of rmw_cyclonedds_cpp. The types are
 * code that Cyclone's compiler makes of an IDL file: include it first. Each argument of such a program is one order, of
 * words that ":" parts. */
#ifndef TESTS_GATEWAY_ROS2_CALLS_H
#define TESTS_GATEWAY_ROS2_CALLS_H

#include <dds/dds.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_S = 30, WORDS = 8 };

static dds_entity_t participant;
static char *words[WORDS]; /* of the present order */
static int word_count;

struct ends {
	dds_entity_t writer, reader;
	dds_instance_handle_t client;
	char id[32];
};

static inline void fail(const char *what, dds_return_t code)
{
	printf("%s: %s\n", what, dds_strretcode(code));
	exit(3);
}

static inline dds_entity_t must(dds_entity_t entity, const char *what)
{
	if (entity < 0)
		fail(what, entity);
	return entity;
}

/* rmw_cyclonedds_cpp keeps 10 messages. All clients of a service hear all replies, so one that gets no turn for a
 * while, as here on a busy machine, would lose its own among them. */
static inline dds_qos_t *qos_of(const char *id, bool is_static)
{
	dds_qos_t *qos = dds_create_qos();
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_durability(qos, is_static ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, is_static ? 1 : 1000);
	if (id)
		dds_qset_userdata(qos, id, strlen(id));
	return qos;
}

static inline dds_entity_t make_reader(
	const char *name, const dds_topic_descriptor_t *type, const char *id, bool is_static)
{
	dds_qos_t *qos = qos_of(id, is_static);
	dds_entity_t topic = must(dds_create_topic(participant, type, name, NULL, NULL), name);
	dds_entity_t reader = must(dds_create_reader(participant, topic, qos, NULL), name);
	dds_delete_qos(qos);
	return reader;
}

static inline dds_entity_t make_writer(const char *name, const dds_topic_descriptor_t *type, const char *id)
{
	dds_qos_t *qos = qos_of(id, false);
	dds_entity_t topic = must(dds_create_topic(participant, type, name, NULL, NULL), name);
	dds_entity_t writer = must(dds_create_writer(participant, topic, qos, NULL), name);
	dds_delete_qos(qos);
	return writer;
}

static inline bool waits(dds_time_t since, int *turns)
{
	dds_sleepfor(DDS_MSECS(1));
	(*turns)++;
	return dds_time() - since < DDS_SECS(ANSWER_S);
}

/* Until a service with one id has both ends of the client. */
static inline void await_service(const struct ends *ends)
{
	dds_time_t begin = dds_time();
	dds_publication_matched_status_t requests = {0};
	dds_subscription_matched_status_t replies = {0};
	int turns = 0;
	do {
		dds_get_publication_matched_status(ends->writer, &requests);
		if (ends->reader)
			dds_get_subscription_matched_status(ends->reader, &replies);
	} while ((!requests.current_count || (ends->reader && !replies.current_count)) && waits(begin, &turns));
	if (!requests.current_count)
		fail("no service", DDS_RETCODE_TIMEOUT);
}

/* A reader that hears of a writer after its first message takes this for one of the past, and acknowledges it all the
 * same. So the first message is none: the end of an instance that never was, which has no data. */
static inline void open_way(const struct ends *ends, const dds_topic_descriptor_t *request)
{
	void *nothing = dds_alloc(request->m_size);
	dds_return_t code = dds_dispose(ends->writer, nothing);
	if (!code)
		code = dds_wait_for_acks(ends->writer, DDS_SECS(ANSWER_S));
	if (code)
		fail("the way to the service", code);
	dds_free(nothing);
}

static inline struct ends open_ends(
	const char *name, const dds_topic_descriptor_t *request, const dds_topic_descriptor_t *response)
{
	static int number;
	struct ends ends = {0};
	char topic[128];
	dds_guid_t guid;
	dds_get_guid(participant, &guid);
	snprintf(ends.id, sizeof ends.id, "clientid=%x.%x.%x;", guid.v[10], guid.v[11], ++number);
	if (response) {
		snprintf(topic, sizeof topic, "rr/%sReply", name);
		ends.reader = make_reader(topic, response, ends.id, false);
	}
	snprintf(topic, sizeof topic, "rq/%sRequest", name);
	ends.writer = make_writer(topic, request, ends.id);
	dds_get_instance_handle(ends.writer, &ends.client);
	await_service(&ends);
	open_way(&ends, request);
	return ends;
}

/* Every request and response begins with these. */
struct head {
	uint64_t client;
	int64_t number;
};

/* The number is the same for all clients that have just started. */
static inline int64_t send_request(struct ends *ends, void *request)
{
	static int64_t number;
	struct head *head = request;
	head->client = ends->client;
	head->number = ++number;
	dds_return_t code = dds_write(ends->writer, request);
	if (code < 0)
		fail("a request", code);
	return number;
}

/* The response to the request, which stays the reader's: other clients' are passed over. NULL: none came. */
static inline void *await_reply(struct ends *ends, int64_t number)
{
	dds_time_t begin = dds_time();
	int turns = 0;
	do {
		void *sample[1] = {NULL};
		dds_sample_info_t info;
		while (dds_take(ends->reader, sample, &info, 1, 1) == 1) {
			const struct head *head = sample[0];
			if (info.valid_data && head->client == ends->client && head->number == number)
				return sample[0];
			dds_return_loan(ends->reader, sample, 1);
			sample[0] = NULL;
		}
	} while (waits(begin, &turns));
	printf("%s: no answer in %d s to request %lld\n", words[0], ANSWER_S, (long long)number);
	exit(4);
}

#define CALL(variable, package, Type, topic, ...)                                                                      \
	package##_##Type##_Request_ request_##variable = {.client = 0, __VA_ARGS__};                                   \
	struct ends ends_##variable =                                                                                  \
		open_ends(topic, &package##_##Type##_Request__desc, &package##_##Type##_Response__desc);               \
	int64_t number_##variable = send_request(&ends_##variable, &request_##variable);                               \
	package##_##Type##_Response_ *variable = await_reply(&ends_##variable, number_##variable)

static inline const char *word(int i)
{
	return i < word_count ? words[i] : "";
}

struct order {
	const char *name; /* NULL: the end */
	void (*fn)(void);
	int least; /* words */
};

static inline int obey(int argc, char **argv, const struct order *orders)
{
	dds_domainid_t domain = 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		word_count = 0;
		for (char *at = strtok(argv[i], ":"); at && word_count < WORDS; at = strtok(NULL, ":"))
			words[word_count++] = at;
		if (!strcmp(words[0], "domain")) {
			domain = (dds_domainid_t)atoi(words[1]);
			continue;
		}
		if (!participant)
			participant = must(dds_create_participant(domain, NULL, NULL), "a participant");
		const struct order *order = orders;
		while (order->name && strcmp(order->name, words[0]) != 0)
			order++;
		if (!order->name || word_count < order->least)
			fail(words[0], DDS_RETCODE_BAD_PARAMETER);
		order->fn();
	}
	dds_delete(DDS_CYCLONEDDS_HANDLE);
	return 0;
}

#endif

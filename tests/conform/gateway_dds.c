/* A node on Cyclone DDS for the suite of gateways: does what the lines of its standard input say, and prints a line for
 * each message. Its types are code that Cyclone's compiler makes of gateway_dds.idl, so nothing here is troupe's.
 *
 *   gateway_dds DOMAIN
 *     sub NAME clock|odom|image|tf   "message NAME SEC NSEC X"; X: of an odometry. tf: transient local, as tf2 reads it
 *     unsub NAME
 *     pub NAME X                     a Twist, once a reader is there (twice by the first): "published NAME"
 *     topics                         "topic NAME" for each that some program writes, then "topics"
 * It ends with its standard input. */
#include "gateway_dds.h"

#include <dds/dds.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READERS_MAX = 256, WRITERS_MAX = 64, TAKEN_MAX = 16 };

static struct reading {
	char name[256], kind[16];
	dds_entity_t reader;
} readings[READERS_MAX];
static int reading_count;
static struct writing {
	char name[256];
	dds_entity_t writer;
} writings[WRITERS_MAX];
static int writing_count;
static dds_entity_t participant, publications;

static dds_entity_t must(dds_entity_t entity, const char *what)
{
	if (entity >= 0)
		return entity;
	printf("%s: %s\n", what, dds_strretcode(entity));
	exit(3);
}

static const dds_topic_descriptor_t *type_of(const char *kind)
{
	return !strcmp(kind, "clock")  ? &rosgraph_msgs_msg_dds__Clock__desc
	       : !strcmp(kind, "odom") ? &nav_msgs_msg_dds__Odometry__desc
	       : !strcmp(kind, "tf")   ? &tf2_msgs_msg_dds__TFMessage__desc
				       : &sensor_msgs_msg_dds__Image__desc;
}

static dds_entity_t topic_of(const char *name, const dds_topic_descriptor_t *type)
{
	char full[300];
	snprintf(full, sizeof full, "rt%s", name);
	return must(dds_create_topic(participant, type, full, NULL, NULL), name);
}

static dds_qos_t *qos_of(const char *kind)
{
	dds_qos_t *qos = dds_create_qos();
	bool is_static = !strcmp(kind, "tf");
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_durability(qos, is_static ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1000);
	return qos;
}

static void subscribe(const char *name, const char *kind)
{
	struct reading *at = &readings[reading_count++];
	dds_qos_t *qos = qos_of(kind);
	snprintf(at->name, sizeof at->name, "%s", name);
	snprintf(at->kind, sizeof at->kind, "%s", kind);
	at->reader = must(dds_create_reader(participant, topic_of(name, type_of(kind)), qos, NULL), name);
	dds_delete_qos(qos);
}

static void unsubscribe(const char *name)
{
	for (int i = 0; i < reading_count; i++)
		if (!strcmp(readings[i].name, name)) {
			dds_delete(readings[i].reader);
			readings[i--] = readings[--reading_count];
		}
}

/* The writer of a topic. Its first message only opens the way: a reader that hears of the writer after a message was
 * written takes this message for one of the past, and acknowledges it all the same. */
static dds_entity_t writer_of(const char *name, const geometry_msgs_msg_dds__Twist_ *twist)
{
	dds_publication_matched_status_t matched = {0};
	for (int i = 0; i < writing_count; i++)
		if (!strcmp(writings[i].name, name))
			return writings[i].writer;
	if (writing_count == WRITERS_MAX) {
		printf("too many topics: %s\n", name);
		exit(3);
	}
	struct writing *at = &writings[writing_count++];
	dds_qos_t *qos = qos_of("");
	snprintf(at->name, sizeof at->name, "%s", name);
	at->writer = must(
		dds_create_writer(participant, topic_of(name, &geometry_msgs_msg_dds__Twist__desc), qos, NULL), name);
	dds_delete_qos(qos);
	for (int i = 0; i < 6000 && !matched.current_count; i++) {
		usleep(10000);
		(void)dds_get_publication_matched_status(at->writer, &matched);
	}
	if (!matched.current_count) {
		printf("nobody reads %s\n", name);
		exit(3);
	}
	must(dds_write(at->writer, twist), name);
	must(dds_wait_for_acks(at->writer, DDS_SECS(60)), name);
	return at->writer;
}

static void publish(const char *name, double x)
{
	geometry_msgs_msg_dds__Twist_ twist = {.linear = {.x = x}};
	dds_entity_t writer = writer_of(name, &twist);
	must(dds_write(writer, &twist), name);
	must(dds_wait_for_acks(writer, DDS_SECS(60)), name);
	printf("published %s\n", name);
}

/* Publications that are alive: what is read stays in the cache. */
static void list(void)
{
	void *samples[4096] = {0};
	dds_sample_info_t infos[4096];
	dds_return_t count = dds_read(publications, samples, infos, 4096, 4096);
	for (dds_return_t i = 0; i < count; i++) {
		const dds_builtintopic_endpoint_t *end = samples[i];
		if (infos[i].valid_data && infos[i].instance_state == DDS_IST_ALIVE &&
			!strncmp(end->topic_name, "rt/", 3))
			printf("topic %s\n", end->topic_name + 2);
	}
	if (count > 0)
		dds_return_loan(publications, samples, count);
	printf("topics\n");
}

static void tell(const struct reading *reading, const void *sample)
{
	const builtin_interfaces_msg_dds__Time_ *stamp = NULL;
	double x = 0;
	if (!strcmp(reading->kind, "clock")) {
		stamp = &((const rosgraph_msgs_msg_dds__Clock_ *)sample)->clock;
	} else if (!strcmp(reading->kind, "odom")) {
		const nav_msgs_msg_dds__Odometry_ *odometry = sample;
		stamp = &odometry->header.stamp;
		x = odometry->pose.pose.position.x;
	} else if (!strcmp(reading->kind, "image")) {
		stamp = &((const sensor_msgs_msg_dds__Image_ *)sample)->header.stamp;
	}
	printf("message %s %d %u %.9f\n", reading->name, stamp ? stamp->sec : 0, stamp ? stamp->nanosec : 0, x);
}

static void take(const struct reading *reading)
{
	void *samples[TAKEN_MAX] = {0};
	dds_sample_info_t infos[TAKEN_MAX];
	dds_return_t count = dds_take(reading->reader, samples, infos, TAKEN_MAX, TAKEN_MAX);
	for (dds_return_t i = 0; i < count; i++)
		if (infos[i].valid_data)
			tell(reading, samples[i]);
	if (count > 0)
		dds_return_loan(reading->reader, samples, count);
}

static void obey(const char *line)
{
	char order[16] = "", name[256] = "", value[64] = "";
	(void)sscanf(line, "%15s %255s %63s", order, name, value);
	if (!strcmp(order, "sub"))
		subscribe(name, value);
	else if (!strcmp(order, "unsub"))
		unsubscribe(name);
	else if (!strcmp(order, "pub"))
		publish(name, atof(value));
	else if (!strcmp(order, "topics"))
		list();
}

int main(int argc, char **argv)
{
	char line[1024];
	size_t count = 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	participant =
		must(dds_create_participant((dds_domainid_t)atoi(argc > 1 ? argv[1] : "0"), NULL, NULL), "domain");
	publications =
		must(dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL), "publications");
	printf("ready\n");
	for (;;) {
		struct pollfd in = {.fd = 0, .events = POLLIN};
		if (poll(&in, 1, 2) > 0) {
			ssize_t got = read(0, line + count, 1);
			if (got <= 0)
				return 0;
			if (line[count] == '\n' || count + 2 == sizeof line) {
				line[count] = '\0';
				count = 0;
				obey(line);
			} else {
				count++;
			}
			continue;
		}
		for (int i = 0; i < reading_count; i++)
			take(&readings[i]);
	}
}

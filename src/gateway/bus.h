/* The bus of a gateway, which gives messages and takes commands: a server of this process, or the run of another
 * process (relay/remote.h). The functions are those of troupe/client.h, for one client. A run of another process takes
 * commands only from the process of a robot client, for the client's own models.
 *
 * Thread: one at a time, except for on_ready. */
#ifndef GATEWAY_BUS_H
#define GATEWAY_BUS_H

#include <troupe/client.h>
#include <troupe/server.h>

struct bus;

/* As def.on_ready of a client: messages can be taken again after a time without any. Any thread; quick. */
typedef void (*bus_ready)(void *ctx);

/* All slots are filled: bus_open() asserts it. */
struct bus_ops {
	troupe_status (*subscribe)(struct bus *bus, const char *topic, double rate_hz, struct troupe_error *error);
	void (*unsubscribe)(struct bus *bus, const char *topic);
	/* type: NULL: the topic's, the service's. A run of another process may refuse the message later: take() then
	 * gives a reply with the tag 0, the topic, a status and the reason. */
	troupe_status (*publish)(struct bus *bus, const char *topic, const char *type, const void *bytes, size_t count,
		struct troupe_error *error);
	troupe_status (*call)(struct bus *bus, const char *service, const char *type, const void *bytes, size_t count,
		uint64_t tag, struct troupe_error *error);
	bool (*take)(struct bus *bus, uint64_t timeout_ns, struct troupe_message *ret_message);
	uint64_t (*lost)(const struct bus *bus);
	/* The caller gives it to release(). */
	const struct troupe_topics *(*topics)(struct bus *bus);
	void (*release)(struct bus *bus, const struct troupe_topics *topics);
	uint64_t (*epoch)(const struct bus *bus);
	uint32_t (*world_count)(const struct bus *bus);
	const char *(*world_name)(const struct bus *bus, uint32_t world);
	/* The number of commands that the bus has given; UINT64_MAX: it can give none. */
	uint64_t (*commands)(const struct bus *bus);
	void (*destroy)(struct bus *bus);
};

struct bus {
	const struct bus_ops *ops;
};

struct troupe_view_run;

/* Where a gateway's buses are opened: one of the two is NULL. */
struct bus_place {
	struct troupe_server *server;      /* of this process; it must outlive the buses */
	const struct troupe_view_run *run; /* of another process; read only while a bus is opened */
};

/* Whether the bus takes no commands. */
bool bus_only_watches(const struct bus *bus);
/* A client of the server, or a connection of its own to the run. depth: of its queue, as in troupe_client_def. Errors
 * as those of troupe_client_create() and remote_connect_run(). */
troupe_status bus_open(const struct bus_place *place, uint32_t depth, bus_ready on_ready, void *ctx,
	struct bus **ret_bus, struct troupe_error *error);
/* NULL is fine. */
void bus_destroy(struct bus *bus);

#endif

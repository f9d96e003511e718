/* The source of a gateway's messages, and the receiver of its commands: a server of this process, or the run of another
 * process (watch/remote.h). The functions are those of troupe/client.h, for one client. A run of another process takes
 * commands only from the process of a robot client, for the client's own models.
 *
 * Thread: one at a time, except for on_ready. */
#ifndef GATEWAY_SOURCE_H
#define GATEWAY_SOURCE_H

#include <troupe/client.h>
#include <troupe/server.h>

struct source;

/* As def.on_ready of a client: messages can be taken again after a time without any. Any thread; quick. */
typedef void (*source_ready)(void *ctx);

/* All slots are filled: source_open() asserts it. */
struct source_ops {
	troupe_status (*subscribe)(
		struct source *source, const char *topic, double rate_hz, struct troupe_error *error);
	void (*unsubscribe)(struct source *source, const char *topic);
	/* type: NULL: the topic's, the service's. A run of another process may refuse the message later: take() then
	 * gives a reply with the tag 0, the topic, a status and the reason. */
	troupe_status (*publish)(struct source *source, const char *topic, const char *type, const void *bytes,
		size_t count, struct troupe_error *error);
	troupe_status (*call)(struct source *source, const char *service, const char *type, const void *bytes,
		size_t count, uint64_t tag, struct troupe_error *error);
	bool (*take)(struct source *source, uint64_t timeout_ns, struct troupe_message *ret_message);
	uint64_t (*lost)(const struct source *source);
	/* The caller gives it to release(). */
	const struct troupe_topics *(*topics)(struct source *source);
	void (*release)(struct source *source, const struct troupe_topics *topics);
	uint64_t (*epoch)(const struct source *source);
	uint32_t (*world_count)(const struct source *source);
	const char *(*world_name)(const struct source *source, uint32_t world);
	/* The number of commands that the source has given; UINT64_MAX: it can give none. */
	uint64_t (*commands)(const struct source *source);
	void (*destroy)(struct source *source);
};

struct source {
	const struct source_ops *ops;
};

struct troupe_view_run;

/* Where a gateway's sources are opened: one of the two is NULL. */
struct source_place {
	struct troupe_server *server;      /* of this process; it must outlive the sources */
	const struct troupe_view_run *run; /* of another process; read only while a source is opened */
};

/* Whether the source takes no commands. */
bool source_only_watches(const struct source *source);
/* A client of the server, or a connection of its own to the run. depth: of its queue, as in troupe_client_def. Errors
 * as those of troupe_client_create() and remote_connect_run(). */
troupe_status source_open(const struct source_place *place, uint32_t depth, source_ready on_ready, void *ctx,
	struct source **ret_source, struct troupe_error *error);
/* NULL is fine. */
void source_destroy(struct source *source);

#endif

/* The calls to a DDS library, as one table. The functions are in a module of their own, troupe_dds.so, which is loaded
 * when a run asks for it: so no other run waits until the library and the C++ libraries behind it are loaded, or needs
 * them. The module knows names, types by their names, and bytes; no message and no world.
 *
 * Any thread may call the functions, one at a time for each end. */
#ifndef GATEWAY_DDS_GLUE_H
#define GATEWAY_DDS_GLUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GLUE_VERSION = 2,
	GLUE_WHY_BYTES = 256,
	GLUE_GUID_BYTES = 16,
	GLUE_TAKE_MAX = 10, /* messages of one take(); a reader keeps as many, the latest */
	GLUE_CALLS_MAX = 64,
	GLUE_HEAR_MAX = 1 << 20, /* bytes of a message that is taken; a longer one is dropped */
};

struct glue_node; /* a participant: this process as other processes see it in DDS */
struct glue_end;  /* a writer or a reader of a topic */

struct glue_place {
	uint32_t domain;
	/* The IPv4 address of an interface of this machine, through which other hosts are reached; NULL: programs of
	 * this machine only. */
	const char *address;
	const char *user_data; /* of the participant */
	/* Called on a thread of the library: a message has come, or a peer has come or gone. Quick. */
	void (*wake)(void *ctx);
	/* The first warning of the library about data of peers, without the library's own prefix. Later warnings are
	 * dropped, because peers could send wrong data without end. On a thread of the library. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

enum glue_keep {
	GLUE_LATEST, /* reliable, volatile, the last 10 messages: ROS 2's default */
	GLUE_CALLS,  /* the same with the last GLUE_CALLS_MAX, for requests and replies of many clients */
	GLUE_ONE,    /* reliable, volatile, the last message */
	GLUE_STATIC, /* reliable, transient local, the last message: a later subscriber gets it, too */
};

enum glue_client {
	GLUE_THERE,  /* it hears a reply */
	GLUE_COMING, /* its reader of replies is not known yet: a match is told when it is */
	GLUE_GONE,
	GLUE_NAMELESS, /* its writer has no "clientid" */
};

struct glue {
	uint32_t version; /* GLUE_VERSION */
	/* False, with one line in why[GLUE_WHY_BYTES], if the domain cannot be joined. At most one node of a process is
	 * in one domain at a time. */
	bool (*open)(const struct glue_place *place, struct glue_node **ret_node, char *why);
	/* All its ends must be closed. No wake() comes afterwards. */
	void (*close)(struct glue_node *node);
	void (*node_guid)(const struct glue_node *node, unsigned char ret_guid[GLUE_GUID_BYTES]);
	/* A topic and a type by their names in DDS, which are copied. */
	bool (*write_end)(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
		const char *user_data, struct glue_end **ret_end, char *why);
	bool (*read_end)(struct glue_node *node, const char *topic, const char *type, enum glue_keep keep,
		const char *user_data, struct glue_end **ret_end, char *why);
	void (*close_end)(struct glue_end *end);
	void (*end_guid)(const struct glue_end *end, unsigned char ret_guid[GLUE_GUID_BYTES]);
	/* Peers that the end is matched with now; *ret_came: how many have come so far. Of a writer with GLUE_STATIC
	 * only readers count as come that are volatile: to others the library gives the last message itself. */
	uint32_t (*peers)(const struct glue_end *end, uint32_t *ret_came);
	/* CDR with its header, count >= 4. Does not wait for readers. False: the message is lost. */
	bool (*write)(struct glue_end *end, const void *bytes, size_t count);
	/* Gives up to GLUE_TAKE_MAX messages that wait, in their order; CDR with its header. The bytes are lent for the
	 * call. writer: a number of the writer that sent it, for client_of(). Returns how many. */
	uint32_t (*take)(struct glue_end *end,
		void (*give)(void *ctx, uint64_t writer, const void *bytes, size_t count), void *ctx);
	/* Whether the client of a service whose writer sent a message to `requests` is there to hear a reply of
	 * `replies`. A writer and a reader with the same "clientid" in their user data are of one client. */
	enum glue_client (*client_of)(struct glue_end *requests, struct glue_end *replies, uint64_t writer);
};

#define GLUE_SYMBOL "troupe_dds_glue"

#endif

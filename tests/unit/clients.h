/* Shared by the tests of clients: calls that must succeed, and messages as structs. */
#ifndef TESTS_UNIT_CLIENTS_H
#define TESTS_UNIT_CLIENTS_H

#include "library.h"

#include "topic/message.h"

#include <troupe/client.h>

static const struct message_limits no_limits = {.bytes_max = SIZE_MAX, .items_max = UINT32_MAX};

/* The clients that a test has not destroyed itself: clients_end() does. */
enum { CLIENTS_MAX = 64 };
static struct troupe_client *clients[CLIENTS_MAX];

static inline struct troupe_client *client_of(struct troupe_server *server, uint32_t depth)
{
	struct troupe_client_def def = {.depth = depth};
	uint32_t i = 0;
	while (i < CLIENTS_MAX && clients[i])
		i++;
	cr_assert_lt(i, CLIENTS_MAX, "too many clients at a time");
	must(troupe_client_create(server, &def, &clients[i], &lib_error));
	return clients[i];
}

static inline void client_destroy(struct troupe_client *client)
{
	for (uint32_t i = 0; i < CLIENTS_MAX; i++)
		if (clients[i] == client)
			clients[i] = NULL;
	troupe_client_destroy(client);
}

/* The .fini of a suite: destroys clients and servers. */
static inline void clients_end(void)
{
	for (uint32_t i = 0; i < CLIENTS_MAX; i++)
		client_destroy(clients[i]);
	lib_end();
}

static inline void subscribe(struct troupe_client *client, const char *topic, double rate_hz)
{
	struct troupe_error error;
	cr_assert_eq(troupe_client_subscribe(client, topic, rate_hz, &error), TROUPE_OK, "%s", error.text);
}

/* Decodes a message; the caller frees it. */
static inline void *decode(const struct troupe_message *message)
{
	ProtobufCMessage *out;
	struct troupe_error error;
	cr_assert_eq(
		message_of_bytes(type_find(message->type), message->bytes, message->count, &no_limits, &out, &error),
		TROUPE_OK, "%s: %s", message->topic, error.text);
	return out;
}

static inline void request(
	struct troupe_client *client, const char *service, const char *type, const char *text, uint64_t tag)
{
	struct troupe_error error;
	struct text bytes = {0};
	ProtobufCMessage *message;
	cr_assert_eq(message_of_text(type_find(type), text, &message_limits_usual, &message, &error), TROUPE_OK, "%s",
		error.text);
	message_add_bytes(&bytes, message);
	message_free(message);
	cr_assert_eq(troupe_client_call(client, service, type, bytes.at, bytes.count, tag, &error), TROUPE_OK, "%s",
		error.text);
	text_fini(&bytes);
}

static inline bool answer(struct troupe_client *client, uint64_t tag, struct troupe_message *ret_message)
{
	while (troupe_client_take(client, 0, ret_message))
		if (ret_message->is_reply && ret_message->tag == tag)
			return true;
	return false;
}

#endif

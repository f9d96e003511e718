/* What the tests share of the gateways that people connect to: a run in a thread of its own with a gateway, and how a
 * client comes and speaks. */
#ifndef TESTS_GATEWAY_SCENE_H
#define TESTS_GATEWAY_SCENE_H

#include "../fault/check.h"
#include "web_client.h"

#include <troupe/gateway.h>
#include <troupe/server.h>

#include <pthread.h>
#include <stdlib.h>

struct scene {
	struct troupe_server *server;
	struct troupe_gateway *gateway; /* the test ends it */
	pthread_t thread;
	troupe_status status; /* of the run, once it has ended */
	struct troupe_error error;
	uint16_t port; /* of the gateway */
};

static inline void *scene_run(void *arg)
{
	struct scene *scene = arg;
	struct troupe_limits limits = {.iterations = 100000000}; /* more than any test runs: it is stopped */
	scene->status = troupe_server_run(scene->server, &limits, &scene->error);
	return NULL;
}

/* Without a server nothing can be tested: ends the program. */
static inline void scene_create(struct scene *scene, const struct troupe_server_def *def)
{
	*scene = (struct scene){.status = TROUPE_OK};
	if (troupe_server_create(def, &scene->server, &scene->error)) {
		printf("%s\n0 passed, 1 failed\n", scene->error.text);
		exit(1);
	}
}

/* Takes the port from the address of the gateway, which begins with the scheme: "ws". */
static inline void scene_listen(struct scene *scene, const char *scheme, const char *address)
{
	static const char host[] = "://127.0.0.1:";
	const size_t n = strlen(scheme);
	bool here = !strncmp(address, scheme, n) && !strncmp(address + n, host, sizeof host - 1);
	char *end = NULL;
	unsigned long port = here ? strtoul(address + n + sizeof host - 1, &end, 10) : 0;
	check(here && port > 0 && port <= UINT16_MAX && *end == '/', "%s", address);
	scene->port = (uint16_t)port;
}

/* Starts a gateway at any free port, of the server or of a recording. */
static inline void scene_serve(
	struct scene *scene, const char *name, const char *scheme, const struct troupe_server_def *recording)
{
	char address[200] = "";
	const struct troupe_gateway_def def = {
		.name = name, .address = "0", .server = recording ? NULL : scene->server, .recording = recording};
	check(!troupe_gateway_start(&def, &scene->gateway, &scene->error), "%s", scene->error.text);
	troupe_gateway_describe(scene->gateway, address, sizeof address);
	scene_listen(scene, scheme, address);
}

static inline void scene_start(struct scene *scene, void *(*run)(void *), void *arg)
{
	check(!pthread_create(&scene->thread, NULL, run, arg), "a thread");
}

static inline void scene_end_run(struct scene *scene)
{
	troupe_server_stop(scene->server);
	(void)pthread_join(scene->thread, NULL);
	check(!scene->status, "%s", scene->error.text);
}

static inline void scene_close(struct scene *scene, bool gateway_first)
{
	if (gateway_first)
		troupe_gateway_end(scene->gateway, NULL);
	scene_end_run(scene);
	if (!gateway_first)
		troupe_gateway_end(scene->gateway, NULL);
	troupe_server_destroy(scene->server);
}

/* A connection that has been upgraded; more: further headers. */
static inline int client_join(uint16_t port, const char *path, const char *host, const char *more)
{
	struct text request = {0}, head = {0};
	int file = client_connect(port);
	client_add_upgrade(&request, path, host, more);
	check(file >= 0 && client_send(file, request.at, request.count), "no connection");
	client_read_all(file, true, &head);
	check(!strncmp(head.at, "HTTP/1.1 101 ", 13), "%s", head.at);
	text_fini(&request);
	text_fini(&head);
	return file;
}

/* A frame of text. False: the server has closed. */
static inline bool client_say(int file, const char *format, ...) TROUPE_PRINTF(2, 3);
static inline bool client_say(int file, const char *format, ...)
{
	char text[2000];
	struct text frame = {0};
	va_list args;
	va_start(args, format);
	int count = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	check(count >= 0 && (size_t)count < sizeof text, "too long: %.60s", text);
	client_add_frame(&frame, 0x81, text, strlen(text));
	bool sent = client_send(file, frame.at, frame.count);
	text_fini(&frame);
	return sent;
}

#endif

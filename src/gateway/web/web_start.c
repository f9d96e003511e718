/* What a server is to be is checked and copied before its thread starts; what was opened is closed after the thread has
 * ended. */
#include "gateway/web/web_internal.h"

#include "base/host_port.h"
#include "gateway/ending.h"
#include "net/key.h"
#include "net/tcp/tls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WEB_BACKLOG = 128 };

static troupe_status web_start_check_def(const struct web_def *def, struct troupe_error *error)
{
	if (def->token && !admit_is_token(def->token))
		return fail(error, TROUPE_EINVAL, "token: expected %d to %d of A-Z a-z 0-9 - _", WEB_TOKEN_MIN,
			WEB_TOKEN_MAX);
	if (!def->cert_path != !def->key_path)
		return fail(
			error, TROUPE_EINVAL, "TLS: expected a file of certificates and a file of its key, or none");
	if (def->peers_max > WEB_PEERS_MAX || def->service_count > WEB_SERVICES_MAX)
		return fail(error, TROUPE_EINVAL, "too many clients or services");
	return TROUPE_OK;
}

static troupe_status web_start_start_listening(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	char text[ADDRESS_TEXT_BYTES];
	troupe_status status = address_parse_local(def->address, def->port, &web->address, error);
	if (status)
		return status;
	web->listener = address_listen(&web->address, WEB_BACKLOG);
	if (web->listener < 0 && errno == EADDRINUSE && def->port_or_any) {
		address_set_port(&web->address, 0);
		web->listener = address_listen(&web->address, WEB_BACKLOG);
	}
	address_text(&web->address, text);
	if (web->listener < 0)
		return fail(error, TROUPE_EIO, "%s: %s", text, strerror(errno));
	address_host_text(&web->address, web->host);
	return TROUPE_OK;
}

static troupe_status web_start_choose_token(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	char token[WEB_TOKEN_MAX + 1];
	troupe_status status = TROUPE_OK;
	if (def->token) {
		web->token = mem_strdup(def->token);
	} else if (def->needs_token_here || (def->needs_token && !address_is_loopback(&web->address))) {
		status = web_make_token(token, error);
		if (!status)
			web->token = mem_strdup(token);
	}
	return status;
}

static void web_start_copy_rules(struct web *web, const struct web_def *def)
{
	struct text common = {0};
	web->rules = (struct admit_rules){.is_local = address_is_loopback(&web->address), .listens = web->host};
	if (web->token) {
		web->cookie = mem_printf("troupe-%u", web_port(web));
		web->rules.token = web->token;
	}
	text_add(&common,
		"x-frame-options: DENY\r\ncross-origin-resource-policy: same-origin\r\n"
		"content-security-policy: %s\r\n",
		def->policy ? def->policy : "default-src 'none'");
	web->common = common.at;
	web->peers_max = def->peers_max ? def->peers_max : 64;
	web->queue_bytes_max = def->queue_bytes_max ? def->queue_bytes_max : WEB_QUEUE_BYTES_USUAL;
	web->say = def->say;
	web->say_ctx = def->say_ctx;
	web->find = def->find;
	web->find_ctx = def->find_ctx;
	web->file_count = def->file_count;
	web->files = mem_alloc(def->file_count * sizeof *web->files);
	for (uint32_t i = 0; i < def->file_count; i++) {
		web->files[i] = def->files[i];
		web->files[i].path = mem_strdup(def->files[i].path);
		web->files[i].type = mem_strdup(def->files[i].type);
	}
}

static void web_start_add_name(struct web *web, const char *name, const struct web_service *service)
{
	assert(web->name_count < WEB_NAMES_MAX);
	web->names[web->name_count++] = (struct web_name){mem_strdup(name), service};
}

/* A list of names that NULL ends, and which may be NULL. */
static char **web_start_copy_names(const char *const *names)
{
	size_t count = 0;
	while (names && names[count])
		count++;
	char **copy = mem_alloc((count + 1) * sizeof *copy);
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(names[i]);
	return copy;
}

static void web_start_free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

static void web_start_copy_services(struct web *web, const struct web_def *def)
{
	web->service_count = def->service_count;
	for (uint32_t i = 0; i < def->service_count; i++) {
		web->services[i] = def->services[i];
		web->origins[i] = web_start_copy_names(def->services[i].origins);
		web->services[i].origins = (const char *const *)web->origins[i];
		assert(web->services[i].open && web->services[i].hear && web->services[i].close);
		if (def->services[i].unnamed)
			web->unnamed = &web->names[web->name_count];
		for (const char *const *name = def->services[i].names; *name; name++)
			web_start_add_name(web, *name, &web->services[i]);
	}
}

/* The library of TLS names only the function that failed. */
static troupe_status web_start_check_readable(const char *path, struct troupe_error *error)
{
	int file = path ? AGAIN(open(path, O_RDONLY | O_CLOEXEC)) : -1;
	if (path && file < 0)
		return fail(error, TROUPE_EINVAL, "%s: cannot open: %s", path, strerror(errno));
	if (path)
		close(file);
	return TROUPE_OK;
}

static troupe_status web_start_start_tls(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	if (!def->cert_path)
		return TROUPE_OK;
	troupe_status status = web_start_check_readable(def->cert_path, error);
	if (!status)
		status = web_start_check_readable(def->key_path, error);
	return status ? status : tls_context_of_certificate(def->cert_path, def->key_path, &web->tls, error);
}

static bool web_start_watch_first(const struct web *web, int file, void *ctx)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = ctx};
	return !epoll_ctl(web->events, EPOLL_CTL_ADD, file, &event);
}

static troupe_status web_start_start_loop(struct web *web, struct troupe_error *error)
{
	web->events = epoll_create1(EPOLL_CLOEXEC);
	if (web->events >= 0)
		web->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (web->bell >= 0 && web_start_watch_first(web, web->bell, &web->bell) &&
		web_start_watch_first(web, web->listener, &web->listener))
		return TROUPE_OK;
	return fail(error, TROUPE_EIO, "web server: cannot start: %s", strerror(errno));
}

static troupe_status web_start_start_thread(struct web *web, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* a peer that is gone is an error of write(), and no signal */
	int failed = pthread_create(&web->thread, NULL, web_work, web);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "web server: cannot start a thread: %s", strerror(failed));
	web->started = true;
	return TROUPE_OK;
}

troupe_status web_start(const struct web_def *def, struct web **ret_web, struct troupe_error *error)
{
	troupe_status status = web_start_check_def(def, error);
	if (status)
		return status;
	struct web *web = mem_alloc(sizeof *web);
	web->listener = web->events = web->bell = -1;
	status = web_start_start_listening(web, def, error);
	if (!status)
		status = web_start_choose_token(web, def, error);
	if (!status) {
		web_start_copy_rules(web, def);
		web_start_copy_services(web, def);
		status = web_start_start_tls(web, def, error);
	}
	if (!status)
		status = web_start_start_loop(web, error);
	if (!status)
		status = web_start_start_thread(web, error);
	if (status) {
		web_end(web);
		return status;
	}
	*ret_web = web;
	return TROUPE_OK;
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

void web_stop(struct web *web, const char *reason)
{
	if (!web->started)
		return;
	web->goodbye = reason;
	atomic_store(&web->stop, true);
	web_ring(web);
	pthread_join(web->thread, NULL);
	web->started = false;
}

void web_end(struct web *web)
{
	if (!web)
		return;
	web_stop(web, ending_text(NULL));
	for (uint32_t i = 0; i < web->file_count; i++) {
		free((void *)(uintptr_t)web->files[i].path);
		free((void *)(uintptr_t)web->files[i].type);
	}
	for (uint32_t i = 0; i < web->service_count; i++)
		web_start_free_names(web->origins[i]);
	for (uint32_t i = 0; i < web->name_count; i++)
		free((void *)(uintptr_t)web->names[i].name);
	web_close_file(&web->listener);
	web_close_file(&web->events);
	web_close_file(&web->bell);
	tls_context_drop(web->tls);
	free(web->files);
	free(web->token);
	free(web->cookie);
	free(web->common);
	free(web);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

uint16_t web_port(const struct web *web)
{
	return address_port(&web->address);
}

bool web_is_local(const struct web *web)
{
	return web->rules.is_local;
}

void web_address(const struct web *web, const char *scheme, char *ret_text, size_t bytes)
{
	char host[ADDRESS_TEXT_BYTES], name[64];
	address_text(&web->address, host);
	if (address_is_wildcard(&web->address) && !gethostname(name, sizeof name)) {
		name[sizeof name - 1] = '\0';
		host_port_text(name, web_port(web), host, sizeof host);
	}
	(void)snprintf(ret_text, bytes, "%s%s://%s/%s%s", scheme, web->tls ? "s" : "", host,
		web->token ? "?token=" : "", web->token ? web->token : "");
}

troupe_status web_make_token(char ret_token[WEB_TOKEN_MAX + 1], struct troupe_error *error)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char random[24];
	troupe_status status = key_random_bytes(random, sizeof random, error);
	if (status)
		return status;
	for (size_t i = 0; i < sizeof random; i++)
		ret_token[i] = digits[random[i] & 63];
	ret_token[sizeof random] = '\0';
	return TROUPE_OK;
}

/* The thread, the listener and the connections. Connections are accepted here and handed to libwebsockets, because then
 * an address in use is an error with a name, and the oldest visitor makes room for a new one: with its own listener,
 * silent connections fill all places until they time out.
 *
 * Another thread wakes the loop by an event file, once for many wakes; lws_cancel_service() must not be called once the
 * library is going down. Timers of the library are polled for in their last millisecond; so the turn of each 50 ms
 * comes from a timer file, which runs only while a client is connected. Everything that it would print is dropped, but
 * its last line explains a failure of start. */
#include "gateway/web/web_internal.h"

#include "base/clock.h"
#include "base/shown.h"
#include "gateway/ending.h"
#include "net/key.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS_NS UINT64_C(1000000)
enum {
	BACKLOG = 128,
	FILES_OF_OUR_OWN = 16, /* listener, timer, wake, and room */
	PING_S = 30,
	GONE_S = 45,
	HEAR_BYTES = 16 << 10, /* as much of a message as is read at a time */
	LAST_MS = 500,         /* for the last messages to the peers */
	GOODBYE_MS = 500,      /* for the goodbye to those that have not taken them all */
	SAY_MS = 2000,         /* one line about a refused request in this time */
};

bool web_is_available(void)
{
	return true;
}

/* --- the library -------------------------------------------------------------------------------------------------- */

static _Thread_local char last_line[200];

static void keep_line(int level, const char *line)
{
	(void)level;
	(void)snprintf(last_line, sizeof last_line, "%s", line);
	last_line[strcspn(last_line, "\n")] = '\0';
}

static void silence(void)
{
	lws_set_log_level(LLL_ERR | LLL_WARN, keep_line);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static void set_timer(struct web *web, bool on)
{
	struct itimerspec every = {.it_interval.tv_nsec = on ? (long)(WEB_TURN_MS * MS_NS) : 0};
	every.it_value = every.it_interval;
	if (web->ticking == on)
		return;
	web->ticking = on;
	(void)timerfd_settime(web->timer, 0, &every, NULL);
}

void web_forget(struct web_peer *peer)
{
	struct web *web = peer->web;
	peer_fini(peer);
	if (peer->before)
		peer->before->after = peer->after;
	else
		web->peers = peer->after;
	if (peer->after)
		peer->after->before = peer->before;
	if (web->adopting == peer)
		web->adopting = NULL;
	if (!--web->peer_count)
		set_timer(web, false);
	free(peer);
}

static void kill_peer(struct web_peer *peer)
{
	peer->deadline_ns = UINT64_MAX;
	lws_set_timeout(peer->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}

/* The oldest visitor goes if there are too many. */
static void make_room(struct web *web)
{
	struct web_peer *oldest = NULL;
	uint32_t visitors = 0;
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (!peer->service && peer->wsi && peer->deadline_ns != UINT64_MAX) {
			oldest = peer;
			visitors++;
		}
	if (visitors > WEB_VISITORS_MAX)
		kill_peer(oldest);
}

static void adopt(struct web *web, int file, const struct place *from)
{
	struct web_peer *peer = mem_alloc(sizeof *peer);
	*peer = (struct web_peer){.web = web,
		.last = &peer->first,
		.after = web->peers,
		.deadline_ns = clock_now_ns() + WEB_REQUEST_MS * MS_NS};
	place_text(from, peer->name);
	if (web->peers)
		web->peers->before = peer;
	web->peers = peer;
	web->peer_count++;
	set_timer(web, true);
	web->adopting = peer;
	const lws_adopt_desc_t how = {.vh = web->vhost,
		.type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL,
		.fd.sockfd = file,
		.opaque = peer};
	struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&how);
	if (wsi)
		peer->wsi = wsi;
	else if (web->adopting)
		web_forget(peer);
	web->adopting = NULL;
	make_room(web);
}

static void accept_one(struct web *web)
{
	struct place from = {.raw_bytes = sizeof from.raw};
	int file = accept4(web->listener, (struct sockaddr *)&from.raw, &from.raw_bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (file < 0)
		return;
	/* beyond this, visitors that were told to go have not gone yet */
	if (web->peer_count >= web->peers_max + 2 * WEB_VISITORS_MAX)
		close(file);
	else
		adopt(web, file, &from);
}

/* Visitors that are late go. */
static void sweep(struct web *web)
{
	uint64_t now_ns = clock_now_ns();
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (!peer->service && peer->wsi && now_ns > peer->deadline_ns)
			kill_peer(peer);
}

void web_take_file(struct web *web, struct lws *wsi)
{
	uint64_t times;
	int file = lws_get_socket_fd(wsi);
	if (file == web->listener) {
		accept_one(web);
		return;
	}
	(void)!read(file, &times, sizeof times);
	if (file == web->timer) {
		atomic_store(&web->woken, true);
		sweep(web);
	}
}

void web_refused(struct web_peer *peer, const char *what)
{
	struct web *web = peer->web;
	struct text line = {0};
	uint64_t now_ns = clock_now_ns();
	if (!web->say || (web->said_ns && now_ns - web->said_ns < SAY_MS * MS_NS))
		return;
	web->said_ns = now_ns;
	text_add(&line, "web: request of %s refused: ", peer->name);
	shown_add(&line, what);
	web->say(web->say_ctx, line.at);
	text_fini(&line);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void take_turns(struct web *web)
{
	for (uint32_t i = 0; i < web->service_count; i++)
		if (web->services[i].turn)
			web->services[i].turn(web->services[i].ctx);
}

static void close_all(struct web *web, void (*close)(struct web_peer *peer, uint16_t code, const char *reason), int ms)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)ms * MS_NS;
	for (struct web_peer *peer = web->peers; peer; peer = peer->after)
		if (peer->service)
			close(peer, LWS_CLOSE_STATUS_GOINGAWAY, web->goodbye);
	set_timer(web, true); /* it ends the waiting */
	while (web->socket_count && clock_now_ns() < end_ns && lws_service(web->context, 0) >= 0)
		;
}

static void say_goodbye(struct web *web)
{
	for (uint32_t i = 0; i < web->service_count; i++)
		if (web->services[i].last)
			web->services[i].last(web->services[i].ctx);
	close_all(web, peer_leave, LAST_MS);
	close_all(web, web_close, GOODBYE_MS);
}

static void *work(void *arg)
{
	struct web *web = arg;
	silence();
	while (!atomic_load(&web->stop)) {
		if (lws_service(web->context, 0) < 0)
			break;
		if (atomic_exchange(&web->woken, false))
			take_turns(web);
	}
	say_goodbye(web);
	lws_context_destroy(web->context);
	return NULL;
}

static void ring(struct web *web)
{
	uint64_t one = 1;
	(void)!write(web->bell, &one, sizeof one);
}

void web_wake(struct web *web)
{
	if (!atomic_exchange(&web->woken, true))
		ring(web);
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static troupe_status check_def(const struct web_def *def, struct troupe_error *error)
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

static int open_listener(const struct place *place)
{
	int on = 1, file = socket(place->raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file < 0)
		return -1;
	(void)setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (!bind(file, (const struct sockaddr *)&place->raw, place->raw_bytes) && !listen(file, BACKLOG))
		return file;
	int why = errno;
	close(file);
	errno = why;
	return -1;
}

static troupe_status start_listening(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	char text[PLACE_TEXT_BYTES];
	troupe_status status = place_parse(def->address, def->port, &web->place, error);
	if (status)
		return status;
	web->listener = open_listener(&web->place);
	if (web->listener < 0 && errno == EADDRINUSE && def->port_or_any) {
		place_set_port(&web->place, 0);
		web->listener = open_listener(&web->place);
	}
	place_text(&web->place, text);
	if (web->listener < 0 || getsockname(web->listener, (struct sockaddr *)&web->place.raw, &web->place.raw_bytes))
		return fail(error, TROUPE_EIO, "%s: %s", text, strerror(errno));
	place_host_text(&web->place, web->host);
	return TROUPE_OK;
}

static troupe_status choose_token(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	char token[WEB_TOKEN_MAX + 1];
	troupe_status status = TROUPE_OK;
	if (def->token) {
		web->token = mem_strdup(def->token);
	} else if (def->needs_token && !place_is_local(&web->place)) {
		status = web_make_token(token, error);
		if (!status)
			web->token = mem_strdup(token);
	}
	return status;
}

static void copy_rules(struct web *web, const struct web_def *def)
{
	struct text common = {0};
	web->rules = (struct admit_rules){.is_local = place_is_local(&web->place), .listens = web->host};
	if (web->token) {
		web->cookie = mem_printf("troupe-%u", web_port(web));
		web->rules.token = web->token;
	}
	text_add(&common,
		"x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\ncache-control: no-store\r\n"
		"x-frame-options: DENY\r\ncross-origin-resource-policy: same-origin\r\n"
		"content-security-policy: %s\r\n",
		def->policy ? def->policy : "default-src 'none'");
	web->common = common.at;
	web->has_tls = def->cert_path;
	web->peers_max = def->peers_max ? def->peers_max : 64;
	web->queue_bytes_max = def->queue_bytes_max ? def->queue_bytes_max : WEB_QUEUE_BYTES_USUAL;
	web->say = def->say;
	web->say_ctx = def->say_ctx;
	web->file_count = def->file_count;
	web->files = mem_alloc(def->file_count * sizeof *web->files);
	for (uint32_t i = 0; i < def->file_count; i++) {
		web->files[i] = def->files[i];
		web->files[i].path = mem_strdup(def->files[i].path);
		web->files[i].type = mem_strdup(def->files[i].type);
	}
}

static void add_name(struct web *web, const char *name, const struct web_service *service)
{
	assert(web->name_count < WEB_NAMES_MAX);
	web->names[web->name_count] = (struct web_name){mem_strdup(name), service};
	web->protocols[web->name_count + 1] = (struct lws_protocols){.name = web->names[web->name_count].name,
		.callback = peer_callback,
		.rx_buffer_size = HEAR_BYTES,
		.user = &web->names[web->name_count]};
	web->name_count++;
}

/* A list of names that NULL ends, and which may be NULL. */
static char **copy_names(const char *const *names)
{
	size_t count = 0;
	while (names && names[count])
		count++;
	char **copy = mem_alloc((count + 1) * sizeof *copy);
	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(names[i]);
	return copy;
}

static void free_names(char **names)
{
	for (char **name = names; name && *name; name++)
		free(*name);
	free(names);
}

static void copy_services(struct web *web, const struct web_def *def)
{
	/* no client can ask for this name */
	web->protocols[0] = (struct lws_protocols){.name = "(http)", .callback = page_callback};
	web->service_count = def->service_count;
	for (uint32_t i = 0; i < def->service_count; i++) {
		web->services[i] = def->services[i];
		web->origins[i] = copy_names(def->services[i].origins);
		web->services[i].origins = (const char *const *)web->origins[i];
		assert(web->services[i].open && web->services[i].hear && web->services[i].close);
		if (def->services[i].unnamed)
			web->unnamed = &web->names[web->name_count];
		for (const char *const *name = def->services[i].names; *name; name++)
			add_name(web, *name, &web->services[i]);
	}
	web->protocols[0].user = (void *)(uintptr_t)web->unnamed; /* such a client stays with this protocol */
}

static bool adopt_file(struct web *web, int file)
{
	const lws_adopt_desc_t how = {
		.vh = web->vhost, .type = LWS_ADOPT_RAW_FILE_DESC, .fd.filefd = file, .vh_prot_name = "(http)"};
	return lws_adopt_descriptor_vhost_via_info(&how);
}

/* The library names only the function that failed. */
static troupe_status check_readable(const char *path, struct troupe_error *error)
{
	int file = path ? AGAIN(open(path, O_RDONLY | O_CLOEXEC)) : -1;
	if (path && file < 0)
		return fail(error, TROUPE_EINVAL, "%s: cannot open: %s", path, strerror(errno));
	if (path)
		close(file);
	return TROUPE_OK;
}

static troupe_status start_library(struct web *web, const struct web_def *def, struct troupe_error *error)
{
	static const lws_retry_bo_t idle = {.secs_since_valid_ping = PING_S, .secs_since_valid_hangup = GONE_S};
	struct lws_context_creation_info info = {.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
							    LWS_SERVER_OPTION_VALIDATE_UTF8 |
							    LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS |
							    (def->cert_path ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0),
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.user = web,
		.fd_limit_per_thread = web->peers_max + 2 * WEB_VISITORS_MAX + FILES_OF_OUR_OWN,
		.max_http_header_data = WEB_REQUEST_BYTES_MAX,
		.max_http_header_pool = 2 * WEB_VISITORS_MAX,
		.pt_serv_buf_size = HEAR_BYTES,
		.timeout_secs = WEB_REQUEST_MS / 1000,
		.keepalive_timeout = WEB_REQUEST_MS / 1000,
		.retry_and_idle_policy = &idle};
	troupe_status status = check_readable(def->cert_path, error);
	if (!status)
		status = check_readable(def->key_path, error);
	if (status)
		return status;
	struct sigaction before; /* of the program; lws_create_context() would have it ignore SIGPIPE */
	silence();
	*last_line = '\0';
	(void)sigaction(SIGPIPE, NULL, &before);
	web->context = lws_create_context(&info);
	(void)sigaction(SIGPIPE, &before, NULL);
	info.protocols = web->protocols;
	info.vhost_name = "troupe";
	info.alpn = "http/1.1";
	info.ssl_cert_filepath = def->cert_path;
	info.ssl_private_key_filepath = def->key_path;
	info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
	web->vhost = web->context ? lws_create_vhost(web->context, &info) : NULL;
	if (!web->vhost)
		return fail(error, def->cert_path ? TROUPE_EINVAL : TROUPE_EIO, "%s%s%s%s: %s",
			def->cert_path ? def->cert_path : "web server", def->cert_path ? ", " : "",
			def->cert_path ? def->key_path : "",
			def->cert_path ? ": cannot be used for TLS" : ": cannot start",
			*last_line ? last_line : "no reason given");
	return TROUPE_OK;
}

/* The library closes them at its end. */
static troupe_status give_files(struct web *web, struct troupe_error *error)
{
	int bell = -1;
	web->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (web->bell >= 0)
		web->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (web->timer >= 0)
		bell = fcntl(web->bell, F_DUPFD_CLOEXEC, 0);
	if (bell < 0) {
		int why = errno;
		if (web->timer >= 0)
			close(web->timer);
		close(web->listener);
		return fail(error, TROUPE_EIO, "web server: cannot start: %s", strerror(why));
	}
	if (!adopt_file(web, bell) || !adopt_file(web, web->timer) || !adopt_file(web, web->listener))
		return fail(error, TROUPE_EIO, "web server: cannot start: its library takes no more files");
	return TROUPE_OK;
}

static troupe_status start_thread(struct web *web, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* a peer that is gone is an error of write(), and no signal */
	int failed = pthread_create(&web->thread, NULL, work, web);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "web server: cannot start a thread: %s", strerror(failed));
	web->started = true;
	return TROUPE_OK;
}

troupe_status web_start(const struct web_def *def, struct web **ret_web, struct troupe_error *error)
{
	troupe_status status = check_def(def, error);
	if (status)
		return status;
	struct web *web = mem_alloc(sizeof *web);
	web->listener = web->timer = web->bell = -1;
	status = start_listening(web, def, error);
	if (!status)
		status = choose_token(web, def, error);
	if (!status) {
		copy_rules(web, def);
		copy_services(web, def);
		status = start_library(web, def, error);
	}
	if (status && web->listener >= 0)
		close(web->listener);
	if (!status)
		status = give_files(web, error);
	if (!status)
		status = start_thread(web, error);
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
	ring(web);
	pthread_join(web->thread, NULL);
	web->started = false;
	web->context = NULL; /* the thread has destroyed it */
}

void web_end(struct web *web)
{
	if (!web)
		return;
	web_stop(web, ending_text(NULL));
	if (web->context) /* there was no thread */
		lws_context_destroy(web->context);
	for (uint32_t i = 0; i < web->file_count; i++) {
		free((void *)(uintptr_t)web->files[i].path);
		free((void *)(uintptr_t)web->files[i].type);
	}
	for (uint32_t i = 0; i < web->service_count; i++)
		free_names(web->origins[i]);
	for (uint32_t i = 0; i < web->name_count; i++)
		free((void *)(uintptr_t)web->names[i].name);
	if (web->bell >= 0)
		close(web->bell);
	free(web->files);
	free(web->token);
	free(web->cookie);
	free(web->common);
	free(web);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

uint16_t web_port(const struct web *web)
{
	return place_port(&web->place);
}

bool web_is_local(const struct web *web)
{
	return web->rules.is_local;
}

void web_address(const struct web *web, const char *scheme, char *ret_text, size_t bytes)
{
	char host[PLACE_TEXT_BYTES], name[64];
	place_text(&web->place, host);
	if (place_is_all(&web->place) && !gethostname(name, sizeof name)) {
		name[sizeof name - 1] = '\0';
		(void)snprintf(host, sizeof host, "%s:%u", name, web_port(web));
	}
	(void)snprintf(ret_text, bytes, "%s%s://%s/%s%s", scheme, web->has_tls ? "s" : "", host,
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

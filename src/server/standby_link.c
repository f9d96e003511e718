/* Secondaries know the standby from their last welcome. It knows of `told` of them, of which `left` were not lost
 * since; told is 0 when no secondary knows a standby. What comes from the threads of the network is kept under a lock
 * until the members change. */
#include "server/standby_link.h"

#include "base/clock.h"
#include "server/followed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_NS UINT64_C(500000000) /* after the loss of a standby; each one changes all welcomes */

struct standby_link {
	struct troupe_server *server;
	const struct backend *backend;
	void (*note)(void *ctx, enum troupe_member_change kind, const char *who);
	void *ctx;
	uint32_t told, left;
	pthread_mutex_t lock;
	/* under the lock */
	bool is_open;
	struct followed *followed; /* the one that is in; NULL: none. Written by the primary's thread. */
	struct feed *came;         /* one that came and is not in yet */
	bool lost;                 /* the one that is in */
	uint64_t lost_ns;
	char why[256]; /* why it was lost */
};

struct standby_link *standby_link_create(struct troupe_server *server, const struct backend *backend,
	void (*note)(void *ctx, enum troupe_member_change kind, const char *who), void *ctx)
{
	struct standby_link *link = mem_alloc(sizeof *link);
	*link = (struct standby_link){.server = server, .backend = backend, .note = note, .ctx = ctx};
	pthread_mutex_init(&link->lock, NULL);
	return link;
}

void standby_link_end(struct standby_link *link)
{
	const struct troupe_server *server = link->server;
	const struct primary *primary = server->world_count ? server->worlds[0].primary : NULL;
	bool failed = primary && primary_status(primary), stopped = server->was_stopped;
	struct stop stop = {.kind = failed    ? STOP_FAILED
				    : stopped ? STOP_LEFT
					      : STOP_DONE,
		.next_step = primary ? primary_steps(primary) : 0};
	(void)snprintf(stop.why, sizeof stop.why, "%s",
		failed    ? primary_error(primary)->text
		: stopped ? "it was told to stop"
			  : "done");
	followed_end(link->followed, &stop);
	if (link->came)
		link->backend->follow->feed_end(link->came, &stop);
}

void standby_link_destroy(struct standby_link *link)
{
	pthread_mutex_destroy(&link->lock);
	free(link);
}

/* --- it comes and is lost ----------------------------------------------------------------------------------------- */

void standby_link_open(struct standby_link *link)
{
	pthread_mutex_lock(&link->lock);
	link->is_open = true;
	pthread_mutex_unlock(&link->lock);
}

const char *standby_link_may_come(struct standby_link *link)
{
	pthread_mutex_lock(&link->lock);
	bool free_place = link->is_open && !link->came && !link->followed && clock_now_ns() - link->lost_ns >= AGAIN_NS;
	pthread_mutex_unlock(&link->lock);
	return free_place ? NULL : "there is a standby already";
}

void standby_link_come(struct standby_link *link, struct feed *feed)
{
	pthread_mutex_lock(&link->lock);
	link->came = feed;
	pthread_mutex_unlock(&link->lock);
	server_interrupt(link->server);
}

static void standby_link_on_lost(void *ctx, const char *why)
{
	struct standby_link *link = ctx;
	pthread_mutex_lock(&link->lock);
	link->lost = true;
	link->lost_ns = clock_now_ns();
	(void)snprintf(link->why, sizeof link->why, "%s", why);
	pthread_mutex_unlock(&link->lock);
	server_interrupt(link->server);
}

bool standby_link_changes(struct standby_link *link)
{
	pthread_mutex_lock(&link->lock);
	bool changes = link->is_open && (link->came || link->lost);
	pthread_mutex_unlock(&link->lock);
	return changes;
}

static void standby_link_note(struct standby_link *link, enum troupe_member_change kind, const char *why)
{
	char who[HELLO_WHO_MAX + 1];
	const char *where = followed_where(link->followed);
	(void)snprintf(who, sizeof who, "the standby at %s%s", *where == ':' ? "port " : "", where + (*where == ':'));
	link->note(link->ctx, kind, who);
	if (kind == TROUPE_MEMBER_CAME)
		server_note(link->server, "%s follows this primary", who);
	else
		server_note(link->server, "%s is lost: %s", who, why);
}

void standby_link_change(struct standby_link *link)
{
	const struct feed_host host = {.lost = standby_link_on_lost, .ctx = link};
	char why[sizeof link->why];
	pthread_mutex_lock(&link->lock);
	bool lost = link->lost;
	struct feed *came = link->came;
	memcpy(why, link->why, sizeof why);
	link->lost = false;
	link->came = NULL;
	pthread_mutex_unlock(&link->lock);
	if (lost) {
		standby_link_note(link, TROUPE_MEMBER_LOST, why);
		followed_end(link->followed, NULL);
	}
	pthread_mutex_lock(&link->lock);
	if (lost)
		link->followed = NULL;
	if (came)
		link->followed = followed_create(link->backend->follow, came);
	pthread_mutex_unlock(&link->lock);
	if (!came)
		return;
	link->backend->follow->feed_start(came, &host);
	standby_link_note(link, TROUPE_MEMBER_CAME, NULL);
}

const char *standby_link_where(const struct standby_link *link)
{
	return link->followed ? followed_where(link->followed) : NULL;
}

/* --- which secondaries know it ------------------------------------------------------------------------------------ */

troupe_status standby_link_confirm(struct standby_link *link, const struct follow_run *run, struct troupe_error *error)
{
	if (link->followed && followed_confirm(link->followed, run)) {
		link->told = link->left = run->secondaries;
		return TROUPE_OK;
	}
	if (standby_link_may_be_replaced(link, UINT32_MAX))
		return standby_link_fail(link, error);
	if (!link->followed)
		link->told = link->left = 0;
	return TROUPE_OK;
}

void standby_link_lose(struct standby_link *link, uint32_t count)
{
	link->left -= MIN(link->left, count);
}

void standby_link_leave(struct standby_link *link)
{
	standby_link_lose(link, 1);
	link->told -= link->told > 0;
}

bool standby_link_may_be_replaced(struct standby_link *link, uint32_t left)
{
	pthread_mutex_lock(&link->lock);
	bool lost = !link->followed || link->lost;
	pthread_mutex_unlock(&link->lock);
	if (!lost || !link->told)
		return false;
	link->left = MIN(link->left, left);
	return follow_may_be_replaced(link->told, link->told - link->left);
}

troupe_status standby_link_fail(const struct standby_link *link, struct troupe_error *error)
{
	return fail(error, TROUPE_EPEER,
		"the standby and %u of %u secondaries are lost: with them the standby may have taken over this run",
		link->told - link->left, link->told);
}

/* --- what it gets ------------------------------------------------------------------------------------------------- */

void standby_link_made(struct standby_link *link, struct server_world *world, const struct command *command)
{
	if (link->followed)
		followed_made(link->followed, world, command);
}

void standby_link_taken(struct standby_link *link, struct server_world *world, uint64_t step,
	const struct command *command, troupe_status status)
{
	if (link->followed)
		followed_taken(link->followed, world, step, command, status);
}

void standby_link_merged(struct standby_link *link, uint64_t steps)
{
	if (link->followed && !primary_status(link->server->worlds[0].primary))
		followed_merged(link->followed, link->server, steps);
}

/* Copies of replies and warnings, in two rings under one lock. A program that asks after each step whether a command
 * has failed reads only the flag `failed`, without the lock. */
#include "base/base.h"

#include <troupe/inbox.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The texts of each reply here are owned. Of a warning there is only `text`. */
struct inbox_ring {
	struct troupe_reply *at; /* [depth] */
	uint32_t first, count;
	struct troupe_reply taken; /* the program may still read its texts */
};

struct troupe_inbox {
	pthread_mutex_t lock;
	uint32_t depth;
	struct inbox_ring replies, warnings;
	struct troupe_reply failure, failure_taken;
	_Atomic bool failed; /* there is `failure` */
};

static void inbox_forget(struct troupe_reply *kept)
{
	free((char *)(uintptr_t)kept->world);
	free((char *)(uintptr_t)kept->topic);
	free((char *)(uintptr_t)kept->text);
	*kept = (struct troupe_reply){0};
}

static struct troupe_reply inbox_copy(const struct troupe_reply *reply)
{
	struct troupe_reply kept = *reply;
	kept.world = reply->world ? mem_strdup(reply->world) : NULL;
	kept.topic = reply->topic ? mem_strdup(reply->topic) : NULL;
	kept.text = reply->text ? mem_strdup(reply->text) : NULL;
	return kept;
}

static void inbox_put(struct troupe_inbox *inbox, struct inbox_ring *ring, const struct troupe_reply *reply)
{
	struct troupe_reply *last = &ring->at[(ring->first + ring->count) % inbox->depth];
	if (ring->count < inbox->depth)
		ring->count++;
	else
		ring->first = (ring->first + 1) % inbox->depth;
	inbox_forget(last);
	*last = inbox_copy(reply);
}

static bool inbox_take(struct troupe_inbox *inbox, struct inbox_ring *ring)
{
	pthread_mutex_lock(&inbox->lock);
	bool any = ring->count > 0;
	if (any) {
		inbox_forget(&ring->taken);
		ring->taken = ring->at[ring->first];
		ring->at[ring->first] = (struct troupe_reply){0};
		ring->first = (ring->first + 1) % inbox->depth;
		ring->count--;
	}
	pthread_mutex_unlock(&inbox->lock);
	return any;
}

static void inbox_ring_fini(struct inbox_ring *ring, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		inbox_forget(&ring->at[i]);
	inbox_forget(&ring->taken);
	free(ring->at);
}

troupe_status troupe_inbox_create(uint32_t depth, struct troupe_inbox **ret_inbox, struct troupe_error *error)
{
	if (depth < 1 || depth > TROUPE_INBOX_MAX)
		return fail(error, TROUPE_EINVAL, "depth %u: expected 1 to %d", depth, TROUPE_INBOX_MAX);
	struct troupe_inbox *inbox = mem_alloc(sizeof *inbox);
	*inbox = (struct troupe_inbox){.depth = depth};
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->replies.at = mem_alloc(depth * sizeof *inbox->replies.at);
	inbox->warnings.at = mem_alloc(depth * sizeof *inbox->warnings.at);
	*ret_inbox = inbox;
	return TROUPE_OK;
}

void troupe_inbox_destroy(struct troupe_inbox *inbox)
{
	if (!inbox)
		return;
	inbox_ring_fini(&inbox->replies, inbox->depth);
	inbox_ring_fini(&inbox->warnings, inbox->depth);
	inbox_forget(&inbox->failure);
	inbox_forget(&inbox->failure_taken);
	pthread_mutex_destroy(&inbox->lock);
	free(inbox);
}

void troupe_inbox_put_reply(void *ctx, const struct troupe_reply *reply)
{
	struct troupe_inbox *inbox = ctx;
	pthread_mutex_lock(&inbox->lock);
	inbox_put(inbox, &inbox->replies, reply);
	if (reply->status && !reply->called && !atomic_load_explicit(&inbox->failed, memory_order_relaxed)) {
		inbox->failure = inbox_copy(reply);
		atomic_store_explicit(&inbox->failed, true, memory_order_release);
	}
	pthread_mutex_unlock(&inbox->lock);
}

void troupe_inbox_put_warning(void *ctx, const char *text)
{
	struct troupe_inbox *inbox = ctx;
	pthread_mutex_lock(&inbox->lock);
	inbox_put(inbox, &inbox->warnings, &(struct troupe_reply){.text = text});
	pthread_mutex_unlock(&inbox->lock);
}

bool troupe_inbox_take_reply(struct troupe_inbox *inbox, struct troupe_reply *ret_reply)
{
	bool any = inbox_take(inbox, &inbox->replies);
	if (any)
		*ret_reply = inbox->replies.taken;
	return any;
}

bool troupe_inbox_take_warning(struct troupe_inbox *inbox, const char **ret_text)
{
	bool any = inbox_take(inbox, &inbox->warnings);
	if (any)
		*ret_text = inbox->warnings.taken.text;
	return any;
}

bool troupe_inbox_take_failure(struct troupe_inbox *inbox, struct troupe_reply *ret_reply)
{
	if (!atomic_load_explicit(&inbox->failed, memory_order_acquire))
		return false;
	pthread_mutex_lock(&inbox->lock);
	inbox_forget(&inbox->failure_taken);
	inbox->failure_taken = inbox->failure;
	inbox->failure = (struct troupe_reply){0};
	atomic_store_explicit(&inbox->failed, false, memory_order_relaxed);
	pthread_mutex_unlock(&inbox->lock);
	*ret_reply = inbox->failure_taken;
	return true;
}

bool troupe_inbox_any_failure(struct troupe_inbox *const *inboxes, uint32_t count)
{
	bool any = false;
	for (uint32_t i = 0; i < count; i++)
		any |= atomic_load_explicit(&inboxes[i]->failed, memory_order_acquire);
	return any;
}

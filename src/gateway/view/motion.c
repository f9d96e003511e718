/* Pictures are for eyes: 30 in a second of real time are enough, however fast the simulation runs. So the rate at which
 * the server makes pictures, which is one of simulated time, follows the real-time factor: a fast run makes fewer.
 *
 * A page gets a picture only when all that was sent before is on its way. So a slow page gets fewer pictures, each
 * newer than the one before, and no queue of old ones. While no page can take one, the server is asked for none. */
#include "gateway/view/internal.h"

#include "base/clock.h"

#include <string.h>

#define FIRST_HZ 60.0
#define LEAST_HZ 0.1
#define MOST_HZ 1000.0
#define AGAIN_NS UINT64_C(500000000)
#define STUCK_NS UINT64_C(200000000) /* longer than a page needs for a large picture, as a rule */
#define CHANGE 1.2                   /* smaller changes of the rate are not made */

struct watched *motion_find(struct gateway *gateway, const char *prefix)
{
	for (uint32_t i = 0; i < gateway->worlds.count; i++)
		if (!strcmp(gateway->worlds.at[i].prefix, prefix))
			return &gateway->worlds.at[i];
	return NULL;
}

/* Whether all that was sent to the page is on its way. */
static bool motion_is_idle(const struct page *page)
{
	return !web_waiting(page->client->peer) && outbox_is_empty(&page->client->outbox);
}

static void motion_ask(struct gateway *gateway, struct watched *watched, double rate_hz, uint64_t now_ns)
{
	watched->asked_hz = rate_hz;
	watched->page_in_ns = watched->open_ns = now_ns;
	watched->rests = false;
	(void)gateway->pictures->ops->subscribe(gateway->pictures, watched->topic, rate_hz, NULL);
}

void motion_begin(struct page *page, struct watched *watched, double rate_hz)
{
	motion_end(page);
	page->watched = watched;
	page->seen = page->due_ns = 0;
	page->period_ns = (uint64_t)(1e9 / (rate_hz > 0 ? MIN(rate_hz, VIEW_PICTURES_HZ) : VIEW_PICTURES_HZ));
	if (!watched->pages++ || watched->rests)
		motion_ask(page->gateway, watched, FIRST_HZ, clock_now_ns());
}

void motion_end(struct page *page)
{
	struct watched *watched = page->watched;
	page->watched = NULL;
	if (watched && !--watched->pages)
		page->gateway->pictures->ops->unsubscribe(page->gateway->pictures, watched->topic);
}

void motion_renew(struct gateway *gateway)
{
	for (uint32_t i = 0; i < gateway->worlds.count; i++)
		if (gateway->worlds.at[i].pages)
			motion_ask(gateway, &gateway->worlds.at[i], FIRST_HZ, clock_now_ns());
}

/* Whether some page of the world takes what it is sent. */
static bool motion_is_open(const struct gateway *gateway, const struct watched *watched)
{
	for (const struct port_client *client = gateway->port.clients; client; client = client->after) {
		const struct page *page = client->data;
		if (page && page->watched == watched && motion_is_idle(page))
			return true;
	}
	return false;
}

/* A browser that hangs shall not cost the run a picture thirty times a second. */
static void motion_rest_if_stuck(struct gateway *gateway, struct watched *watched, uint64_t now_ns)
{
	if (motion_is_open(gateway, watched))
		watched->open_ns = now_ns;
	if (now_ns - watched->open_ns < STUCK_NS)
		return;
	watched->rests = true;
	gateway->pictures->ops->unsubscribe(gateway->pictures, watched->topic);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

static void motion_follow_speed(struct gateway *gateway, struct watched *watched, uint64_t now_ns)
{
	double rtf = watched->picture_cache.rtf;
	double best_hz = rtf > 0 ? VIEW_PICTURES_HZ / rtf : FIRST_HZ;
	best_hz = MAX(LEAST_HZ, MIN(MOST_HZ, best_hz));
	if (now_ns - watched->page_in_ns < AGAIN_NS ||
		(best_hz < watched->asked_hz * CHANGE && best_hz > watched->asked_hz / CHANGE))
		return;
	motion_ask(gateway, watched, best_hz, now_ns);
}

static void motion_take_message(struct gateway *gateway, const struct troupe_message *message)
{
	for (uint32_t i = 0; i < gateway->worlds.count; i++) {
		struct watched *watched = &gateway->worlds.at[i];
		if (strcmp(watched->topic, message->topic))
			continue;
		uint64_t now_ns = clock_now_ns();
		if (watched->pages && !watched->rests &&
			!picture_cache_take(
				&watched->picture_cache, message->bytes, message->count, message->time_ns, NULL)) {
			motion_follow_speed(gateway, watched, now_ns);
			motion_rest_if_stuck(gateway, watched, now_ns);
		}
		return;
	}
}

bool motion_take(struct gateway *gateway)
{
	enum { BATCH = 8 };
	struct troupe_message message;
	uint32_t count = 0;
	while (count < BATCH && gateway->pictures->ops->take(gateway->pictures, 0, &message)) {
		motion_take_message(gateway, &message);
		count++;
	}
	return count == BATCH;
}

void motion_send(struct page *page, uint64_t now_ns)
{
	struct watched *watched = page->watched;
	if (watched && watched->rests && motion_is_idle(page))
		motion_ask(page->gateway, watched, watched->asked_hz, now_ns);
	if (!watched || watched->picture_cache.number <= page->seen || !motion_is_idle(page) ||
		!subscriptions_is_due(&page->due_ns, page->period_ns, now_ns))
		return;
	struct text picture = {0};
	picture_cache_add_picture(&watched->picture_cache, page->seen, watched->index, &picture);
	if (web_send(page->client->peer, true, picture.at, picture.count))
		page->seen = watched->picture_cache.number;
	text_fini(&picture);
}

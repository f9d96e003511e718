/* The messages that wait for a slow client, with a web server of the test's own: they come in their order; the oldest
 * are lost when too many wait, and only those; and what was sent does not count as waiting, however much it was. */
#include "gateway/web/outbox.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(outbox, .timeout = 60);

enum { MESSAGE_BYTES = 64 << 10, FIT = OUTBOX_BYTES_MAX / MESSAGE_BYTES };

struct web_peer {
	bool is_full;
	uint64_t sent, next; /* messages; the number that is expected next, if above 0 */
	size_t waiting;
};

/* in place of gateway/web/peer.c */
bool web_send(struct web_peer *peer, bool binary, const void *bytes, size_t count)
{
	uint64_t number;
	if (peer->is_full)
		return false;
	cr_assert(count >= sizeof number && binary);
	memcpy(&number, bytes, sizeof number);
	cr_assert(!peer->next || number == peer->next, "message %lu, expected %lu", (unsigned long)number,
		(unsigned long)peer->next);
	peer->next = number + 1;
	peer->sent++;
	peer->waiting += count;
	return true;
}

size_t web_waiting(const struct web_peer *peer)
{
	return peer->waiting;
}

static void put(struct outbox *outbox, uint64_t number, size_t count)
{
	char *bytes = calloc(1, count);
	memcpy(bytes, &number, sizeof number);
	outbox_put(outbox, true, bytes, count);
	free(bytes);
}

/* The kernel takes what the web server has; then the outbox is asked for more. */
static void drain(struct outbox *outbox)
{
	while (!outbox_is_empty(outbox)) {
		uint64_t before = outbox->peer->sent;
		outbox->peer->waiting = 0;
		outbox_flush(outbox);
		cr_assert(outbox->peer->sent > before, "nothing is sent, though there is room");
		cr_assert(outbox->peer->waiting < OUTBOX_DIRECT_BYTES + MESSAGE_BYTES, "all is given away at once");
	}
}

Test(outbox, what_was_sent_waits_no_more)
{
	struct web_peer peer = {.next = 1};
	struct outbox outbox = {.peer = &peer};
	uint64_t number = 1;
	for (int round = 0; round < 5; round++) {
		peer.waiting = OUTBOX_DIRECT_BYTES;
		for (int i = 0; i < FIT; i++)
			put(&outbox, number++, MESSAGE_BYTES);
		cr_assert(!outbox_is_empty(&outbox) && outbox.bytes == OUTBOX_BYTES_MAX);
		drain(&outbox);
		cr_assert(outbox.bytes == 0 && outbox.lost == 0, "%lu lost", (unsigned long)outbox.lost);
	}
	cr_assert(peer.sent == number - 1);
	peer.waiting = 0;
	put(&outbox, number, MESSAGE_BYTES);
	cr_assert(peer.sent == number && outbox_is_empty(&outbox), "with room it is sent at once");
	outbox_fini(&outbox);
}

Test(outbox, the_oldest_are_lost)
{
	struct web_peer peer = {.waiting = OUTBOX_DIRECT_BYTES};
	struct outbox outbox = {.peer = &peer};
	enum { MORE = 7 };
	for (uint64_t number = 1; number <= FIT + MORE; number++)
		put(&outbox, number, MESSAGE_BYTES);
	cr_assert(outbox.lost == MORE && outbox.bytes == OUTBOX_BYTES_MAX);
	peer.next = MORE + 1;
	drain(&outbox);
	cr_assert(peer.sent == FIT);
	/* one that is longer than all that may wait is kept, alone */
	peer.waiting = OUTBOX_DIRECT_BYTES;
	put(&outbox, peer.next, MESSAGE_BYTES);
	put(&outbox, ++peer.next, OUTBOX_BYTES_MAX + 1);
	cr_assert(outbox.lost == MORE + 1 && outbox.bytes == OUTBOX_BYTES_MAX + 1);
	peer.waiting = 0;
	outbox_flush(&outbox);
	cr_assert(peer.sent == FIT + 1 && outbox_is_empty(&outbox));
}

Test(outbox, a_refused_message_waits)
{
	struct web_peer peer = {.is_full = true, .next = 1};
	struct outbox outbox = {.peer = &peer};
	for (uint64_t number = 1; number <= 3; number++)
		put(&outbox, number, MESSAGE_BYTES);
	outbox_flush(&outbox);
	cr_assert(peer.sent == 0 && outbox.bytes == 3 * MESSAGE_BYTES);
	peer.is_full = false;
	put(&outbox, 4, MESSAGE_BYTES);
	cr_assert(peer.sent == 0, "it is sent before older ones");
	drain(&outbox);
	cr_assert(peer.sent == 4);
	peer.is_full = true;
	put(&outbox, 5, MESSAGE_BYTES);
	outbox_clear(&outbox);
	peer.is_full = false;
	outbox_flush(&outbox);
	cr_assert(peer.sent == 4 && outbox.bytes == 0 && outbox_is_empty(&outbox), "forgotten");
}

/* The web server's own queue takes no message back. So it gets only as much as keeps the kernel busy until it asks for
 * more; the rest waits here, where the oldest can be dropped. */
#include "gateway/web/outbox.h"

#include <stdlib.h>
#include <string.h>

struct outbox_item {
	struct outbox_item *next;
	size_t count;
	bool binary;
	char bytes[];
};

static void outbox_drop_first(struct outbox *outbox)
{
	struct outbox_item *item = outbox->first;
	outbox->first = item->next;
	if (!outbox->first)
		outbox->last = NULL;
	outbox->bytes -= item->count;
	free(item);
}

static bool outbox_has_room(const struct outbox *outbox)
{
	return web_waiting(outbox->peer) < OUTBOX_DIRECT_BYTES;
}

void outbox_put(struct outbox *outbox, bool binary, const void *bytes, size_t count)
{
	if (!outbox->first && outbox_has_room(outbox) && web_send(outbox->peer, binary, bytes, count))
		return;
	struct outbox_item *item = mem_alloc(sizeof *item + count);
	item->count = count;
	item->binary = binary;
	memcpy(item->bytes, bytes, count);
	if (outbox->last)
		outbox->last->next = item;
	else
		outbox->first = item;
	outbox->last = item;
	outbox->bytes += count;
	while (outbox->bytes > OUTBOX_BYTES_MAX && outbox->first != outbox->last) {
		outbox_drop_first(outbox);
		outbox->lost++;
	}
}

void outbox_flush(struct outbox *outbox)
{
	while (outbox->first && outbox_has_room(outbox) &&
		web_send(outbox->peer, outbox->first->binary, outbox->first->bytes, outbox->first->count))
		outbox_drop_first(outbox);
}

bool outbox_is_empty(const struct outbox *outbox)
{
	return !outbox->first;
}

void outbox_clear(struct outbox *outbox)
{
	while (outbox->first)
		outbox_drop_first(outbox);
}

void outbox_fini(struct outbox *outbox)
{
	outbox_clear(outbox);
}

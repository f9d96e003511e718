/* A state and a commit cost time of the step, so each comes only after some twenty times as long as it took. A command
 * is followed by a commit as soon as that allows, because it cannot be repeated from anything else. */
#include "server/followed.h"

#include "base/clock.h"

#include <stdlib.h>

enum { FOLLOWED_SHARE = 20 };
#define FOLLOWED_STATE_NS UINT64_C(1000000000)
#define FOLLOWED_COMMIT_NS UINT64_C(20000000)
#define FOLLOWED_FILES_BYTES ((size_t)16 << 20)   /* the same for the next file */
#define FOLLOWED_WAITING_BYTES ((size_t)64 << 20) /* no commit while so much is not sent */

struct followed {
	const struct follow_ops *ops;
	struct feed *feed;
	struct record_writer to;
	uint32_t files; /* of the server: looked at */
	bool begun;
	bool taken;                           /* a command, since the last commit */
	uint64_t state_due_ns, commit_due_ns; /* commit: without a command */
	uint64_t pause_ns, end_ns;            /* until the next one at least; when the last one was made */
};

struct followed *followed_create(const struct follow_ops *ops, struct feed *feed)
{
	struct followed *followed = mem_alloc(sizeof *followed);
	followed->ops = ops;
	followed->feed = feed;
	return followed;
}

void followed_made(struct followed *followed, struct server_world *world, const struct command *command)
{
	if (followed->begun && command->prepared)
		record_put_files(&followed->to, world, command);
}

void followed_taken(struct followed *followed, struct server_world *world, uint64_t step, const struct command *command,
	troupe_status status)
{
	bool failed = record_has_failed(command, status);
	if (!followed->begun)
		return;
	if (!failed)
		followed_made(followed, world, command);
	record_put_command(&followed->to, world, step, command, failed);
	followed->taken = true;
}

static void followed_commit(struct followed *followed, struct troupe_server *server, uint64_t steps)
{
	struct text step = {0};
	struct text *out = &followed->to.out;
	record_put_commit(&followed->to, server, steps);
	followed->ops->feed_send(followed->feed, FOLLOW_BYTES, out->at, out->count);
	out->count = 0;
	pack_u64(&step, steps);
	followed->ops->feed_send(followed->feed, FOLLOW_COMMIT, step.at, step.count);
	text_fini(&step);
	followed->taken = false;
}

/* Files that states leave out go once, before the first of them, as fast as the standby takes them. One that cannot be
 * read any more is left out, and the standby says that it has not got it. True: all have gone. */
static bool followed_send_files(struct followed *followed, struct troupe_server *server)
{
	struct text bytes = {0}, out = {0};
	bool room = true;
	if (!followed->files)
		followed->ops->feed_send(followed->feed, FOLLOW_FILES, NULL, 0);
	while (room && followed->files < server->files.all.count) {
		const struct files_entry *entry = &server->files.all.at[followed->files];
		room = followed->ops->feed_waiting(followed->feed) <= FOLLOWED_FILES_BYTES;
		followed->files += room;
		bytes.count = out.count = 0;
		if (!room || !entry->apart || files_give(&server->files, entry->path, &bytes, NULL))
			continue;
		pack_string(&out, entry->path);
		pack_bytes(&out, bytes.at, bytes.count);
		followed->ops->feed_send(followed->feed, FOLLOW_FILES, out.at, out.count);
	}
	text_fini(&bytes);
	text_fini(&out);
	return room;
}

/* The commands since the last commit are in the state. */
static void followed_begin(struct followed *followed, struct troupe_server *server)
{
	followed->to.out.count = 0;
	followed->ops->feed_send(followed->feed, FOLLOW_BEGIN, NULL, 0);
	record_put_start(&followed->to, server, true);
	followed->begun = true;
}

void followed_merged(struct followed *followed, struct troupe_server *server, uint64_t steps)
{
	if (!followed->begun && !followed_send_files(followed, server))
		return;
	uint64_t now_ns = clock_now_ns();
	bool state = !followed->begun || now_ns >= followed->state_due_ns;
	uint64_t due_ns = followed->taken ? followed->end_ns + followed->pause_ns : followed->commit_due_ns;
	if (!state && now_ns < due_ns)
		return;
	if (!followed->taken && followed->begun && followed->ops->feed_waiting(followed->feed) > FOLLOWED_WAITING_BYTES)
		return;
	if (state)
		followed_begin(followed, server);
	followed_commit(followed, server, steps);
	followed->end_ns = clock_now_ns();
	followed->pause_ns = FOLLOWED_SHARE * (followed->end_ns - now_ns);
	followed->commit_due_ns = followed->end_ns + MAX(FOLLOWED_COMMIT_NS, followed->pause_ns);
	if (state)
		followed->state_due_ns = followed->end_ns + MAX(FOLLOWED_STATE_NS, followed->pause_ns);
}

bool followed_confirm(struct followed *followed, const struct follow_run *run)
{
	return followed->ops->feed_confirm(followed->feed, run);
}

const char *followed_where(const struct followed *followed)
{
	return followed->ops->feed_where(followed->feed);
}

void followed_end(struct followed *followed, const struct stop *stop)
{
	if (!followed)
		return;
	followed->ops->feed_end(followed->feed, stop);
	record_writer_fini(&followed->to);
	free(followed);
}

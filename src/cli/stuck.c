/* A thread of its own, because all others may be inside of the step. It sleeps until the run is told to stop.
 *
 * A step has no limit as such: it may be long on purpose, and until someone wants it to end it harms nobody. Commands
 * and the primaries' part change the present state and cannot be given up: a run that stays in them ends without a
 * saved state. */
#include "cli/stuck.h"

#include "base/clock.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { STUCK_SAY_MS = 1000, GIVE_UP_MS = 5000, STUCK_LEAVE_MS = 8000, STUCK_LOOK_MS = 100 };
#define NS_PER_MS UINT64_C(1000000)

static void stuck_say(const struct stuck *stuck, const char *why, const char *then)
{
	char text[512];
	(void)snprintf(text, sizeof text, "the stop waits for %s%s", why, then);
	stuck->say(stuck->ctx, text);
}

static void stuck_watch(struct stuck *stuck)
{
	uint64_t begin_ns = clock_now_ns(), stepping_ms = 0;
	char why[256];
	for (bool said = false; !atomic_load(&stuck->ended);) {
		clock_sleep_until_ns(clock_now_ns() + STUCK_LOOK_MS * NS_PER_MS);
		stepping_ms = (clock_now_ns() - begin_ns) / NS_PER_MS;
		enum troupe_given_up given_up = troupe_server_give_up(
			stuck->server, stepping_ms < GIVE_UP_MS ? 0 : STUCK_LOOK_MS, why, sizeof why);
		if (given_up == TROUPE_GIVEN_UP) {
			stuck_say(stuck, why, ", which is given up");
			stuck->leave(stuck->ctx);
		}
		if (given_up == TROUPE_NOT_STEPPING) {
			begin_ns = clock_now_ns();
		} else if (stepping_ms > STUCK_LEAVE_MS) {
			stuck_say(stuck, why, ", which cannot be given up: the run ends, and no state is saved");
			_exit(CLI_BROKEN);
		} else if (stepping_ms > STUCK_SAY_MS && !said) {
			stuck_say(stuck, why, "");
			said = true;
		}
	}
}

static void *stuck_work(void *arg)
{
	struct stuck *stuck = arg;
	while (sem_wait(&stuck->asked) && errno == EINTR)
		continue;
	if (!atomic_load(&stuck->ended))
		stuck_watch(stuck);
	return NULL;
}

void stuck_begin(struct stuck *stuck)
{
	atomic_init(&stuck->ended, false);
	if (sem_init(&stuck->asked, 0, 0))
		return;
	stuck->begun = !pthread_create(&stuck->thread, NULL, stuck_work, stuck);
	if (!stuck->begun)
		(void)sem_destroy(&stuck->asked);
}

void stuck_ask(struct stuck *stuck)
{
	if (stuck->begun)
		(void)sem_post(&stuck->asked);
}

void stuck_end(struct stuck *stuck)
{
	if (!stuck->begun)
		return;
	stuck->begun = false;
	atomic_store(&stuck->ended, true);
	(void)sem_post(&stuck->asked);
	(void)pthread_join(stuck->thread, NULL);
	(void)sem_destroy(&stuck->asked);
}

/* A plug-in of the world, for tests: it breaks a rule of troupe/plugin.h, because what it keeps depends on the clock. A
 * replay must say in which word the runs differ. */
#include <troupe/plugin.h>

#include <time.h>

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	(void)self, (void)plugin;
	return true;
}

static void update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct timespec now;
	(void)self, (void)step;
	clock_gettime(CLOCK_MONOTONIC, &now);
	*(uint64_t *)words += (uint64_t)now.tv_nsec;
}

static const struct troupe_words words_of[] = {{"drift", TROUPE_WORD_INTEGER}, {NULL, TROUPE_WORD_INTEGER}};

static const struct troupe_kind kind = {
	.size = sizeof kind,
	.flags = TROUPE_IN_WORLD,
	.names = (const char *const[]){"test::Drift", NULL},
	.words = words_of,
	.configure = configure,
	.update = update,
};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "drift",
	.version = "1",
	.kinds = (const struct troupe_kind *const[]){&kind, NULL},
};

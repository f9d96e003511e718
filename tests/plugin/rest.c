/* A kind whose pre_update() changes a word from step 1000 on: one that rests by then is not called, and does not. */
#include <troupe/plugin.h>

#ifndef RESTS
#define RESTS TROUPE_RESTS
#endif

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	return self->host->take(self, plugin, "/touch", "gz.msgs.Double", 0, TROUPE_NOTHING);
}

static void command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	(void)self, (void)input, (void)message;
	((uint64_t *)words)[1]++;
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	(void)self;
	if (step->number >= 1000)
		((uint64_t *)words)[0] = step->number;
}

static const struct troupe_words rest_words[] = {
	{"last", TROUPE_WORD_INTEGER},
	{"messages", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_DOUBLE},
};
static const struct troupe_parameter parameters[] = {{NULL, TROUPE_PARTS, 0, 0, NULL}};
static const struct troupe_kind rest = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | RESTS,
	.names = (const char *const[]){"test::Rest", NULL},
	.parameters = parameters,
	.words = rest_words,
	.configure = configure,
	.command = command,
	.pre_update = pre_update,
};
static const struct troupe_kind *const kinds[] = {&rest, NULL};

TROUPE_PLUGIN_SYMBOL = {
	.size = sizeof(struct troupe_plugin),
	.abi = TROUPE_PLUGIN_ABI,
	.name = "rest",
	.version = "1",
	.kinds = kinds,
};

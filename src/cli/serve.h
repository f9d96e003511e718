/* One gateway that is asked for: NAME[=ADDRESS][,KEY=VALUE]..., as --serve has it. A value has no comma. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "base/arena.h"

#include <troupe/gateway.h>

enum { SERVE_SETTINGS_MAX = 32 };

struct serve {
	const char *option; /* by which it is asked for: "--rosbridge"; for messages */
	const char *name, *address;
	struct troupe_gateway_setting settings[SERVE_SETTINGS_MAX];
	uint32_t setting_count;
};

/* Texts are in the arena. TROUPE_EINVAL: the text has another form, or too many settings. */
troupe_status serve_parse(const char *text, struct arena *arena, struct serve *ret, struct troupe_error *error);
/* Adds a setting if there is a value. */
void serve_add(struct serve *serve, const char *key, const char *value);
/* Adds a flag if it is set. */
void serve_add_flag(struct serve *serve, const char *key, bool is_set);
/* The value of a setting; NULL: it is not given. */
const char *serve_value(const struct serve *serve, const char *key);
/* The text that serve_parse() takes, with this address and, if it is not NULL, this token. */
char *serve_text(const struct serve *serve, const char *address, const char *token, struct arena *arena);

#endif

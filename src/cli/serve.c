/* The parts of the text are cut out one after the other; the gateway itself checks names, addresses and settings. */
#include "cli/serve.h"

#include "base/text.h"

#include <assert.h>
#include <string.h>

void serve_add(struct serve *serve, const char *key, const char *value)
{
	if (!value)
		return;
	assert(serve->setting_count < SERVE_SETTINGS_MAX);
	serve->settings[serve->setting_count++] = (struct troupe_gateway_setting){key, value};
}

void serve_add_flag(struct serve *serve, const char *key, bool is_set)
{
	if (is_set)
		serve_add(serve, key, "true");
}

const char *serve_value(const struct serve *serve, const char *key)
{
	for (uint32_t i = serve->setting_count; i-- > 0;)
		if (!strcmp(serve->settings[i].key, key))
			return serve->settings[i].value;
	return NULL;
}

/* Ends the text at the first of the characters, and returns what stands behind it; NULL: there is none. */
static char *serve_cut(char *text, char at)
{
	char *end = strchr(text, at);
	if (end)
		*end++ = '\0';
	return end;
}

troupe_status serve_parse(const char *text, struct arena *arena, struct serve *ret, struct troupe_error *error)
{
	char *part = arena_strdup(arena, text), *rest = serve_cut(part, ',');
	*ret = (struct serve){.option = "--serve", .name = part};
	ret->address = serve_cut(part, '=');
	if (!*part || (ret->address && !*ret->address))
		return fail(error, TROUPE_EINVAL,
			"--serve: '%.80s': expected NAME[=ADDRESS][,KEY=VALUE]..., for example rosbridge=9090", text);
	while ((part = rest)) {
		rest = serve_cut(part, ',');
		char *value = serve_cut(part, '=');
		if (!*part || ret->setting_count == SERVE_SETTINGS_MAX)
			return fail(error, TROUPE_EINVAL,
				"--serve: '%.80s': expected at most %d settings KEY=VALUE, with commas between", text,
				(int)SERVE_SETTINGS_MAX);
		serve_add(ret, part, value ? value : "true");
	}
	return TROUPE_OK;
}

char *serve_text(const struct serve *serve, const char *address, const char *token, struct arena *arena)
{
	char *text = arena_printf(arena, "%s=%s", serve->name, address);
	for (uint32_t i = 0; i < serve->setting_count; i++)
		text = arena_printf(arena, "%s,%s=%s", text, serve->settings[i].key, serve->settings[i].value);
	return token ? arena_printf(arena, "%s,token=%s", text, token) : text;
}

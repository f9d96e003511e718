/* Gazebo's worlds name models by the address of a page as often as by that of the server, with the server's old names,
 * in any case, and with blanks or %20. A cache has each of them once, in lower case; but people copy and rename, so
 * each folder is searched for by its name in any case when it is not there as Gazebo writes it.
 *
 * The newest version is the one with the greatest number in the folder. A set of files that was kept has only the
 * version that was used, so a run that is loaded again, elsewhere, uses the same one. */
#include "sdf/fuel.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	FUEL_URI_MAX = 2000,
	FUEL_PARTS_MAX = 64, /* of an address */
};

/* the names that Gazebo's server has had; the first is today's */
static const char *const fuel_servers[] = {
	"fuel.gazebosim.org", "fuel.ignitionrobotics.org", "fuel.ignitionfuel.org", "api.ignitionfuel.org"};
static const char fuel_owner[] = "openrobotics";

/* --- addresses ---------------------------------------------------------------------------------------------------- */

static const char *fuel_after_scheme(const char *uri)
{
	static const char *const schemes[] = {"https://", "http://", "fuel://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (!strncasecmp(uri, schemes[i], strlen(schemes[i])))
			return uri + strlen(schemes[i]);
	return NULL;
}

bool fuel_is_remote(const char *uri)
{
	return fuel_after_scheme(uri) != NULL;
}

static int fuel_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

const char *fuel_decode(struct arena *arena, const char *uri)
{
	char *out = arena_strdup(arena, uri), *to = out;
	for (const char *at = uri; *at; at++) {
		int high = *at == '%' ? fuel_digit(at[1]) : -1, low = high < 0 ? -1 : fuel_digit(at[2]);
		if (low < 0) {
			*to++ = *at;
			continue;
		}
		char c = (char)(high * 16 + low);
		if (!c || c == '/')
			return NULL;
		*to++ = c;
		at += 2;
	}
	*to = '\0';
	return strcmp(out, uri) ? out : NULL;
}

static bool fuel_is_number(const char *text)
{
	return *text && strlen(text) <= 9 && strspn(text, "0123456789") == strlen(text);
}

/* "1.0", the version of the server's interface */
static bool fuel_is_interface(const char *text)
{
	return strchr(text, '.') && strspn(text, "0123456789.") == strlen(text);
}

const char *fuel_lower(struct arena *arena, const char *text)
{
	char *out = arena_strdup(arena, text);
	for (char *c = out; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return out;
}

/* app.gazebosim.org has the pages of fuel.gazebosim.org. */
static const char *fuel_server(struct arena *arena, const char *name)
{
	name = fuel_lower(arena, name);
	return strncmp(name, "app.", 4) ? name : arena_printf(arena, "fuel.%s", name + 4);
}

/* Divides the text at slashes, without empty parts. SIZE_MAX: too many, or one that no name may be. */
static size_t fuel_divide(struct arena *arena, const char *text, const char **ret_parts)
{
	size_t count = 0;
	const char *end = text + strcspn(text, "?#");
	while (text < end) {
		size_t length = MIN(strcspn(text, "/"), (size_t)(end - text));
		const char *part = arena_printf(arena, "%.*s", (int)length, text), *decoded = fuel_decode(arena, part);
		part = decoded ? decoded : part;
		if (!strcmp(part, ".") || !strcmp(part, "..") || (length && count == FUEL_PARTS_MAX))
			return SIZE_MAX;
		if (length)
			ret_parts[count++] = part;
		text += MIN(length + 1, (size_t)(end - text));
	}
	return count;
}

static const char *fuel_join(struct arena *arena, const char *const *parts, size_t count)
{
	const char *out = count ? parts[0] : NULL;
	for (size_t i = 1; i < count; i++)
		out = arena_printf(arena, "%s/%s", out, parts[i]);
	return out;
}

bool fuel_parse(struct arena *arena, const char *uri, struct fuel_address *ret_address)
{
	const char *parts[FUEL_PARTS_MAX], *text = fuel_after_scheme(uri);
	if (!text || strlen(text) > FUEL_URI_MAX)
		return false;
	size_t count = fuel_divide(arena, text, parts), kind = 1;
	if (count == SIZE_MAX)
		return false;
	while (kind < count && strcasecmp(parts[kind], "models") && strcasecmp(parts[kind], "worlds"))
		kind++;
	size_t owner = kind - 1;
	if (owner > 1 && owner < count && !strcasecmp(parts[owner], "fuel"))
		owner--;
	if (owner < 1 || kind + 1 >= count || fuel_is_interface(parts[owner]))
		return false;
	*ret_address = (struct fuel_address){.server = fuel_server(arena, parts[0]),
		.owner = fuel_lower(arena, parts[owner]),
		.kind = fuel_lower(arena, parts[kind]),
		.name = fuel_lower(arena, parts[kind + 1])};
	size_t at = kind + 2;
	if (at < count && (fuel_is_number(parts[at]) || !strcasecmp(parts[at], "tip"))) {
		ret_address->version = fuel_is_number(parts[at]) ? parts[at] : NULL;
		at++;
	}
	if (at < count && !strcasecmp(parts[at], "files"))
		at++;
	ret_address->rest = fuel_join(arena, parts + at, count - at);
	return true;
}

static bool fuel_is_gazebo_server(const char *server)
{
	for (size_t i = 0; i < ARRAY_LEN(fuel_servers); i++)
		if (!strcmp(server, fuel_servers[i]))
			return true;
	return false;
}

bool fuel_is_gazebo(const struct fuel_address *address)
{
	return fuel_is_gazebo_server(address->server) && !strcmp(address->owner, fuel_owner);
}

/* --- caches ------------------------------------------------------------------------------------------------------- */

/* The folder of that name, in any case, in a folder. NULL: none. */
static const char *fuel_enter(struct files *files, struct arena *arena, const char *folder, const char *name)
{
	const char *path = arena_printf(arena, "%s/%s", folder, name), *const * names;
	if (files_look(files, path) == FILES_FOLDER)
		return path;
	if (files_look(files, folder) != FILES_FOLDER)
		return NULL;
	uint32_t count = files_list(files, folder, arena, &names);
	for (uint32_t i = 0; i < count; i++) {
		path = arena_printf(arena, "%s/%s", folder, names[i]);
		if (!strcasecmp(names[i], name) && files_look(files, path) == FILES_FOLDER)
			return path;
	}
	return NULL;
}

/* The version that is asked for, else the newest. NULL: none. */
static const char *fuel_version(struct files *files, struct arena *arena, const char *folder, const char *asked)
{
	const char *const *names, *best = NULL;
	uint32_t count = files_list(files, folder, arena, &names);
	for (uint32_t i = 0; i < count; i++) {
		bool fits = fuel_is_number(names[i]) && (!asked || atol(names[i]) == atol(asked));
		if (fits && (!best || atol(names[i]) > atol(best)))
			best = names[i];
	}
	return best ? arena_printf(arena, "%s/%s", folder, best) : NULL;
}

static enum files_kind fuel_end(
	struct files *files, struct arena *arena, const char *folder, const char *rest, const char **ret_path)
{
	const char *path = rest && *rest ? arena_printf(arena, "%s/%s", folder, rest) : folder;
	enum files_kind kind = files_look(files, path);
	if (kind)
		*ret_path = path;
	return kind;
}

static enum files_kind fuel_find_at(struct files *files, struct arena *arena, const char *server,
	const struct fuel_address *address, const char **ret_path)
{
	const char *at = fuel_enter(files, arena, server, address->owner);
	at = at ? fuel_enter(files, arena, at, address->kind) : NULL;
	at = at ? fuel_enter(files, arena, at, address->name) : NULL;
	at = at ? fuel_version(files, arena, at, address->version) : NULL;
	return at ? fuel_end(files, arena, at, address->rest, ret_path) : FILES_NOTHING;
}

enum files_kind fuel_find(struct files *files, struct arena *arena, const char *cache,
	const struct fuel_address *address, const char **ret_path)
{
	const char *const one[] = {address->server};
	bool gazebo = fuel_is_gazebo_server(address->server);
	const char *const *servers = gazebo ? fuel_servers : one;
	enum files_kind kind = FILES_NOTHING;
	for (size_t i = 0; i < (gazebo ? ARRAY_LEN(fuel_servers) : 1) && !kind; i++) {
		const char *server = fuel_enter(files, arena, cache, servers[i]);
		if (server)
			kind = fuel_find_at(files, arena, server, address, ret_path);
	}
	return kind;
}

/* All models of a server: those of Gazebo's owner first. */
static void fuel_list_server(struct files *files, struct arena *arena, const char *server, fuel_model_fn fn, void *ctx)
{
	const char *const *owners, *const *names;
	uint32_t owner_count = files_list(files, server, arena, &owners);
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < owner_count; i++) {
			if (!strcasecmp(owners[i], fuel_owner) != !pass)
				continue;
			const char *models = arena_printf(arena, "%s/%s/models", server, owners[i]);
			uint32_t count = files_list(files, models, arena, &names);
			for (uint32_t k = 0; k < count; k++)
				fn(ctx, fuel_lower(arena, names[k]), arena_printf(arena, "%s/%s", models, names[k]));
		}
}

void fuel_list(struct files *files, struct arena *arena, const char *cache, fuel_model_fn fn, void *ctx)
{
	const char *const *servers;
	for (size_t i = 0; i < ARRAY_LEN(fuel_servers); i++)
		fuel_list_server(files, arena, arena_printf(arena, "%s/%s", cache, fuel_servers[i]), fn, ctx);
	uint32_t count = files_list(files, cache, arena, &servers);
	for (uint32_t i = 0; i < count; i++) {
		bool is_machine = *servers[i] != '.' && strchr(servers[i], '.');
		const char *path = is_machine ? arena_printf(arena, "%s/%s", cache, servers[i]) : NULL;
		if (path && !fuel_is_gazebo_server(servers[i]) && files_look(files, path) == FILES_FOLDER)
			fuel_list_server(files, arena, path, fn, ctx);
	}
}

const char *fuel_newest(struct files *files, struct arena *arena, const char *folder)
{
	return fuel_version(files, arena, folder, NULL);
}

const char *fuel_own(struct arena *arena, const char *folder, const char *name)
{
	const char *version = strrchr(folder, '/'), *model = version;
	size_t length = strcspn(name, "/");
	if (!version || !fuel_is_number(version + 1))
		return NULL;
	while (model > folder && model[-1] != '/')
		model--;
	if ((size_t)(version - model) != length || strncasecmp(model, name, length))
		return NULL;
	return name[length] ? arena_printf(arena, "%s%s", folder, name + length) : folder;
}

static bool fuel_ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), wanted = strlen(ending);
	return length > wanted && !strcasecmp(name + length - wanted, ending);
}

const char *fuel_world(struct files *files, struct arena *arena, const char *folder)
{
	const char *const *names;
	uint32_t count = files_list(files, folder, arena, &names);
	for (uint32_t i = 0; i < count; i++)
		if (fuel_ends_with(names[i], ".sdf") || fuel_ends_with(names[i], ".world"))
			return arena_printf(arena, "%s/%s", folder, names[i]);
	return NULL;
}

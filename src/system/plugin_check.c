/* What a library exports is not trusted to be whole: counts are bounded, and each table must end. */
#include "system/plugin_check.h"

#include "system/plugins.h"
#include "system/system.h"

#include <stddef.h>
#include <string.h>

#define END_OF(type, member) (offsetof(type, member) + sizeof((type *)0)->member)

static bool plugin_check_is_name(const char *name)
{
	size_t length = strnlen(name, PLUGIN_NAME_BYTES_MAX + 1);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return length && length <= PLUGIN_NAME_BYTES_MAX;
}

static troupe_status plugin_check_names(const struct troupe_kind *kind, uint32_t number, struct troupe_error *error)
{
	uint32_t count = 0;
	if (!kind->names || !kind->names[0])
		return fail(error, TROUPE_EWORLD, "kind %u has no name", number);
	for (; kind->names[count] && count <= PLUGIN_NAMES_MAX; count++)
		if (!plugin_check_is_name(kind->names[count]))
			return fail(error, TROUPE_EWORLD,
				"kind %u has a name that is not one of 1 to %d printable bytes", number,
				PLUGIN_NAME_BYTES_MAX);
	return count > PLUGIN_NAMES_MAX ? fail(error, TROUPE_EWORLD, "kind '%s' has more than %d names", kind->names[0],
						  PLUGIN_NAMES_MAX)
					: TROUPE_OK;
}

static troupe_status plugin_check_tables(const struct troupe_kind *kind, struct troupe_error *error)
{
	uint32_t count = 0;
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++) {
		if (count++ == PLUGIN_PARAMETERS_MAX)
			return fail(error, TROUPE_EWORLD,
				"kind '%s' has more than %d parameters: expected NULL after the last", kind->names[0],
				PLUGIN_PARAMETERS_MAX);
		bool ranged = p->kind == TROUPE_NUMBER || p->kind == TROUPE_VECTOR;
		if (!plugin_check_is_name(p->name) || (uint32_t)p->kind > TROUPE_UNUSED ||
			(ranged && !(p->low <= p->high)))
			return fail(error, TROUPE_EWORLD,
				"kind '%s': parameter %u is not valid: expected a name, a kind of parameter, and "
				"low <= high",
				kind->names[0], count);
	}
	count = 0;
	for (const struct troupe_words *w = kind->words; w && w->name; w++) {
		if (count++ == SYSTEM_WORDS_MAX)
			return fail(error, TROUPE_EWORLD,
				"kind '%s' has more than %d words: expected NULL after the last", kind->names[0],
				SYSTEM_WORDS_MAX);
		if (!plugin_check_is_name(w->name) || (uint32_t)w->kind > TROUPE_WORD_INTEGER)
			return fail(error, TROUPE_EWORLD,
				"kind '%s': word %u is not valid: expected a name and a kind of word", kind->names[0],
				count);
	}
	return TROUPE_OK;
}

static troupe_status plugin_check_flags(const struct troupe_kind *kind, struct troupe_error *error)
{
	const uint32_t places = TROUPE_IN_MODEL | TROUPE_IN_WORLD | TROUPE_FOR_EACH_MODEL | TROUPE_IN_ACTOR;
	const uint32_t all = places | TROUPE_LENIENT | TROUPE_READS_CONTACTS | TROUPE_READS_SENSORS |
			     TROUPE_FOR_CLIENTS | TROUPE_RESTS;
	if (kind->flags & ~all)
		return fail(error, TROUPE_EWORLD, "kind '%s' has flags %#x: expected bits of %#x", kind->names[0],
			kind->flags, all);
	if (!(kind->flags & places))
		return fail(error, TROUPE_EWORLD,
			"kind '%s' may stand nowhere: expected TROUPE_IN_MODEL, TROUPE_IN_ACTOR, TROUPE_IN_WORLD or "
			"TROUPE_FOR_EACH_MODEL",
			kind->names[0]);
	if (kind->flags & TROUPE_IN_WORLD && kind->flags & TROUPE_FOR_EACH_MODEL)
		return fail(error, TROUPE_EWORLD, "kind '%s': expected either TROUPE_IN_WORLD or TROUPE_FOR_EACH_MODEL",
			kind->names[0]);
	return TROUPE_OK;
}

static bool plugin_check_knows(const struct troupe_kind *kind, size_t end)
{
	return kind->size >= end;
}

static troupe_status plugin_check_kind(const struct troupe_kind *kind, uint32_t number, struct troupe_error *error)
{
	size_t least = END_OF(struct troupe_kind, configure);
	if (kind->size < least)
		return fail(
			error, TROUPE_EWORLD, "kind %u has %u bytes: expected %zu or more", number, kind->size, least);
	troupe_status status = plugin_check_names(kind, number, error);
	if (!status && !kind->configure)
		status = fail(error, TROUPE_EWORLD, "kind '%s' has no configure()", kind->names[0]);
	if (!status)
		status = plugin_check_flags(kind, error);
	bool steps = (plugin_check_knows(kind, END_OF(struct troupe_kind, pre_update)) && kind->pre_update) ||
		     (plugin_check_knows(kind, END_OF(struct troupe_kind, post_update)) && kind->post_update);
	if (!status && kind->flags & TROUPE_IN_WORLD && steps)
		status = fail(error, TROUPE_EWORLD,
			"kind '%s' may stand in the world, which has no runner: expected no pre_update() and "
			"post_update()",
			kind->names[0]);
	return status ? status : plugin_check_tables(kind, error);
}

troupe_status plugin_check(const struct troupe_plugin *plugin, struct troupe_error *error)
{
	size_t least = END_OF(struct troupe_plugin, kinds);
	if (plugin->size < END_OF(struct troupe_plugin, abi) || plugin->size > 1 << 20)
		return fail(
			error, TROUPE_EWORLD, PLUGIN_SYMBOL " has %u bytes: expected %zu or more", plugin->size, least);
	if (plugin->abi != TROUPE_PLUGIN_ABI)
		return fail(error, TROUPE_EWORLD,
			"it has version %u of the interface: expected %u, that of this troupe", plugin->abi,
			TROUPE_PLUGIN_ABI);
	if (plugin->size < least)
		return fail(
			error, TROUPE_EWORLD, PLUGIN_SYMBOL " has %u bytes: expected %zu or more", plugin->size, least);
	if (!plugin->kinds || !plugin->kinds[0])
		return fail(error, TROUPE_EWORLD, "it has no kinds of systems");
	uint32_t count = 0;
	troupe_status status = TROUPE_OK;
	for (; plugin->kinds[count] && !status; count++)
		status = count == PLUGIN_KINDS_MAX
				 ? fail(error, TROUPE_EWORLD, "it has more than %d kinds: expected NULL after the last",
					   PLUGIN_KINDS_MAX)
				 : plugin_check_kind(plugin->kinds[count], count + 1, error);
	return status;
}

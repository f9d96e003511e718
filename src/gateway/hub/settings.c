/* A key that a gateway does not have is refused with the list of keys that it has. */
#include "gateway/hub/settings.h"

#include "base/base.h"
#include "base/text.h"

#include <string.h>

static const char *const settings_flags[] = {"any-port", "insecure", "require-token"};

static bool settings_is_flag(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(settings_flags); i++)
		if (!strcmp(settings_flags[i], key))
			return true;
	return false;
}

static bool settings_is_set(const char *value)
{
	return !value || !*value || !strcmp(value, "true");
}

static troupe_status settings_refuse(const char *key, const char *const *keys, struct troupe_error *error)
{
	struct text list = {0};
	for (size_t i = 0; keys[i]; i++)
		text_add(&list, "%s%s", i ? ", " : "", keys[i]);
	troupe_status status = fail(error, TROUPE_EINVAL, "setting '%.40s': expected %s%s", key,
		list.count ? "one of " : "", list.count ? list.at : "none");
	text_fini(&list);
	return status;
}

static troupe_status settings_check_one(
	const struct troupe_gateway_setting *setting, const char *const *keys, struct troupe_error *error)
{
	size_t i = 0;
	while (keys[i] && strcmp(keys[i], setting->key))
		i++;
	if (!keys[i])
		return settings_refuse(setting->key, keys, error);
	if (settings_is_flag(setting->key)) {
		if (!settings_is_set(setting->value) && strcmp(setting->value, "false"))
			return fail(error, TROUPE_EINVAL, "%s '%.40s': expected true or false", setting->key,
				setting->value);
	} else if (!setting->value || !*setting->value) {
		return fail(error, TROUPE_EINVAL, "%s: expected a value", setting->key);
	}
	return TROUPE_OK;
}

troupe_status settings_check(const struct troupe_gateway_def *def, const char *const *keys, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < def->setting_count && !status; i++)
		status = settings_check_one(&def->settings[i], keys, error);
	if (!status && !settings_text(def, "cert") != !settings_text(def, "key"))
		status = fail(error, TROUPE_EINVAL, "cert and key: expected both or none");
	return status;
}

const char *settings_text(const struct troupe_gateway_def *def, const char *key)
{
	for (uint32_t i = def->setting_count; i-- > 0;)
		if (!strcmp(def->settings[i].key, key))
			return def->settings[i].value;
	return NULL;
}

bool settings_flag(const struct troupe_gateway_def *def, const char *key)
{
	for (uint32_t i = def->setting_count; i-- > 0;)
		if (!strcmp(def->settings[i].key, key))
			return settings_is_set(def->settings[i].value);
	return false;
}

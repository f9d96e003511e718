/* The settings of a gateway: pairs of a key and a value (troupe/gateway.h). */
#ifndef GATEWAY_HUB_SETTINGS_H
#define GATEWAY_HUB_SETTINGS_H

#include <troupe/gateway.h>

/* TROUPE_EINVAL: a key is not of the list, which NULL ends; a flag is neither true nor false; or `cert` is given
 * without `key`, or the other way round. */
troupe_status settings_check(const struct troupe_gateway_def *def, const char *const *keys, struct troupe_error *error);
/* The value of the last setting with the key; NULL: there is none. */
const char *settings_text(const struct troupe_gateway_def *def, const char *key);
/* Whether the flag is set: its value is "true", "" or NULL. */
bool settings_flag(const struct troupe_gateway_def *def, const char *key);

#endif

/* User data of an end, by which nodes of ROS 2 tell one another what DDS does not: "KEY=VALUE;KEY=VALUE;". It comes
 * from other programs, so it may be any bytes. Pure; without anything else of troupe, because the module has it, too.
 */
#ifndef GATEWAY_DDS_USER_DATA_H
#define GATEWAY_DDS_USER_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The value of the first entry with this key, as a string. False: there is none, or it has a zero byte or `room` bytes
 * or more. */
static inline bool user_data_find(const void *data, size_t count, const char *key, char *ret_value, size_t room)
{
	const char *at = data, *end = at + count;
	size_t length = strlen(key);
	while (at < end) {
		const char *semicolon = memchr(at, ';', (size_t)(end - at));
		size_t entry = (size_t)((semicolon ? semicolon : end) - at);
		if (entry > length && !memcmp(at, key, length) && at[length] == '=') {
			size_t value = entry - length - 1;
			if (value >= room || memchr(at + length + 1, '\0', value))
				return false;
			memcpy(ret_value, at + length + 1, value);
			ret_value[value] = '\0';
			return true;
		}
		at += entry + 1;
	}
	return false;
}

#endif

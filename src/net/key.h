/* The secret that peers share: its file, and what is made from it. */
#ifndef NET_KEY_H
#define NET_KEY_H

#include "base/base.h"

enum { KEY_BYTES = 32, KEY_MAC_BYTES = 32 };

struct key {
	unsigned char bytes[KEY_BYTES];
};

/* Whether this build can use keys; without OpenSSL none can be. */
bool key_usable(void);

/* $XDG_CONFIG_HOME/troupe/key, else $HOME/.config/troupe/key; NULL when neither is set. free() it. */
char *key_default_path(void);
/* EIO: it cannot be read, or others than its owner can (its mode must be 0600 or less, its owner this user or root);
 * EINVAL: not a key file. */
troupe_status key_read(const char *path, struct key *ret_key, struct troupe_error *error);
/* A new random key into a new file of mode 0600, its folder made (0700) when it is not there. A file that exists is
 * left, and is EIO. */
troupe_status key_create(const char *path, struct troupe_error *error);
/* A random key, for a run whose processes are all started here. */
troupe_status key_random(struct key *ret_key, struct troupe_error *error);
/* Bytes from the system's source of randomness. */
troupe_status key_random_bytes(void *ret_bytes, size_t count, struct troupe_error *error);
/* So that it does not stay in memory. */
void key_forget(struct key *key);

#endif

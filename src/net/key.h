/* The secret key that peers share, and the file that holds it. */
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
/* EIO: the file cannot be read, or users other than its owner have access to it (its mode must be 0600 or less, its
 * owner this user or root); EINVAL: it is not a key file. */
troupe_status key_read(const char *path, struct key *ret_key, struct troupe_error *error);
/* The key of the file `given`; NULL: of the default file, if it exists, unless `none`. *ret_found: there is a key.
 * Errors as key_read(). */
troupe_status key_find(const char *given, bool none, struct key *ret_key, bool *ret_found, struct troupe_error *error);
/* Writes a new random key to a new file of mode 0600. Makes missing folders (mode 0700). EIO when the file exists; the
 * existing file stays unchanged. */
troupe_status key_create(const char *path, struct troupe_error *error);
/* A random key that is not stored, for a run whose processes are all started by this one. */
troupe_status key_random(struct key *ret_key, struct troupe_error *error);
/* Bytes from the system's source of randomness. */
troupe_status key_random_bytes(void *ret_bytes, size_t count, struct troupe_error *error);
/* Erases the key from memory. */
void key_forget(struct key *key);

#endif

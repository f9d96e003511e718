/* The 64-bit hash behind state hashes and hash maps. Same value on every machine of the same byte order. Two 64-bit
 * words are multiplied to 128 bits and folded back to 64, as in wyhash (public domain, Wang Yi). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t count);
uint64_t hash_words(uint64_t seed, const uint64_t *words, size_t count);
/* Mixes two numbers into one; for keyed random streams. */
uint64_t hash_mix(uint64_t a, uint64_t b);

#endif

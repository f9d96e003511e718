/* State hashes cover all stored bytes of a world, so the hash takes 8 or 16 bytes for each multiplication. The number
 * of bytes or words is mixed in first, so that inputs which differ only in zeros at the end differ in their hash. */
#include "base/hash.h"

#include <string.h>

#define P0 UINT64_C(0xa0761d6478bd642f)
#define P1 UINT64_C(0xe7037ed1a0b428db)
#define P2 UINT64_C(0x8ebc6af09c88c6e3)

/* Must not be called with b == P1 or a constant a == P0: the product would be zero for every other argument. */
uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(a ^ P0) * (b ^ P1);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_words(uint64_t seed, const uint64_t *words, size_t count)
{
	uint64_t hash = hash_mix(seed, count);
	size_t i = 0;
	for (; i + 2 <= count; i += 2)
		hash = hash_mix(hash ^ words[i], words[i + 1]);
	if (i < count)
		hash = hash_mix(hash ^ words[i], P2);
	return hash_mix(hash, P2);
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash = hash_mix(seed, count);
	for (; count >= 8; at += 8, count -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = hash_mix(hash ^ word, P2);
	}
	uint64_t tail = 0;
	memcpy(&tail, at, count);
	return hash_mix(hash ^ tail, P2);
}

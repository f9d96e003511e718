/* CRC-32 as zlib, PNG and MCAP have it (polynomial 0x04c11db7, bits reversed). */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The sum of bytes that follow those whose sum is `before`; 0: there are none. Any thread. */
uint32_t crc32_add(uint32_t before, const void *bytes, size_t count);

#endif

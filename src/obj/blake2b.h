/* SPDX-License-Identifier: Apache-2.0 */
/* BLAKE2b (RFC 7693), unkeyed, for digests of up to 64 bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct blake2b {
	uint64_t state[8];
	uint64_t nr_bytes; /* compressed so far */
	size_t digest_size, used;
	uint8_t block[128]; /* [used] pending */
};

/* @digest_size: 1 to 64. */
void blake2b_init(struct blake2b *hash, size_t digest_size);
void blake2b_update(struct blake2b *hash, const void *bytes, size_t size);
/* Write the digest; @hash must be initialised again before further use. */
void blake2b_final(struct blake2b *hash, uint8_t *digest);

/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of stacks. Not safe against crafted input: an attacker who chooses frames can make them
 * collide. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A word of content into the hash: multiply and fold, as in wyhash's mix of two words. */
static inline uint64_t stack_hash_mix(uint64_t hash, uint64_t word)
{
	__uint128_t product = (__uint128_t)(hash ^ word) * 0x9e3779b97f4a7c15u;

	return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (word << 1);
}

/* @words [nr] into @hash. Cost: O(nr). */
uint64_t stack_hash_words(uint64_t hash, const uint64_t *words, size_t nr);

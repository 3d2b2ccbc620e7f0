/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys of samples of waits: the lock or the system call that the thread waited in, the name of the
 * thread that was woken up, and links to the stacks of who ended the wait (enum fpl_wait_word).
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/event.h"
#include "bpf/lock.h"
#include "bpf/maps.h"

static __always_inline void links_clear(struct fpl_scratch *s)
{
	for (__u32 i = 0; i < FPL_LINKS_MAX; i++)
		s->given.links[i] = 0;
}

/* Fill in a key's links; its other words are 0. */
static __always_inline void links_put(const struct fpl_scratch *s, __u64 *key)
{
	for (__u32 i = 0; i < FPL_KEY_MAX; i++)
		key[i] = 0;
	for (__u32 i = 0; i < FPL_LINKS_MAX && config.nr_links; i++)
		((__u32 *)(key + FPL_WAIT_LINKS))[i] = s->given.links[i];
}

/* Append the name of @task to the sample's words, as its key. Returns the number of its words. */
static __noinline __u32 task_key(struct task_struct *task, struct fpl_scratch *s)
{
	__u64 *key = key_words(s);

	if (!key)
		return 0;
	links_put(s, key);
	bpf_probe_read_kernel(key, sizeof(task->comm), &task->comm);
	return FPL_KEY_MAX;
}

/* Append the number of the system call that the task waits in, as arch_call() has it. */
static __noinline __u32 call_key(struct task_struct *task, struct fpl_scratch *s)
{
	__u64 *key = key_words(s);

	if (!key)
		return 0;
	key[0] = call_of(task);
	return 1;
}

/* Append the key of a wait of the task. Returns the number of its words; 0: it has none. */
static __noinline __u32 wait_key(struct task_struct *task, struct fpl_scratch *s)
{
	__u64 *key, addr;

	if (config.flags & FPL_CONFIG_CALLS)
		return call_key(task, s);
	if (!(config.flags & FPL_CONFIG_PAIRS))
		return 0;
	key = key_words(s);
	if (!key)
		return 0;
	links_put(s, key);
	if (config.flags & FPL_CONFIG_LOCKS) {
		addr = lock_addr(task);
		key[FPL_WAIT_ADDR] = addr;
		key[FPL_WAIT_MEMORY] = lock_memory(task, addr);
	}
	return FPL_KEY_MAX;
}

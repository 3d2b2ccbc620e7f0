/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the user has named are waited for as long as their file systems take: it is he who
 * knows whether they will answer. But who waits for one in the kernel cannot be ended, by Ctrl-C or
 * otherwise. So a child does the work, and its parent is there to be ended.
 */
#pragma once

#include <stddef.h>

/*
 * To be called before anything is open, by a process of one thread. Where all @paths are in local
 * file systems this has no effect. Else it returns in a child; the process itself does not
 * return, but ends as the child does, or by the signal that comes first. A child that does not end
 * within a second of that is left behind, and that is said. "-" is stdin. In such a child this has
 * no effect.
 */
void file_guard(const char *const *paths, size_t nr);

/* SPDX-License-Identifier: Apache-2.0 */
#include "view/keys.h"

const char *stop_key(enum fpl_stop stop)
{
	static const char *const keys[FPL_STOP_COUNT] = {
#define X(name, key, text) [FPL_STOP_##name] = #key,
		FPL_STOP_LIST(X)
#undef X
	};

	return (unsigned)stop < FPL_STOP_COUNT ? keys[stop] : "unknown";
}

const char *lost_key(enum fpl_lost lost)
{
	static const char *const keys[FPL_LOST_COUNT] = {
#define X(name, key, text) [FPL_LOST_##name] = #key,
		FPL_LOST_LIST(X)
#undef X
	};

	return (unsigned)lost < FPL_LOST_COUNT ? keys[lost] : "unknown";
}

const char *origin_key(enum fpl_origin origin)
{
	static const char *const keys[FPL_ORIGIN_COUNT] = {
#define X(name, key, suffix) [FPL_ORIGIN_##name] = #key,
		FPL_ORIGIN_LIST(X)
#undef X
	};

	return (unsigned)origin < FPL_ORIGIN_COUNT ? keys[origin] : "unknown";
}

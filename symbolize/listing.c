/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/listing.h"

#include <stdlib.h>

void listing_fini(struct listing *listing)
{
	free(listing->insns);
	free(listing->text);
	*listing = (struct listing){ .insns = NULL };
}

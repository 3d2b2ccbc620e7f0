/* SPDX-License-Identifier: Apache-2.0 */
/* What `fpless report` reads: see tests/support/fuzz_reader.h for what is judged. */
#include "../support/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Input of `fpless report`: tests/support/fuzz_reader.h has the checks. */
#include "../support/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(data, size);
	return 0;
}

/* The limit of the process says little: descriptors may be open already, and the machine has a limit, too. So as many
 * as are needed are opened at the same time. */
#include "base/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { DESCRIPTORS_EXPECTED_MAX = 64 };

troupe_status descriptors_expect(uint32_t count, struct troupe_error *error)
{
	int files[DESCRIPTORS_EXPECTED_MAX];
	uint32_t opened = 0, wanted = MIN(count, (uint32_t)DESCRIPTORS_EXPECTED_MAX);
	while (opened < wanted && (files[opened] = eventfd(0, EFD_CLOEXEC)) >= 0)
		opened++;
	int why = errno;
	for (uint32_t i = 0; i < opened; i++)
		close(files[i]);
	if (opened < wanted)
		return fail(error, TROUPE_EIO, "cannot open %u files: %s", (unsigned)count, strerror(why));
	return TROUPE_OK;
}

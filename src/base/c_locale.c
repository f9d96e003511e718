/* Made once, by the thread that needs it first, and lent to all. */
#include "base/c_locale.h"

#include "base/base.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void c_locale_make(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		mem_run_out(0);
}

locale_t c_locale_get(void)
{
	pthread_once(&c_locale_once, c_locale_make);
	return c_locale;
}

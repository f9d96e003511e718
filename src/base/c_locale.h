/* The locale "C". Text that programs read must not depend on the locale of the process, which belongs to the program
 * that uses the library. */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H

#include <locale.h>

/* Any thread. It is never freed. */
locale_t c_locale_get(void);

#endif

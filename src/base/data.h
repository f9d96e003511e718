/* The folders with the program's own data, such as its worlds.
 *
 * Thread: any. */
#ifndef BASE_DATA_H
#define BASE_DATA_H

#include "base/base.h"

/* The folder number i, from 0, in which a part of the data ("worlds") may lie, whether it is there or not; NULL after
 * the last. To be freed. In this order: beside the program (in a build tree); where the program was installed, wherever
 * its tree lies now; where it was to be installed when it was built, for a program that is not troupe but uses its
 * library. */
char *data_folder(const char *part, uint32_t i);

/* For data_folder(): where the data lie when the program that was to be installed into `bin`, its data into `data`,
 * lies in `folder`. NULL: `folder` is not such a place. To be freed. A pure function. */
char *data_moved(const char *folder, const char *bin, const char *data);

#endif

/* The folders with the program's own data, such as its worlds.
 *
 * Thread: any. */
#ifndef BASE_DATA_H
#define BASE_DATA_H

#include "base/base.h"

/* Folder number i, from 0, in which a part of the data ("worlds") may lie; the folder need not exist. NULL after the
 * last. The caller frees it. In this order: beside the program (in a build tree); where the program is installed,
 * wherever that tree lies now; where the build was configured to install, for a program that is not troupe but uses
 * its library. */
char *data_folder(const char *part, uint32_t i);

/* For data_folder(): the data folder of a program that lies in `folder`, when the build was configured to install
 * programs into `bin` and data into `data`. NULL: `folder` does not fit `bin`. The caller frees it. A pure function. */
char *data_moved(const char *folder, const char *bin, const char *data);

#endif

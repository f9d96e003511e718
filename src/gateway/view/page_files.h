/* The files of the viewer's page (src/web) and of three.js, which are a part of the program: the assembler puts them
 * into it when it is built, so that there is no file to find when it runs. */
#ifndef GATEWAY_VIEW_PAGE_FILES_H
#define GATEWAY_VIEW_PAGE_FILES_H

#include "gateway/web/web.h"

enum { PAGE_FILES_MAX = 128 };

/* Returns their number; 0: troupe was built without three.js. */
uint32_t page_files(struct web_file ret_files[PAGE_FILES_MAX]);

#endif

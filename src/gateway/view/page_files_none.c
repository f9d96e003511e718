/* A build without three.js has no page. */
#include "gateway/view/page_files.h"

uint32_t page_files(struct web_file ret_files[PAGE_FILES_MAX])
{
	(void)ret_files;
	return 0;
}

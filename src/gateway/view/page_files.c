/* page_files.inc is made by make: a line for each file, with its path on the server, its path on the disk, and its
 * type. The assembler's .incbin puts the bytes between two symbols. A C array of the same bytes would take the compiler
 * seconds, and objcopy makes symbols of the paths on the building machine. */
#include "gateway/view/page_files.h"

#define BEGIN(i) page_file_##i
#define END(i) page_file_end_##i
#define FILE_(i, path, disk, type)                                                                                     \
	__asm__(".pushsection .rodata\n"                                                                               \
		".balign 16\n"                                                                                         \
		"page_file_" #i ":\n"                                                                                  \
		".incbin \"" disk "\"\n"                                                                               \
		"page_file_end_" #i ":\n"                                                                              \
		".byte 0\n"                                                                                            \
		".popsection\n");                                                                                      \
	extern const char BEGIN(i)[] __attribute__((visibility("hidden")));                                            \
	extern const char END(i)[] __attribute__((visibility("hidden")));
#include "gateway/view/page_files.inc"
#undef FILE_

static const struct {
	const char *path, *type, *begin, *end;
} page_files_all[] = {
#define FILE_(i, path, disk, type) {path, type, BEGIN(i), END(i)},
#include "gateway/view/page_files.inc"
#undef FILE_
};
_Static_assert(ARRAY_LEN(page_files_all) <= PAGE_FILES_MAX, "all files fit");

uint32_t page_files(struct web_file ret_files[PAGE_FILES_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(page_files_all); i++)
		ret_files[i] = (struct web_file){.path = page_files_all[i].path,
			.type = page_files_all[i].type,
			.bytes = page_files_all[i].begin,
			.count = (size_t)(page_files_all[i].end - page_files_all[i].begin)};
	return ARRAY_LEN(page_files_all);
}

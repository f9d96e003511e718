/* A mesh file is read far from where it was made: what it says of the place of a texture is often half true. */
#include "sdf/texture_name.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* The name of a texture as its mesh file has it, as a path or URI: exporters write blanks of URLs and the separators of
 * other systems. */
static char *texture_name_clean(const char *name)
{
	char *clean = mem_strdup(!strncmp(name, "file://", 7) ? name + 7 : name), *to = clean;
	for (const char *at = clean; *at; at++) {
		bool blank = !strncmp(at, "%20", 3);
		*to++ = blank ? ' ' : *at == '\\' ? '/' : *at;
		at += blank ? 2 : 0;
	}
	*to = '\0';
	return clean;
}

char *texture_name_place(const char *name, uint32_t index)
{
	static const char *const folders[] = {"../materials/textures/", "../textures/", ""};
	char *clean = texture_name_clean(name);
	const char *slash = strrchr(clean, '/'), *last = slash ? slash + 1 : clean;
	if (!index)
		return clean;
	char *place = index <= ARRAY_LEN(folders) && *last ? mem_printf("%s%s", folders[index - 1], last) : NULL;
	free(clean);
	return place;
}

/* The worlds of tests/worlds, for tests that run one of them, or add a few elements to one. */
#ifndef TESTS_NAMED_H
#define TESTS_NAMED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_BYTES_MAX = 1 << 16 };

/* The text of the world with these elements at its end; NULL: none. It is kept until the next call of this thread. A
 * world that is not there ends the program. */
static inline const char *named_world(const char *name, const char *elements)
{
	static _Thread_local char text[NAMED_BYTES_MAX];
	const char *source = getenv("SOURCE_DIR"), end[] = "</world></sdf>";
	char path[1024];
	snprintf(path, sizeof path, "%s/tests/worlds/%s.sdf", source ? source : ".", name);
	FILE *file = fopen(path, "r");
	size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
	if (file)
		fclose(file);
	text[count] = '\0';
	char *at = strstr(text, end);
	if (!at || (size_t)(at - text) + strlen(elements ? elements : "") + sizeof end > sizeof text) {
		fprintf(stderr, "%s: not a world of tests, or too large with what is added\n", path);
		abort();
	}
	sprintf(at, "%s%s", elements ? elements : "", end);
	return text;
}

#endif

/* The module stays loaded until the process ends: threads of the DDS library may outlive the node for a moment, and the
 * library keeps variables of the process. It is searched for where TROUPE_MODULES says, beside a program that was built
 * and not installed, and where it was installed. */
#include "config.h"

#include "gateway/dds/module.h"

#include "base/base.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_DDS
static const char module[] = "troupe_dds.so";

static char *module_beside_program(void)
{
	char path[4096];
	ssize_t count = readlink("/proc/self/exe", path, sizeof path - 1);
	path[MAX(count, 0)] = '\0';
	char *slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	const char *end = slash - path >= 6 && !strcmp(slash - 6, "/.libs") ? "" : "/.libs";
	return mem_printf("%s%s/%s", path, end, module);
}

static void *module_open_at(char *path)
{
	void *opened = path && !access(path, F_OK) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	free(path);
	return opened;
}

troupe_status module_load(const struct glue **ret_glue, struct troupe_error *error)
{
	const char *folder = getenv("TROUPE_MODULES");
	void *opened = folder && *folder ? module_open_at(mem_printf("%s/%s", folder, module)) : NULL;
	if (!opened)
		opened = module_open_at(module_beside_program());
	if (!opened)
		opened = dlopen(TROUPE_MODULES "/troupe_dds.so", RTLD_NOW | RTLD_LOCAL);
	const struct glue *glue = opened ? dlsym(opened, GLUE_SYMBOL) : NULL;
	if (!glue)
		return fail(error, TROUPE_EIO, "the DDS library cannot be loaded: %.300s", dlerror());
	if (glue->version != GLUE_VERSION)
		return fail(error, TROUPE_EIO, "%s is of another version of troupe", module);
	assert(glue->open && glue->close && glue->node_guid && glue->write_end && glue->read_end && glue->close_end &&
		glue->end_guid && glue->peers && glue->write && glue->take && glue->client_of);
	*ret_glue = glue;
	return TROUPE_OK;
}

bool module_is_available(void)
{
	return true;
}
#else
troupe_status module_load(const struct glue **ret_glue, struct troupe_error *error)
{
	(void)ret_glue;
	return fail(error, TROUPE_EINVAL,
		"this troupe was built without DDS: on Debian install cyclonedds-dev and configure --with-dds");
}

bool module_is_available(void)
{
	return false;
}
#endif

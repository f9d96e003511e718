/* A configuration file is read by the parser of SDF files, so that it has the same syntax, limits and messages with
 * file:line. This file checks only what all configuration files have in common: the name of the root element, and
 * that the root has neither text nor attributes. The caller checks the elements below the root. The tree lives in the
 * caller's arena; the text of the file is freed at once. */
#include "sdf/config.h"

#include "base/infile.h"
#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

static troupe_status config_check_root(const struct sdf_element *root, const char *name, struct troupe_error *error)
{
	if (strcmp(root->name, name))
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s>: expected <%s> as the root element", root->file,
			root->line, root->name, name);
	if (*root->text)
		return fail(error, TROUPE_EWORLD, "%s:%u: '%.60s' in <%s>: expected only elements", root->file,
			root->line, root->text, name);
	if (root->attribute_count)
		return fail(error, TROUPE_EWORLD, "%s:%u: attribute '%s' of <%s>: expected none", root->file,
			root->line, root->attributes[0].name, name);
	return TROUPE_OK;
}

troupe_status sdf_read_elements(const char *path, const char *root_name, struct arena *arena,
	const struct sdf_element **ret_root, struct troupe_error *error)
{
	char *text;
	size_t bytes;
	troupe_status status = infile_read(path, SDF_CONFIG_BYTES_MAX, &text, &bytes, error);
	if (status)
		return status;
	const struct sdf_element *root = NULL;
	status = xml_parse(arena, text, bytes, arena_strdup(arena, path), &root, error);
	free(text);
	if (!status)
		status = config_check_root(root, root_name, error);
	if (!status)
		*ret_root = root;
	return status;
}

/* A name may have several parts before the first one of the robot's own, and cleaning may have dropped characters of
 * them; so each beginning of the name that ends at a slash is cleaned and compared. */
#include "gateway/ros/robot_frames.h"

#include "gateway/ros/parts.h"
#include "topic/table.h"

#include <stdlib.h>
#include <string.h>

static bool robot_frames_is_robot(const char *name, size_t count, const char *robot)
{
	char *cleaned = mem_printf("%.*s", (int)count, name);
	topic_name_clean(cleaned);
	bool same = !strcmp(cleaned, robot);
	free(cleaned);
	return same;
}

char *robot_frames_inner(const char *frame, const char *robot)
{
	struct text name = {0};
	size_t length = strlen(robot);
	char *inner = NULL;
	part_add_frame(&name, frame);
	if (!strncmp(name.at, robot, length) && name.at[length] == '/')
		inner = mem_strdup(name.at + length + 1);
	for (const char *at = inner ? NULL : strchr(name.at, '/'); at && !inner; at = strchr(at + 1, '/'))
		if (robot_frames_is_robot(name.at, (size_t)(at - name.at), robot))
			inner = mem_strdup(at + 1);
	text_fini(&name);
	if (inner && *inner)
		return inner;
	free(inner);
	return NULL;
}

/* The definitions are those of the branch humble of ros2_control, version 2. */
#include "gateway/ros/humble.h"

#include "base/base.h"
#include "gateway/ros/definitions.h"
#include "gateway/ros/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

char *humble_form(const char *type)
{
	char *form = mem_printf("%s@humble", type);
	if (definitions_find(form, strlen(form)))
		return form;
	free(form);
	return mem_strdup(type);
}

void humble_renew(const char *type, json_t *request)
{
	static const char *const lists[][2] = {
		{"start_controllers", "activate_controllers"}, {"stop_controllers", "deactivate_controllers"}};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		json_t *older = json_object_get(request, lists[i][0]);
		if (older)
			(void)json_array_extend(json_object_get(request, lists[i][1]), older);
	}
	ros_json_prune(type, request);
}

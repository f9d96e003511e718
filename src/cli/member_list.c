/* Names are kept here, because those of a change are lent for a call: as they are shown, for they come from peers and
 * from files. */
#include "cli/member_list.h"

#include "base/shown.h"

#include <inttypes.h>
#include <stdlib.h>

void member_list_add(struct member_list *list, const struct troupe_report_member *change)
{
	if (list->at.count == MEMBER_LIST_MAX)
		return;
	struct troupe_report_member kept = *change;
	char who[MEMBER_LIST_NAME_BYTES];
	(void)shown_copy(who, sizeof who, change->who);
	char *name = mem_strdup(who);
	kept.who = name;
	vec_push(&list->names, name);
	vec_push(&list->at, kept);
}

void member_list_show(const struct member_list *list, uint64_t step, const char *before, struct text *out)
{
	uint32_t count = 0, first;
	while (count < list->at.count && list->at.at[count].step <= step)
		count++;
	first = count > MEMBER_LIST_SHOWN ? count - MEMBER_LIST_SHOWN : 0;
	if (first)
		text_add(out, "%s%" PRIu32 " changes of secondaries before these\n", before, first);
	for (uint32_t i = first; i < count; i++)
		text_add(out, "%sstep %" PRIu64 ": %s %s\n", before, list->at.at[i].step, list->at.at[i].who,
			troupe_member_change_name(list->at.at[i].change));
}

void member_list_fini(struct member_list *list)
{
	for (uint32_t i = 0; i < list->at.count; i++)
		free(list->names.at[i]);
	vec_free(&list->at);
	vec_free(&list->names);
}

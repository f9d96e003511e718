/* Changes of members for people (cli/member_list.h): whatever a peer or a recording calls itself, each is one short
 * line without hidden characters. */
#include "cli/member_list.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(member_list, .timeout = 30);

static void add(struct member_list *list, uint64_t step, const char *who, enum troupe_member_change kind)
{
	member_list_add(list, &(struct troupe_report_member){.change = kind, .step = step, .who = who});
}

Test(member_list, names_are_shown_in_one_line)
{
	struct member_list list = {0};
	struct text out = {0};
	char longest[5000];
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	add(&list, 3, "one\n\x1b[2Jtwo", TROUPE_MEMBER_LEFT);
	add(&list, 4, longest, TROUPE_MEMBER_LOST);
	member_list_show(&list, 3, "- ", &out);
	cr_assert_eq(strcmp(out.at, "- step 3: one\\n\\x1b[2Jtwo left\n"), 0, "%s", out.at);
	out.count = 0;
	member_list_show(&list, 4, "", &out);
	cr_assert(out.count < 2 * (MEMBER_LIST_NAME_BYTES + 40), "%zu bytes", out.count);
	member_list_fini(&list);
	text_fini(&out);
}

Test(member_list, the_last_ones_are_shown)
{
	struct member_list list = {0};
	struct text out = {0};
	for (uint64_t i = 0; i < MEMBER_LIST_MAX + 5; i++)
		add(&list, i, "w", TROUPE_MEMBER_CAME);
	cr_assert_eq(list.at.count, (uint32_t)MEMBER_LIST_MAX);
	member_list_show(&list, MEMBER_LIST_SHOWN + 1, "", &out);
	cr_assert(strstr(out.at, "2 changes of secondaries before these\nstep 2: "), "%s", out.at);
	member_list_fini(&list);
	text_fini(&out);
}

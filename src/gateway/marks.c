/* When there is no room, marks are taken together at twice the distance: so the number is bounded, each step is looked
 * at once, and what is kept depends on the steps alone. */
#include "gateway/marks.h"

#include <stdlib.h>
#include <string.h>

/* Takes together what is near. */
static void marks_thin(struct marks *marks)
{
	uint32_t kept = 0;
	marks->width = MAX(marks->width, 1) * 2;
	for (uint32_t i = 1; i < marks->at.count; i++) {
		struct mark *mark = &marks->at.at[i], *before = &marks->at.at[kept];
		if (mark->step - before->step >= marks->width) {
			marks->at.at[++kept] = *mark;
			continue;
		}
		before->count += mark->count;
		before->last = mark->last;
		free(mark->text);
	}
	marks->at.count = kept + 1;
}

void marks_add(struct marks *marks, uint64_t step, const char *text)
{
	struct mark *last = marks->at.count ? &marks->at.at[marks->at.count - 1] : NULL;
	if (last && (step <= last->step || step - last->step < marks->width)) {
		bool same = step == last->last && !strncmp(text, last->text, MARKS_TEXT_MAX);
		last->last = MAX(last->last, step);
		last->count += !same;
		return;
	}
	vec_push(&marks->at, ((struct mark){step, step, 1, mem_printf("%.*s", MARKS_TEXT_MAX, text)}));
	while (marks->at.count > MARKS_MAX)
		marks_thin(marks);
}

void marks_clear(struct marks *marks)
{
	for (uint32_t i = 0; i < marks->at.count; i++)
		free(marks->at.at[i].text);
	vec_free(&marks->at);
	*marks = (struct marks){0};
}
